/* store_ids.h - from ids in the file to ids in the sink.  They are the same unless a chunk of
 * definitions was lost: then whatever it defined is one stand-in, and later ids shift.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_STORE_STORE_IDS_H
#define FATHOM_STORE_STORE_IDS_H

#include "base/mem.h"

struct store_run { /* file ids [first, first + n) are sink ids [sink, sink + n) */
    uint32_t first, n, sink;
};
struct store_ids { /* of one kind of thing; start from {0} */
    VEC(struct store_run) run; /* by first */
    uint32_t n_sink;           /* ids given out in the sink */
    uint32_t lost;             /* the stand-in's sink id, 0 until one is needed */
};

/* The sink id, or 0 when FILE_ID was never defined. */
static inline uint32_t store_ids_find(const struct store_ids *t, uint32_t file_id)
{
    const struct store_run *r = t->run.v;
    size_t low = 0, high = t->run.n;

    if (high == 1) /* no damage */
        return file_id - r->first < r->n ? file_id - r->first + r->sink : 0;
    while (low < high) {
        size_t mid = (low + high) / 2;

        r = &t->run.v[mid];
        if (file_id < r->first)
            high = mid;
        else if (file_id - r->first >= r->n)
            low = mid + 1;
        else
            return file_id - r->first + r->sink;
    }
    return 0;
}

/* N more are defined from FIRST on, which is above all before.  False when ids run out. */
static inline int store_ids_extend(struct store_ids *t, uint32_t first, uint32_t n)
{
    struct store_run *r = t->run.n ? &t->run.v[t->run.n - 1] : NULL;

    if ((uint64_t)t->n_sink + n >= UINT32_MAX - 1)
        return 0;
    if (r && first == r->first + r->n && t->n_sink + 1 == r->sink + r->n)
        r->n += n;
    else
        vec_push(&t->run, ((struct store_run){ first, n, t->n_sink + 1 }));
    t->n_sink += n;
    return 1;
}

#endif
