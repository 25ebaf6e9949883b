/* perf_engine.h - from perf records to samples in a sink.
 *
 *     perf_engine_init(&e, &intern, &host);
 *     perf_engine_attr(&e, &attr), perf_engine_id(&e, id, number);  // events, before their records
 *     perf_engine_add(&e, &raw);            // a record that must wait for its time ...
 *     perf_engine_until(&e, ns);            // ... nothing older than NS will be added any more
 *     perf_engine_record(&e, &record);      // a record whose time has come
 *     perf_engine_finish(&e, stop_ns);
 *     perf_names(&e, &names);               // functions and lines of all frames
 *     perf_engine_quality(&e);
 *
 * Records reach perf_engine_record in order of time.  A source that has them in order hands them
 * over decoded, with pointers into its own memory: nothing is copied.  The others pass through
 * the queue.  What a source knows beyond the records is in its struct perf_host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_ENGINE_H
#define FATHOM_PERF_PERF_ENGINE_H

#include "perf/perf_order.h"
#include "perf/perf_process.h"
#include "perf/perf_stack.h"
#include "perf/perf_wait.h"
#include "symbol/sym_resolve.h"

struct perf_counts {
    uint64_t samples, lost, throttled;
    uint64_t broken;            /* records that make no sense */
    uint64_t first_ns, last_ns; /* times of samples */
};

struct perf_deferred;

struct perf_engine {
    struct intern *in;
    struct perf_attrs attrs;
    struct perf_queue queue;
    struct perf_modules modules;
    struct perf_processes processes;
    struct perf_stacks stacks;
    struct perf_waits waits;
    struct perf_counts counts;
    VEC(struct perf_deferred) deferred; /* samples whose user part comes in a later record */
    struct umap group_at;               /* sample id -> place in group_value + 1 */
    VEC(uint64_t) group_value;          /* last value of a counter that is read in a group */
    VEC(uint64_t) self; /* by frame id - 1: weight of the first event with it as the leaf */
};

void perf_engine_init(struct perf_engine *e, struct intern *in, const struct perf_host *host);
void perf_engine_release(struct perf_engine *e);
/* The machine that wrote the records, when it is not this one. */
void perf_engine_arch(struct perf_engine *e, enum unw_arch arch);

/* Number of a new event, from 0; records name it by the ids that it has. */
uint32_t perf_engine_attr(struct perf_engine *e, const struct perf_attr *a);
void perf_engine_id(struct perf_engine *e, uint64_t id, uint32_t number);
/* Its metric in the sink, defined now when it was not. */
uint32_t perf_engine_metric(struct perf_engine *e, struct perf_attr *a);

void perf_engine_add(struct perf_engine *e, const struct perf_raw *raw);
void perf_engine_until(struct perf_engine *e, uint64_t until_ns);
void perf_engine_record(struct perf_engine *e, const struct perf_record *r);
/* Deliver all that is left; waits that are not over end at STOP_NS. */
void perf_engine_finish(struct perf_engine *e, uint64_t stop_ns);

/* Name every frame with NAMES, made here and released by the caller (perf_names.c). */
void perf_names(struct perf_engine *e, struct sym_resolve *names);
/* The quality.* keys that can be told from the records. */
void perf_engine_quality(struct perf_engine *e);

#endif
