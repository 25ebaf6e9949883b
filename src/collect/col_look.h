/* col_look.h - look at threads while they wait, where no sample tells what they wait for: the
 * system call from /proc/PID/task/TID/syscall, the stack with process_vm_readv.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_LOOK_H
#define FATHOM_COLLECT_COL_LOOK_H

#include <stdbool.h>

#include "perf/perf_wait.h"

struct col_look {
    struct perf_waits *waits;
    unsigned char *memory; /* a thread's stack, read from outside; NULL: do not look */
    bool unsure;           /* some thread waits that was not looked at */
};

void col_look_init(struct col_look *l, struct perf_waits *waits);
void col_look_release(struct col_look *l);
/* Look at threads that wait: once for each wait, and only at long ones. */
void col_look(struct col_look *l);

#endif
