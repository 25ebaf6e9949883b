/* col_wait.h - time off the CPU.
 *
 * When a thread leaves a CPU and when it is back is exact: the kernel writes a record of every
 * switch, for which it asks no privilege.  Where it was is told by a sample taken at the switch,
 * when kernel samples are allowed; else by looking at the thread while it waits, when it waits
 * for long; else its last stack has to do, and the note on top is marked as joined.
 *
 * A wait's stack is that of the program with the note on it.  The kernel's own functions between
 * the two say the same as the note and are left out, so that the stacks of one wait are alike
 * however they were found; they stay where the note could not be told.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_WAIT_H
#define FATHOM_COLLECT_COL_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/col_process.h"
#include "collect/col_stack.h"
#include "symbol/symbol.h"

struct col_waits {
    struct intern *in;
    struct col_processes *processes;
    struct col_stacks *stacks;
    uint32_t metric;         /* 0: waiting is not recorded */
    bool look;               /* no samples at switches: look at waiting threads */
    struct sym_module *kernel;
    struct umap kind;        /* hash of a kernel stack -> note (string id) */
    unsigned char *memory;   /* a thread's stack, read from outside */
    uint64_t waits, guessed; /* emitted; of these, with the thread's last stack */
    uint64_t switches, samples; /* off a CPU, seen; samples of them */
    bool unsure;             /* some thread waits that was not looked at */
};

void col_wait_init(struct col_waits *w, struct intern *in, struct col_processes *p,
                   struct col_stacks *s);
void col_wait_release(struct col_waits *w);

/* Define the metric: from here on waiting is recorded. */
void col_wait_begin(struct col_waits *w, bool look);
void col_wait_switch(struct col_waits *w, const struct col_record *r);
/* A sample of T at a switch. */
void col_wait_sample(struct col_waits *w, struct col_thread *t, const struct col_record *r);
/* T was seen running at TIME_NS. */
void col_wait_running(struct col_thread *t, uint64_t time_ns);
void col_wait_attached(struct col_thread *t, uint64_t time_ns); /* it may be waiting already */
/* Look at threads that wait: once for each wait, and only at long ones. */
void col_wait_look(struct col_waits *w);
/* The kernel's names, when they were needed, for the caller to close; or NULL. */
struct sym_module *col_wait_take_kernel(struct col_waits *w);
void col_wait_end(struct col_waits *w, uint64_t time_ns);

#endif
