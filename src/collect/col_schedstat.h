/* col_schedstat.h - what the scheduler has counted of a thread, from its file "schedstat" in /proc,
 * which everybody may read.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_SCHEDSTAT_H
#define FATHOM_COLLECT_COL_SCHEDSTAT_H

#include <stdbool.h>
#include <stdint.h>

struct col_schedstat {
    uint64_t cpu_ns;   /* on a CPU; exact while it is not */
    uint64_t queue_ns; /* in the run queue, until it last got a CPU */
    uint64_t turns;    /* how often it got a CPU; unchanged: it has not run */
};

/* Whether the kernel counts this. */
bool col_schedstat_works(void);
/* Open the file of a thread; -1: it has ended, or the kernel has no such file. */
int col_schedstat_open(int64_t pid, int64_t tid);
/* Returns false if the thread has ended. */
bool col_schedstat_get(int fd, struct col_schedstat *s);
bool col_schedstat_read(int64_t pid, int64_t tid, struct col_schedstat *s);

#endif
