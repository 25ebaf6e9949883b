/* col_offcpu.h - when a thread leaves the CPU and returns, from looks at it.
 *
 * A look finds that a thread waits or runs, and what the kernel has counted of it so far: its CPU
 * time, its time in the run queue, and how often it got a CPU.  So the time that it waited between
 * two looks is exact, and the beginning and the end of a wait are known up to that time.  If the
 * two looks see different waits, it is divided equally between them.  Waits that no look saw are
 * part of those before and after; between two samples, they become one wait for an unknown reason.
 *
 * The times of all steps add up: a thread runs or waits from its first look to its last.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_OFFCPU_H
#define FATHOM_COLLECT_COL_OFFCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COL_OFFCPU_NO_CALL = -2 }; /* it is unknown what a thread waits for */

struct col_offcpu_look {
    uint64_t time_ns;
    uint64_t cpu_ns, queue_ns; /* on a CPU, and in the run queue, since the thread started */
    uint64_t turns; /* how often it got a CPU */
    bool waits;
    long call;      /* the system call it waits in; -1: a page fault */
};

struct col_offcpu { /* a thread; zeroed: not looked at yet */
    struct col_offcpu_look last;
    uint64_t since_ns;  /* beginning of the wait that the last look saw */
    uint64_t turns_before; /* at the look before the last */
    uint64_t queued_ns; /* time in the run queue that no step has yet */
    uint64_t small_ns;  /* time off the CPU that is too short for a step of its own */
    uint64_t unsure_ns; /* time that more than one wait took; which part each took is estimated */
};

enum col_offcpu_kind { COL_OFFCPU_LEAVES, COL_OFFCPU_QUEUES, COL_OFFCPU_RETURNS };

struct col_offcpu_step { /* a change of the thread's state */
    enum col_offcpu_kind kind;
    uint64_t time_ns;
    long call; /* LEAVES */
};

struct col_offcpu_steps { /* in order of time */
    struct col_offcpu_step v[4];
    size_t n;
};

/* Thread O was looked at: *S is what it did since the last look.  A new wait is open until its
 * RETURNS.  Returns whether L saw a wait that began since. */
bool col_offcpu_look(struct col_offcpu *o, const struct col_offcpu_look *l,
                     struct col_offcpu_steps *s);
/* O has ended between FROM_NS and TO_NS, since its last look.  It may continue as another
 * program. */
void col_offcpu_end(struct col_offcpu *o, uint64_t from_ns, uint64_t to_ns,
                    struct col_offcpu_steps *s);

/* How long a thread that waits at NOW_NS need not be looked at: an eighth of its wait so far, so
 * that the error of its end is a small part of it, more or less by RANDOM of 1,024; at least
 * LEAST_NS. */
uint64_t col_offcpu_rest(const struct col_offcpu *o, uint64_t now_ns, uint64_t least_ns,
                         uint64_t random);

#endif
