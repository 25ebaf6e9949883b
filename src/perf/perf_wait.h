/* perf_wait.h - time off the CPU.
 *
 * When a thread leaves a CPU and when it is back is exact: the kernel writes a record of every
 * switch, for which it asks no privilege.  Where it was is told by a sample taken at the switch,
 * when kernel samples are allowed; else by looking at the thread while it waits, when it waits
 * for long; else its last stack has to do, and the tag stack=guessed says so.
 *
 * A wait has the stack of the program and the tag "wait", which says what it waited for.  The
 * kernel's own functions say the same and are left out, so that the stacks of one wait are alike
 * however they were found; they stay where the wait is unknown.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_WAIT_H
#define FATHOM_PERF_PERF_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/perf_process.h"
#include "perf/perf_stack.h"
#include "symbol/symbol.h"

/* A shorter wait is over before anybody could look at the thread. */
enum { PERF_WAIT_LONG_NS = 3000000 };

struct perf_waits {
    struct intern *in;
    struct perf_processes *processes;
    struct perf_stacks *stacks;
    uint32_t metric;         /* 0: waiting is not recorded */
    struct sym_module *kernel;
    struct umap kind;        /* hash of a kernel stack -> word (string id) */
    uint64_t waits, guessed; /* emitted; of these, with the thread's last stack */
    uint64_t switches, samples; /* off a CPU, seen; samples of them */
};

void perf_wait_init(struct perf_waits *w, struct intern *in, struct perf_processes *p,
                   struct perf_stacks *s);
void perf_wait_release(struct perf_waits *w);

/* Define the metric: from here on waiting is recorded. */
void perf_wait_begin(struct perf_waits *w);
void perf_wait_switch(struct perf_waits *w, const struct perf_record *r);
/* A sample of T at a switch. */
void perf_wait_sample(struct perf_waits *w, struct perf_thread *t, const struct perf_record *r);
/* T was seen running at TIME_NS. */
void perf_wait_running(struct perf_thread *t, uint64_t time_ns);
void perf_wait_attached(struct perf_thread *t, uint64_t time_ns); /* it may be waiting already */
/* The kernel's names, when they were needed, for the caller to close; or NULL. */
struct sym_module *perf_wait_take_kernel(struct perf_waits *w);
void perf_wait_end(struct perf_waits *w, uint64_t time_ns);

#endif
