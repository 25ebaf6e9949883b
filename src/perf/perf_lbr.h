/* perf_lbr.h - stacks from the CPU's last-branch records in call-stack mode.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_LBR_H
#define FATHOM_PERF_PERF_LBR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "perf/perf_record.h"

struct perf_lbr { /* a thread's calls as last known, outermost first */
    uint64_t *v;
    size_t n, cap;
};

struct perf_lbr_stack {
    size_t n;       /* frames, leaf first */
    bool whole;     /* reaches the root */
    size_t stitched; /* of these, outermost ones taken from the stack before */
};

/* Frames of sample R into FRAMES (CAP of them, at least 1), completed from what was known of
 * the thread.  *DEPTH is the most calls any sample had, so far what the CPU can hold. */
struct perf_lbr_stack perf_lbr_walk(const struct perf_record *r, struct perf_lbr *known,
                                    size_t *depth, struct unw_frame *frames, size_t cap);

#endif
