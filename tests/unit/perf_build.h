/* perf_build.h - build perf records for tests, as the kernel writes them.
 *
 * A record belongs to a CPU, and there to the sample ring or the side ring.  A stream of records
 * can be fed to an engine, laid out as rings, or written as a perf.data file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_PERF_BUILD_H
#define FATHOM_TESTS_PERF_BUILD_H

#include "base/buf.h"
#include "perf/perf_engine.h"

enum { PB_CPUS = 3, PB_EVENTS = 2 }; /* events 0 and 1 have the ids 100 and 101 */

struct pb_record {
    uint64_t time_ns;
    int cpu;
    bool side; /* in the side ring, for process events */
    size_t at, n;
};

struct pb {
    struct perf_attr attr[PB_EVENTS];
    size_t n_attrs;
    struct buf bytes;
    VEC(struct pb_record) record; /* in order of creation */
    int cpu;                      /* of later records */
};

/* Use the layout of the recorder's events: id, ip, tid, time, cpu, period and chain. */
void pb_init(struct pb *b);
/* Finds the same program for every path.  Its code, from 0x1000 on, keeps frame pointers; the
 * function that contains the last call before 0x1400 is outermost. */
extern const struct perf_host pb_host_with_program;

void pb_stacks(struct pb *b); /* add registers and copies of the stack */
void pb_release(struct pb *b);

void pb_comm(struct pb *b, uint64_t time, uint32_t pid, uint32_t tid, const char *name, bool exec);
void pb_map(struct pb *b, uint64_t time, uint32_t pid, uint64_t start, uint64_t size,
            uint64_t offset, const char *path);
void pb_fork(struct pb *b, uint64_t time, uint32_t pid, uint32_t parent, uint32_t tid,
             uint32_t parent_tid);
void pb_exit(struct pb *b, uint64_t time, uint32_t pid, uint32_t tid);
/* MISC: PERF_RECORD_MISC_SWITCH_OUT and _PREEMPT, or 0 when the thread runs again. */
void pb_switch(struct pb *b, uint64_t time, uint32_t pid, uint32_t tid, uint16_t misc);
void pb_lost(struct pb *b, uint64_t time, uint64_t n);
void pb_lost_samples(struct pb *b, uint64_t time, uint64_t n);
void pb_throttle(struct pb *b, uint64_t time);
void pb_ksymbol(struct pb *b, uint64_t time, uint64_t start, uint32_t size, const char *name);

/* The user part, ended by 0, of a sample whose chain ends with the deferred mark and COOKIE. */
void pb_deferred(struct pb *b, uint64_t time, uint32_t pid, uint32_t tid, uint64_t cookie,
                 const uint64_t *chain);

struct pb_sample {
    uint64_t time, period;
    uint32_t pid, tid;
    int event;
    const uint64_t *chain; /* with context marks, ended by 0; NULL: none */
    uint64_t pc, sp, fp;   /* registers, if the layout has them; pc 0: none */
    const uint64_t *stack; /* N_STACK words starting at sp */
    size_t n_stack;
    bool kernel;
};
void pb_sample(struct pb *b, const struct pb_sample *s);
/* A sample of thread PID in user mode: leaf first, ended by 0. */
void pb_chain(struct pb *b, uint64_t time, uint32_t pid, const uint64_t *chain);

/* Define the events in ENGINE. */
void pb_attrs(const struct pb *b, struct perf_engine *e);
struct perf_raw pb_raw(const struct pb *b, size_t i);
/* Feed all records to ENGINE in order of creation, each delivered at its time; then finish at
 * STOP_NS. */
void pb_feed(const struct pb *b, struct perf_engine *e, uint64_t stop_ns);
/* Write the stream as a perf.data file. */
void pb_perfdata(const struct pb *b, struct buf *out);

#endif
