/* perf_lbr.h - stacks from the CPU's last-branch records in call-stack mode.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_LBR_H
#define FATHOM_PERF_PERF_LBR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "perf/perf_record.h"

struct perf_lbr { /* the last known calls of a thread, outermost first */
    uint64_t *v;
    size_t n, cap;
};

struct perf_lbr_stack {
    size_t n;       /* frames, leaf first */
    bool complete;
    size_t joined;  /* outermost frames taken from the previous stack */
};

/* Store the frames of sample R in FRAMES (CAP of them, at least 1), completed from the thread's
 * last known calls.  *DEPTH is the maximum number of calls in any sample so far, an estimate of
 * the CPU's capacity. */
struct perf_lbr_stack perf_lbr_walk(const struct perf_record *r, struct perf_lbr *known,
                                    size_t *depth, struct unw_frame *frames, size_t cap);

#endif
