/* col_quiet.h - whether a thread may be made to call dlopen where it is: it holds no lock that
 * dlopen takes, and its stack has room.
 *
 * In doubt the answer is no.  The thread must be stopped, or wait in a system call; in the second
 * case the answer is only a hint.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_QUIET_H
#define FATHOM_COLLECT_COL_QUIET_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/col_image.h"

struct col_quiet_thread {
    int tid;
    struct unw_regs regs;
    uint64_t pointer; /* the thread pointer; 0: unknown, as for a hint */
    long call;        /* the system call that it waits in; -1: none, it runs */
};

/* Whether a thread can wait in system call CALL, and repeat it. */
bool col_quiet_call(long call);
/* Whether T, which waits, is in the dynamic linker: it may hold its lock until another thread has
 * done something, as in a constructor. */
bool col_quiet_loads(struct col_image *m, const struct col_quiet_thread *t);
/* Returns NULL, or why not, as the end of "a thread ...". */
const char *col_quiet_check(struct col_image *m, const struct col_quiet_thread *t);

#endif
