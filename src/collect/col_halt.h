/* col_halt.h - samples of processes without an agent, by stopping a running thread for a moment.
 *
 * The pacing thread seizes a thread, reads its registers, stack and CPU time, and lets it go; so a
 * debugger can attach at any time, and nothing has to be undone if we are killed.  A thread that
 * does not stop at once, because it waits for a CPU, is sampled when it does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_HALT_H
#define FATHOM_COLLECT_COL_HALT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "collect/col_ptrace.h"

enum { COL_HALT_HZ = 100 }; /* stops of a running thread, at most */

struct col_pacer;
struct col_paced_process;
struct col_paced_thread;

struct col_halts {
    VEC(struct col_ptrace) pending; /* seized; at most one of each process */
    unsigned char *stack;  /* room for a copy */
    uint64_t stops, stopped_ns;
    uint64_t interrupted;  /* system calls that failed because of us */
};

/* Sample T, which runs.  If ptrace is refused, its process is COL_PACED_LISTED afterwards.  Returns
 * false if another thread of the process has not stopped yet: then T must wait. */
bool col_halt(struct col_pacer *p, struct col_paced_thread *t);
/* Thread TID of X cannot be stopped: find out why, and list X. */
void col_halt_refused(struct col_paced_process *x, int tid);
/* Sample the threads that have stopped since.  Returns whether some have not. */
bool col_halt_pending(struct col_pacer *p);
/* The pacing thread waits for memory of a process and is left behind: when it goes on, it does
 * nothing more. */
void col_halt_abandon(void);
void col_halt_release(struct col_pacer *p);

#endif
