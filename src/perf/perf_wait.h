/* perf_wait.h - time off the CPU.
 *
 * Start and end of a wait are exact: the kernel writes a record of every switch, which needs no
 * privilege.  Its stack comes from a sample at the switch, if kernel samples are allowed; else
 * from inspecting the thread, if it waits long enough; else it is the thread's last stack, with
 * the tag stack=guessed.  Where there are no such records, collect/col_offcpu.c derives them.
 *
 * A wait has the user stack and the tag "wait" with its kind.  Kernel functions are dropped,
 * because the tag replaces them and all stacks of one wait must be equal, whatever their source.
 * They are kept if the wait kind is unknown.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_WAIT_H
#define FATHOM_PERF_PERF_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/perf_process.h"
#include "perf/perf_stack.h"
#include "symbol/symbol.h"

/* Shorter waits end before the thread can be inspected. */
enum { PERF_WAIT_LONG_NS = 3000000 };

struct perf_waits {
    struct intern *in;
    struct perf_processes *processes;
    struct perf_stacks *stacks;
    uint32_t metric;         /* 0: waiting is not recorded */
    struct sym_module *kernel;
    struct umap kind;        /* hash of a kernel stack -> word (string id) */
    uint64_t waits, guessed; /* waits written; those with the thread's last stack */
    uint64_t switches, samples; /* switches off a CPU; samples at them */
};

void perf_wait_init(struct perf_waits *w, struct intern *in, struct perf_processes *p,
                   struct perf_stacks *s);
void perf_wait_release(struct perf_waits *w);

/* Define the metric and start recording waits. */
void perf_wait_begin(struct perf_waits *w);
void perf_wait_switch(struct perf_waits *w, const struct perf_record *r);
/* A sample of T at a switch. */
void perf_wait_sample(struct perf_waits *w, struct perf_thread *t, const struct perf_record *r);
/* The stack of T, which waits, from the registers and the copy of the stack in R; 0 if it does not
 * lead to the root.  The frame pointer of a waiting thread is unknown.  Where a walk needs it, the
 * code says how far it is from the stack pointer (cfi_frame.h); else the walk is joined to an
 * earlier stack of the thread, or discarded. */
uint32_t perf_wait_stack(struct perf_waits *w, struct perf_thread *t, const struct perf_record *r);
/* R shows T during a wait. */
void perf_wait_look(struct perf_waits *w, struct perf_thread *t, const struct perf_record *r);
/* T was seen running at TIME_NS. */
void perf_wait_running(struct perf_thread *t, uint64_t time_ns);
void perf_wait_attached(struct perf_thread *t, uint64_t time_ns); /* it may already be waiting */
/* Kernel symbols if they were loaded, for the caller to close; else NULL. */
struct sym_module *perf_wait_take_kernel(struct perf_waits *w);
void perf_wait_end(struct perf_waits *w, uint64_t time_ns);

#endif
