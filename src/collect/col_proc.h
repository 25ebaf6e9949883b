/* col_proc.h - what /proc tells of a process.  Each answers with nothing when it is gone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_PROC_H
#define FATHOM_COLLECT_COL_PROC_H

#include <stddef.h>
#include <stdint.h>

#include "perf/perf_module.h"

long col_proc_comm(int64_t pid, int64_t tid, char *name, size_t cap);
long col_proc_command(int64_t pid, char *text, size_t cap); /* arguments joined by spaces */
int64_t col_proc_parent(int64_t pid);

/* Executable mappings of PID, in order of address; only start to path of *W are set. */
void col_proc_maps(int64_t pid, void (*each)(void *context, struct perf_mapping *w),
                   void *context);
/* One line of a maps file; false when it is none, or not executable.  W->path points into LINE,
 * which is changed. */
bool col_proc_maps_line(char *line, struct perf_mapping *w);

/* Keep hold of the root folder of PID in *ROOT_FD when it is not ours.  *MOUNT_NS is what was
 * found last time: nothing is done when it is still the same. */
void col_proc_root(int64_t pid, uint64_t *mount_ns, int *root_fd);
int64_t col_proc_inner_pid(int64_t pid); /* its number in its own pid namespace */

struct col_cpus {
    int *v;
    size_t n, cap;
};
/* The CPUs of "0,2-3", a line break after it allowed; -1 when TEXT is no such list. */
int col_proc_cpus(const char *text, struct col_cpus *cpus);

/* Threads of PID; returns how many were put into TIDS (a VEC the caller frees). */
struct col_tids {
    int *v;
    size_t n, cap;
};
size_t col_proc_threads(int64_t pid, struct col_tids *tids);

/* Where a thread waits; false when it runs, or when we may not know. */
struct col_proc_wait {
    long call; /* number of its system call, -1: in none */
    uint64_t sp, pc;
};
bool col_proc_wait(int64_t pid, int64_t tid, struct col_proc_wait *w);

#endif
