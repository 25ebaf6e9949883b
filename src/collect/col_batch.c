/* col_batch.c - see col_batch.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_batch.h"

#include <stdbool.h>
#include <stdlib.h>

enum { MOST_BYTES = 64 << 20 };

struct col_batch_event *col_batch_add(struct col_batch *b, enum col_batch_kind kind,
                                      uint64_t time_ns, const void *bytes, size_t n)
{
    struct col_batch_event e = { .kind = kind, .time_ns = time_ns, .at = b->bytes.n, .n = n,
                                 .number = b->v.n };
    bool has_stack = kind == COL_BATCH_SAMPLE || kind == COL_BATCH_LOOK;

    if (b->bytes.n + n > MOST_BYTES) {
        if (has_stack)
            return NULL;
        e.n = n = 0; /* the maps are read again for code that is unknown */
    }
    if (n)
        buf_add(&b->bytes, bytes, n);
    vec_push(&b->v, e);
    return &b->v.v[b->v.n - 1];
}

/* A thread may sample, leave and return at one time. */
static int rank(enum col_batch_kind kind)
{
    return kind < COL_BATCH_SAMPLE ? (int)kind : kind < COL_BATCH_END ? COL_BATCH_SAMPLE
                                                                      : COL_BATCH_END;
}

static int by_time(const void *a, const void *b)
{
    const struct col_batch_event *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (rank(x->kind) != rank(y->kind))
        return rank(x->kind) - rank(y->kind);
    return (x->number > y->number) - (x->number < y->number);
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
