/* col_proc.h - read a process from /proc.  Functions return an empty result when it has ended.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_PROC_H
#define FATHOM_COLLECT_COL_PROC_H

#include <stddef.h>
#include <stdint.h>

#include "perf/perf_module.h"

long col_proc_comm(int64_t pid, int64_t tid, char *name, size_t cap);
long col_proc_command(int64_t pid, char *text, size_t cap); /* arguments joined by spaces */
int64_t col_proc_parent(int64_t pid);

int64_t col_proc_of_thread(int64_t tid); /* the process of thread TID; 0: no such thread */
/* Open the stat file of TID.  The descriptor stays with the thread if its number is used again. */
int col_proc_open_stat(int64_t tid);
bool col_proc_stat_ended(int stat); /* the thread has ended, also if its number is still taken */

/* Visit the executable mappings of PID in order of address.  Only `start` to `path` of *W are
 * set. */
void col_proc_maps(int64_t pid, void (*each)(void *context, struct perf_mapping *w),
                   void *context);
/* Parse one line of a maps file.  Returns false if it is invalid or not executable.  W->path
 * points into LINE, which is modified. */
bool col_proc_maps_line(char *line, struct perf_mapping *w);

/* Open the root directory of PID as *ROOT_FD if it differs from ours.  *MOUNT_NS is the result of
 * the last call: if it has not changed, nothing is done. */
void col_proc_root(int64_t pid, uint64_t *mount_ns, int *root_fd);
int64_t col_proc_inner_pid(int64_t pid); /* its pid in its own pid namespace */

struct col_cpus {
    int *v;
    size_t n, cap;
};
/* Parse a CPU list such as "0,2-3", with an optional newline.  Returns -1 if TEXT is invalid. */
int col_proc_cpus(const char *text, struct col_cpus *cpus);

/* Append the threads of PID to TIDS (a VEC that the caller frees).  Returns their number. */
struct col_tids {
    int *v;
    size_t n, cap;
};
size_t col_proc_threads(int64_t pid, struct col_tids *tids);
void col_proc_all(struct col_tids *pids); /* append all processes that we can see */
/* Append all processes that descend from PID. */
void col_proc_descendants(int64_t pid, struct col_tids *below);

/* Find where a thread waits.  Returns false when it runs or access is denied. */
struct col_proc_wait {
    long call; /* system call number, -1: none */
    uint64_t sp, pc;
};
bool col_proc_wait(int64_t pid, int64_t tid, struct col_proc_wait *w);
/* The same from the text of its file "syscall", which is modified: "NUMBER six arguments SP PC",
 * "-1 SP PC", or "running". */
bool col_proc_wait_text(char *text, struct col_proc_wait *w);

#endif
