/* col_look.h - inspect waiting threads where no sample shows what they wait for: the system call
 * from /proc/PID/task/TID/syscall, the stack with col_words.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_LOOK_H
#define FATHOM_COLLECT_COL_LOOK_H

#include <stdbool.h>

#include "perf/perf_wait.h"

struct col_look {
    struct perf_waits *waits; /* NULL: do not inspect */
    bool unsure;           /* some waiting thread has not been inspected */
};

void col_look_init(struct col_look *l, struct perf_waits *waits);
/* Inspect waiting threads: once per wait, and only long waits. */
void col_look(struct col_look *l);

#endif
