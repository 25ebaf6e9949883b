/* col_rings.h - the kernel's rings as a source of events.
 *
 * Decodes the records of all CPUs, merges them by time and hands them to the perf engine; changes
 * over to larger copies of the stack or to fewer samples at switches when that turns out to be
 * needed.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_RINGS_H
#define FATHOM_COLLECT_COL_RINGS_H

#include "collect/col_look.h"
#include "collect/col_perf.h"
#include "collect/col_source.h"
#include "perf/perf_engine.h"

struct col_rings {
    struct col_perf *perf;
    struct perf_engine *engine;
    struct col_look *look;
    uint64_t begin_ns;        /* when to begin to sample, 0 when that is done */
    struct perf_record *head; /* by CPU: the sample ring's next record */
    size_t *head_size;        /* 0: none */
    uint64_t side_lost;       /* records of processes and mappings that found no room */
    /* How many stacks were cut, and how fast threads switch, in the time since. */
    struct perf_stack_counts last_counts;
    uint64_t last_check_ns, window_ns, window_switches, switched_ns, seen_switches;
};

/* All three must outlive R.  Sampling begins at BEGIN_NS, or has begun when that is 0. */
void col_rings_init(struct col_rings *r, struct col_perf *perf, struct perf_engine *engine,
                    struct col_look *look, uint64_t start_ns, uint64_t begin_ns);
void col_rings_release(struct col_rings *r);
struct col_source col_rings_source(struct col_rings *r);

#endif
