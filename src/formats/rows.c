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
    return r->row.n - 1;
}

/* Sort the samples by row; OF is the row of each. */
static void sort_samples(struct rows *r, const uint32_t *of)
{
    size_t n = r->p_->sample.n, *at = mem_zalloc((r->row.n + 2) * sizeof *at);

    r->sample_ = mem_alloc(n * sizeof *r->sample_);
    for (size_t i = 0; i < n; i++)
        at[of[i] + 2]++;
    for (size_t row = 2; row < r->row.n + 2; row++)
        at[row] += at[row - 1];
    for (size_t i = 0; i < n; i++)
        r->sample_[at[of[i] + 1]++] = (uint32_t)i;
    r->first_ = at;
}

void rows_build(struct rows *r, const struct profile *p, struct rows_options o)
{
    uint32_t *of = mem_alloc(p->sample.n * sizeof *of);

    memset(r, 0, sizeof *r);
    r->p_ = p;
    r->counts_ = o.counts;
    r->columns = p->metric.n + o.counts;
    r->value_ = mem_alloc(r->columns * sizeof *r->value_);
    for (size_t i = 0; i < p->sample.n; i++) {
        const struct profile_sample *m = &p->sample.v[i];
        uint32_t stack = m->stack && o.as ? o.as[m->stack - 1] : m->stack;

        of[i] = (uint32_t)row_of(r, (struct row){ stack, m->thread, m->tags });
    }
    sort_samples(r, of);
    free(of);
}

const int64_t *rows_values(struct rows *r, size_t row)
{
    memset(r->value_, 0, r->columns * sizeof *r->value_);
    for (size_t i = r->first_[row]; i < r->first_[row + 1]; i++) {
        const struct profile_sample *m = &r->p_->sample.v[r->sample_[i]];

        r->value_[m->metric - 1 + r->counts_] += m->weight;
        if (r->counts_ && m->metric == 1)
            r->value_[0] += (int64_t)m->count;
    }
    return r->value_;
}

void rows_release(struct rows *r)
{
    vec_release(&r->row);
    free(r->sample_);
    free(r->first_);
    free(r->value_);
    index_release(&r->index_);
}
