/* col_perf.h - the perf events of a recording, opened on every CPU and enabled together.
 *
 * Each CPU has two rings: one for samples, and one for side records about processes (mmap, comm,
 * fork, exit, switch).  They are separate so that samples with 32 KB of stack never displace the
 * small records that are needed to interpret them.  SPDX-License-Identifier: Apache-2.0 */
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
    uint32_t big_copy_bytes; /* for a second set of events to switch to; 0: none */
    bool no_kernel, no_user;
    bool build_ids;
    bool switches;      /* record context switches */
    bool switch_stacks; /* and sample at them */
    bool inherit, threads_only;
    bool on_exec; /* start when the target calls exec */
    bool delayed; /* sampling waits for col_perf_start */
};

/* The purpose of an event.  Events of one kind are enabled and disabled together. */
enum col_role { COL_SIDE, COL_SAMPLING, COL_SAMPLING_BIG, COL_SWITCHING, COL_SWITCHING_FEW,
                COL_ROLES };

/* What to record of a thread. */
enum col_scope {
    COL_WHOLE, /* the thread and what it starts, as the plan says */
    COL_ALONE, /* the thread, and nothing that it starts */
    COL_BESIDE, /* only mappings that it and the threads it starts make: the process of COL_ALONE */
};

struct col_perf {
    const struct col_plan *plan;
    int *cpu;
    size_t n_cpus;
    struct col_ring *samples, *side; /* indexed as cpu[] */
    VEC(int) fd[COL_ROLES];
    VEC(int) first_fd; /* those that sample the first event */
    struct perf_engine *engine; /* numbers events as the plan; the next is at_switch */
    uint64_t sample_type;
    int cgroup; /* descriptor: with -1 for the thread, sample only processes in it; -1: none */
    bool big; /* big copies are enabled */
    bool no_lost; /* the kernel does not count lost samples per event */
    bool few; /* only some switches are sampled */
};

/* PLAN and ENGINE must outlive P. */
void col_perf_init(struct col_perf *p, const struct col_plan *plan, struct perf_engine *engine);
/* Open the events of SCOPE for thread TID (-1: all threads) on all CPUs.  The first must not be
 * COL_BESIDE.  Returns 1 when the thread has ended, 0, or -1. */
int col_perf_add(struct col_perf *p, int tid, enum col_scope scope, struct err *e);
void col_perf_start_side(struct col_perf *p); /* for events that do not start at exec */
void col_perf_start(struct col_perf *p);
void col_perf_stop(struct col_perf *p);
void col_perf_use_big(struct col_perf *p); /* switch to the big copies */
/* Sample every switch, or only as many per second as there are samples. */
void col_perf_use_few(struct col_perf *p, bool few);
/* Samples that the kernel counted as lost.  Samples at switches are excluded, since a wait without
 * one is counted as guessed.  Returns false when the kernel does not count. */
bool col_perf_lost(const struct col_perf *p, uint64_t *lost);
/* The first event counted in all recorded threads, with and without samples: for a clock, their CPU
 * time in user space and kernel.  Includes idle time if the whole machine is recorded. */
uint64_t col_perf_first_count(const struct col_perf *p);
void col_perf_release(struct col_perf *p);

#endif
