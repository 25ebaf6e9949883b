/* col_tasks.h - how many processes and threads a command starts: the kernel's records of forks,
 * and nothing else.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_TASKS_H
#define FATHOM_COLLECT_COL_TASKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/mem.h"
#include "collect/col_ring.h"

struct col_tasks {
    VEC(struct col_ring) ring; /* one for each CPU */
    uint64_t processes, threads;
    bool failed; /* could not be opened everywhere, or records were lost */
};

/* Count what PID starts from its next exec on.  Never fails: see failed. */
void col_tasks_open(struct col_tasks *t, pid_t pid);
void col_tasks_drain(struct col_tasks *t); /* often enough that the rings do not fill */
/* Drain, and give the numbers with PID itself; false when they are not complete. */
bool col_tasks_counts(struct col_tasks *t, double *processes, double *threads);
void col_tasks_close(struct col_tasks *t);

#endif
