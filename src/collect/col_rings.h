/* col_rings.h - the kernel's rings as an event source.
 *
 * Decodes the records of all CPUs and merges them by time.  Passes side records (forks, mappings,
 * names) to the perf engine's queue.
 * Switches to larger stack copies or to fewer samples at switches when necessary.
 * SPDX-License-Identifier: Apache-2.0 */
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
    uint64_t begin_ns;        /* when to start sampling; 0: started */
    struct perf_record *head; /* by CPU: the next record of the sample ring */
    size_t *head_size;        /* 0: none */
    size_t current;           /* CPU + 1 whose record next() returned; 0: none */
    uint64_t until_ns;        /* next() returns records up to this time */
    uint64_t lost;            /* lost samples, as the records say */
    bool finished;
    uint64_t side_lost;       /* lost side records */
    /* Truncated stacks and switches since the last check. */
    struct perf_stack_counts last_counts;
    uint64_t last_check_ns, window_ns, window_switches, switched_ns, seen_switches;
};

/* All three must outlive R.  Sampling starts at BEGIN_NS; 0: it has already started. */
void col_rings_init(struct col_rings *r, struct col_perf *perf, struct perf_engine *engine,
                    struct col_look *look, uint64_t start_ns, uint64_t begin_ns);
/* The source releases R. */
struct col_source col_rings_source(struct col_rings *r);

#endif
