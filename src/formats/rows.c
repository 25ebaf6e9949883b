/* rows.c - see rows.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/rows.h"

#include <stdlib.h>
#include <string.h>

static size_t row_of(struct rows *r, struct row key)
{
    uint64_t h = hash_pair(key.stack, (uint64_t)key.tags << 32 | key.thread);

    for (uint32_t at = index_first(&r->index_, h), id; (id = index_id(&r->index_, h, &at));)
        if (r->row.v[id - 1].stack == key.stack && r->row.v[id - 1].thread == key.thread &&
            r->row.v[id - 1].tags == key.tags)
            return id - 1;
    vec_push(&r->row, key);
    index_add(&r->index_, h, (uint32_t)r->row.n);
    vec_reserve(&r->value, r->row.n * r->columns);
    memset(r->value.v + (r->row.n - 1) * r->columns, 0, r->columns * sizeof *r->value.v);
    return r->row.n - 1;
}

void rows_build(struct rows *r, const struct profile *p, struct rows_options o)
{
    memset(r, 0, sizeof *r);
    r->columns = p->metric.n + o.counts;
    for (size_t i = 0; i < p->sample.n; i++) {
        const struct profile_sample *m = &p->sample.v[i];
        uint32_t stack = m->stack && o.as ? o.as[m->stack - 1] : m->stack;
        size_t row = row_of(r, (struct row){ stack, m->thread, m->tags });
        int64_t *v = r->value.v + row * r->columns;

        v[m->metric - 1 + o.counts] += m->weight;
        if (o.counts && m->metric == 1)
            v[0] += (int64_t)m->count;
    }
}

void rows_release(struct rows *r)
{
    vec_release(&r->row);
    vec_release(&r->value);
    index_release(&r->index_);
}
