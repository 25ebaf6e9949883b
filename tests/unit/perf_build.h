/* perf_build.h - perf records to test with, written as the kernel writes them.
 *
 * A record belongs to a CPU and to the ring for samples or the one beside it; a whole stream can
 * be fed to an engine, laid out as rings, or written as a perf.data.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_PERF_BUILD_H
#define FATHOM_TESTS_PERF_BUILD_H

#include "base/buf.h"
#include "perf/perf_engine.h"

enum { PB_CPUS = 3, PB_EVENTS = 2 }; /* events 0 and 1 have the ids 100 and 101 */

struct pb_record {
    uint64_t time_ns;
    int cpu;
    bool side; /* in the ring for what happens to processes */
    size_t at, n;
};

struct pb {
    struct perf_attr attr[PB_EVENTS];
    size_t n_attrs;
    struct buf bytes;
    VEC(struct pb_record) record; /* in the order in which they were made */
    int cpu;                      /* of the records to come */
};

/* The layout of the recorder's own events: id, ip, tid, time, cpu, period and chain. */
void pb_init(struct pb *b);
void pb_stacks(struct pb *b); /* and registers and copies of the stack */
void pb_release(struct pb *b);

void pb_comm(struct pb *b, uint64_t time, uint32_t pid, uint32_t tid, const char *name, bool exec);
void pb_map(struct pb *b, uint64_t time, uint32_t pid, uint64_t start, uint64_t size,
            uint64_t offset, const char *path);
void pb_fork(struct pb *b, uint64_t time, uint32_t pid, uint32_t parent, uint32_t tid,
             uint32_t parent_tid);
void pb_exit(struct pb *b, uint64_t time, uint32_t pid, uint32_t tid);
/* MISC: PERF_RECORD_MISC_SWITCH_OUT and _PREEMPT, or 0 when the thread is back. */
void pb_switch(struct pb *b, uint64_t time, uint32_t pid, uint32_t tid, uint16_t misc);
void pb_lost(struct pb *b, uint64_t time, uint64_t n);
void pb_lost_samples(struct pb *b, uint64_t time, uint64_t n);
void pb_throttle(struct pb *b, uint64_t time);
void pb_ksymbol(struct pb *b, uint64_t time, uint64_t start, uint32_t size, const char *name);

/* The user part, ending in 0, of a sample whose chain ends with the mark and COOKIE. */
void pb_deferred(struct pb *b, uint64_t time, uint32_t pid, uint32_t tid, uint64_t cookie,
                 const uint64_t *chain);

struct pb_sample {
    uint64_t time, period;
    uint32_t pid, tid;
    int event;
    const uint64_t *chain; /* with marks, ending in 0; NULL: none */
    uint64_t pc, sp, fp;   /* registers, where the layout has them; pc 0: none */
    const uint64_t *stack; /* N_STACK words from sp up */
    size_t n_stack;
    bool kernel;
};
void pb_sample(struct pb *b, const struct pb_sample *s);
/* A sample of the thread PID in user mode: leaf first, ending in 0. */
void pb_chain(struct pb *b, uint64_t time, uint32_t pid, const uint64_t *chain);

/* Tell ENGINE of the events. */
void pb_attrs(const struct pb *b, struct perf_engine *e);
struct perf_raw pb_raw(const struct pb *b, size_t i);
/* All records to ENGINE, as they were made, each waiting for its time; then finish at STOP_NS. */
void pb_feed(const struct pb *b, struct perf_engine *e, uint64_t stop_ns);
/* As the bytes of a perf.data. */
void pb_perfdata(const struct pb *b, struct buf *out);

#endif
