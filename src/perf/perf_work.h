/* perf_work.h - bound the work that records cause beyond their size.
 *
 * A mapping is inserted into a sorted array, and the first one after a fork copies the array.  A
 * sample with few branch records continues an earlier stack.  So a small file could cost minutes
 * and gigabytes.  Every record therefore earns a number of ranges that may be moved or copied.
 * Real recordings use a small part.  Mappings beyond it are ignored and counted, stacks truncated.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_WORK_H
#define FATHOM_PERF_PERF_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"

enum {
    PERF_WORK_START = 1 << 27, /* a second at most */
    PERF_WORK_EACH = 1 << 10,  /* per record */
    PERF_WORK_ITEM = 1 << 6,   /* a new frame or stack takes as long as so many ranges */
};

struct perf_work {
    uint64_t left;
    uint64_t ignored; /* mappings */
};

static inline void perf_work_earn(struct perf_work *w)
{
    w->left += PERF_WORK_EACH;
}

/* Spend N; false when it is not left. */
static inline bool perf_work_spend(struct perf_work *w, uint64_t n)
{
    if (n > w->left)
        return false;
    w->left -= n;
    return true;
}

/* An upper bound of the ranges that mapping START in S moves. */
static inline uint64_t perf_work_of_map(const struct unw_space *s, uint64_t start)
{
    return s->n && start < s->range[s->n - 1].end ? s->n : 0;
}

#endif
