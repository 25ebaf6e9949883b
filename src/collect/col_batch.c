/* col_batch.c - see col_batch.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_batch.h"

#include <stdlib.h>

enum { MOST_BYTES = 64 << 20 };

struct col_batch_event *col_batch_add(struct col_batch *b, enum col_batch_kind kind,
                                      uint64_t time_ns, const void *bytes, size_t n)
{
    struct col_batch_event e = { .kind = kind, .time_ns = time_ns, .at = b->bytes.n, .n = n };

    if (b->bytes.n + n > MOST_BYTES) {
        if (kind == COL_BATCH_SAMPLE)
            return NULL;
        e.n = n = 0; /* the maps are read again for code that is unknown */
    }
    if (n)
        buf_add(&b->bytes, bytes, n);
    vec_push(&b->v, e);
    return &b->v.v[b->v.n - 1];
}

static int by_time(const void *a, const void *b)
{
    const struct col_batch_event *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

void col_batch_sort(struct col_batch *b)
{
    if (b->v.n) /* an empty one has no array */
        qsort(b->v.v, b->v.n, sizeof *b->v.v, by_time);
}

void col_batch_clear(struct col_batch *b)
{
    b->v.n = 0;
    b->bytes.n = 0;
}

void col_batch_release(struct col_batch *b)
{
    vec_release(&b->v);
    buf_release(&b->bytes);
}
