/* col_ptrace.h - stop a thread of another process for a moment.
 *
 * A thread is seized, interrupted, read, and let go.  Only the thread of ours that seized it may do
 * the rest.  The target survives our death at any of these steps, and loses no signal: the stop is
 * looked at but never taken (WNOWAIT), so the kernel still knows the signal that the thread was
 * about to receive.
 *
 * Never seize a second thread of a process before the first was let go or has ended: PTRACE_SEIZE
 * waits for a thread that calls exec, and exec waits for threads that ended and were seized.
 *
 * Other threads of ours must be prepared that wait4 and waitid, whatever their options, report the
 * stops of a child that this thread has seized (col_target.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_PTRACE_H
#define FATHOM_COLLECT_COL_PTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "unwind/unwind.h"

struct col_ptrace { /* a seized thread; zeroed: none */
    pid_t pid, tid;
    int signal; /* that it was about to receive when it stopped; 0: none */
    bool in_group_stop; /* by SIGSTOP or a signal like it */
    uint64_t ran_ns;    /* when it was last seen not to have stopped */
};

/* Seize thread TID of process PID and ask it to stop.  Returns 0 or an errno: EPERM if it is traced
 * or ptrace is refused, ESRCH if it has ended. */
int col_ptrace_seize(struct col_ptrace *t, pid_t pid, pid_t tid);

enum col_ptrace_state {
    COL_PTRACE_STOPPED,
    COL_PTRACE_NOT_YET, /* at UNTIL_NS: it waits for a CPU, or cannot be interrupted */
    COL_PTRACE_ENDED,   /* and was let go; TID may belong to another thread now */
};
/* Wait until T has stopped, at most until UNTIL_NS (clock_mono_ns; 0: do not wait). */
enum col_ptrace_state col_ptrace_wait(struct col_ptrace *t, uint64_t until_ns);

/* The following are for stopped threads.  They fail if the thread was killed meanwhile. */
struct col_ptrace_regs {
    struct user_regs_struct v;
    size_t n; /* bytes of V that are valid: all, or fewer for a 32-bit program */
};
bool col_ptrace_regs(const struct col_ptrace *t, struct col_ptrace_regs *r);
bool col_ptrace_set_regs(const struct col_ptrace *t, const struct col_ptrace_regs *r);
/* The registers that the unwinder needs.  Returns false for a 32-bit program, with only pc set. */
bool col_ptrace_unwind_regs(const struct col_ptrace_regs *r, struct unw_regs *u);

/* Whether a signal with an effect waits for the thread. */
bool col_ptrace_has_signal(const struct col_ptrace *t);

/* Some system calls fail with EINTR when a thread is stopped.  If R is in such a call, and no
 * signal is the reason, change R so that the thread makes the call again.  Returns whether R was
 * changed; *FAILED: the call fails because of us, and cannot be repeated. */
bool col_ptrace_repeat_call(const struct col_ptrace *t, struct col_ptrace_regs *r, bool *failed);

/* Write N bytes, also where the process itself may not write.  ADDRESS need not be aligned. */
bool col_ptrace_write(const struct col_ptrace *t, uint64_t address, const void *from, size_t n);
/* Read a word; false if it is not mapped. */
bool col_ptrace_read(const struct col_ptrace *t, uint64_t address, uint64_t *word);

/* Let the thread run on.  A signal that it was about to receive is delivered, and a process that
 * was stopped by SIGSTOP stays stopped.  Returns false if the thread was killed meanwhile: wait
 * again, until col_ptrace_wait says that it has ended. */
bool col_ptrace_let_go(struct col_ptrace *t);

#endif
