/* store_ids.h - map ids of the file to ids of the sink.  They are equal unless a chunk of
 * definitions was lost: then one placeholder replaces all its records, and later ids shift.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_STORE_STORE_IDS_H
#define FATHOM_STORE_STORE_IDS_H

#include "base/mem.h"

struct store_run { /* file ids [first, first + n) are sink ids [sink, sink + n) */
    uint32_t first, n, sink;
};
struct store_ids { /* of one type; initialize with {0} */
    VEC(struct store_run) run; /* sorted by first */
    uint32_t n_sink;           /* number of ids defined in the sink */
    uint32_t lost;             /* sink id of the placeholder, 0 until it is needed */
};

/* Return the sink id, or 0 if FILE_ID was never defined. */
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

/* Define N ids from FIRST on; FIRST is higher than all earlier ids.  False when ids run out. */
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
