/* col_perf.h - the events of a recording: opened on every CPU, switched together.
 *
 * Each CPU has two rings: one for samples, and one for what happens to processes (mmap, comm,
 * fork, exit, switch).  They are apart so that samples with 32 KB of stack never crowd out the
 * small records without which the samples make no sense.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_PERF_H
#define FATHOM_COLLECT_COL_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/mem.h"
#include "collect/col_event.h"
#include "collect/col_ring.h"
#include "collect/collect.h"
#include "perf/perf_engine.h"

struct col_plan { /* what to open */
    const struct col_events *events;
    uint64_t frequency_hz;
    enum col_graph graph;
    uint32_t depth;
    uint32_t copy_bytes;     /* 0: no stack copies */
    uint32_t big_copy_bytes; /* of a second set of events to change over to; 0: none */
    bool no_kernel, no_user;
    bool build_ids;
    bool switches;      /* records of context switches */
    bool switch_stacks; /* and samples at them */
    bool inherit, threads_only;
    bool on_exec; /* starts when the target calls exec */
    bool delayed; /* sampling waits for col_perf_start */
};

/* What an event is for; each kind is switched on and off together. */
enum col_role { COL_SIDE, COL_SAMPLING, COL_SAMPLING_BIG, COL_SWITCHING, COL_SWITCHING_FEW,
                COL_ROLES };

struct col_perf {
    const struct col_plan *plan;
    int *cpu;
    size_t n_cpus;
    struct col_ring *samples, *side; /* by place in cpu[] */
    VEC(int) fd[COL_ROLES];
    struct perf_engine *engine; /* knows the events by the numbers they have in the plan; that
                                   of samples at switches is the next one */
    uint64_t sample_type;
    bool big; /* the big copies are in use */
    bool no_lost; /* the kernel does not count what each event lost */
    bool few; /* not every switch is sampled */
};

/* PLAN and ENGINE must outlive P. */
void col_perf_init(struct col_perf *p, const struct col_plan *plan, struct perf_engine *engine);
/* Open all events for thread TID (-1: every thread there is) on all CPUs.  1 when the thread is
 * gone, 0, or -1. */
int col_perf_add(struct col_perf *p, int tid, struct err *e);
void col_perf_start_side(struct col_perf *p); /* where the events do not start at exec */
void col_perf_start(struct col_perf *p);
void col_perf_stop(struct col_perf *p);
void col_perf_use_big(struct col_perf *p); /* change over to the big copies */
/* Sample every switch, or only as many a second as there are samples. */
void col_perf_use_few(struct col_perf *p, bool few);
/* Samples that found no room, as the kernel counted them; those at switches are not among them,
 * since a wait without one is known to be a guess.  false when the kernel does not count. */
bool col_perf_lost(const struct col_perf *p, uint64_t *lost);
void col_perf_release(struct col_perf *p);

#endif
