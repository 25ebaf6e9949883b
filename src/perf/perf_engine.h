/* perf_engine.h - from perf records to samples in a sink.
 *
 *     perf_engine_init(&e, &intern, &host);
 *     perf_engine_attr(&e, &attr), perf_engine_id(&e, id, number);  // events, before their records
 *     perf_engine_add(&e, &raw);            // queue a record ...
 *     perf_engine_until(&e, ns);            // ... apply those up to NS; older ones may not follow
 *     perf_engine_record(&e, &record);      // apply a record now
 *     perf_engine_finish(&e, stop_ns);
 *     perf_names(&e, &names);               // functions and lines of all frames
 *     perf_engine_quality(&e);
 *
 * perf_engine_record must see records in order of time.  A source with ordered records passes
 * them decoded, with pointers into its own memory: nothing is copied.  Other records pass through
 * the queue.  A source provides facts beyond the records through its struct perf_host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_ENGINE_H
#define FATHOM_PERF_PERF_ENGINE_H

#include "perf/perf_deferred.h"
#include "perf/perf_ifunc.h"
#include "perf/perf_order.h"
#include "perf/perf_process.h"
#include "perf/perf_stack.h"
#include "perf/perf_wait.h"
#include "symbol/sym_resolve.h"

struct perf_counts {
    uint64_t samples, lost, throttled;
    uint64_t broken;            /* invalid records */
    uint64_t first_ns, last_ns; /* times of samples */
};

struct perf_engine {
    struct intern *in;
    struct perf_attrs attrs;
    struct perf_queue queue;
    struct perf_modules modules;
    struct perf_processes processes;
    struct perf_stacks stacks;
    struct perf_waits waits;
    struct perf_ifuncs ifuncs;
    struct perf_counts counts;
    bool has_clock_metric; /* an event has taken the name PERF_CPU_METRIC */
    struct perf_deferred deferred;
    struct umap group_at;               /* sample id -> index in group_value + 1 */
    VEC(uint64_t) group_value;          /* last value of each counter of a group */
    VEC(uint64_t) self; /* by frame id - 1: self weight of the first event */
    VEC(uint64_t) bare; /* by module id: samples that end in its code for lack of unwind rules */
};

void perf_engine_init(struct perf_engine *e, struct intern *in, const struct perf_host *host);
void perf_engine_release(struct perf_engine *e);
/* Set the machine that wrote the records, if it is not this one. */
void perf_engine_arch(struct perf_engine *e, enum unw_arch arch);

/* Add an event and return its number, from 0.  Records refer to it by its ids. */
uint32_t perf_engine_attr(struct perf_engine *e, const struct perf_attr *a);
void perf_engine_id(struct perf_engine *e, uint64_t id, uint32_t number);
/* Return its metric in the sink; defines it if necessary. */
uint32_t perf_engine_metric(struct perf_engine *e, struct perf_attr *a);
/* Mark the events whose samples RAW will give; true when one was not marked yet. */
bool perf_engine_expect(struct perf_engine *e, const struct perf_raw *raw);

void perf_engine_add(struct perf_engine *e, const struct perf_raw *raw);
void perf_engine_until(struct perf_engine *e, uint64_t until_ns);
void perf_engine_record(struct perf_engine *e, const struct perf_record *r);
/* Apply all remaining records.  Open waits end at STOP_NS. */
void perf_engine_finish(struct perf_engine *e, uint64_t stop_ns);

/* Symbolize every frame with NAMES, which is created here and released by the caller
 * (perf_names.c). */
void perf_names(struct perf_engine *e, struct sym_resolve *names);
/* Write the quality.* keys that the records determine. */
void perf_engine_quality(struct perf_engine *e);
/* Add UNSAMPLED_NS of CPU time that no sample of the first event, a clock, covers; after finish. */
void perf_engine_unsampled(struct perf_engine *e, uint64_t unsampled_ns, uint64_t stop_ns);

#endif
