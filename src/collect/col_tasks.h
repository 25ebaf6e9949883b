/* col_tasks.h - count the processes and threads that a command starts, from the kernel's fork
 * records.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_TASKS_H
#define FATHOM_COLLECT_COL_TASKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/mem.h"
#include "collect/col_ring.h"

struct col_tasks {
    VEC(struct col_ring) ring; /* one for each CPU */
    uint64_t processes, threads;
    bool failed; /* incomplete: an open failed or records were lost */
    int refused; /* errno if no event could be opened */
};

/* Count the tasks that PID starts after its next exec.  Never fails; sets `failed` instead. */
void col_tasks_open(struct col_tasks *t, pid_t pid);
void col_tasks_drain(struct col_tasks *t); /* call often enough that the rings do not fill */
/* Drain and return the numbers including PID itself.  Returns false when they are incomplete. */
bool col_tasks_counts(struct col_tasks *t, double *processes, double *threads);
void col_tasks_close(struct col_tasks *t);

#endif
