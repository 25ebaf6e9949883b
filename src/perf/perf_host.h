/* perf_host.h - what a source of records knows beyond them.
 *
 * A live recording asks /proc and opens files through the root folder of the process that mapped
 * them; a perf.data must not look at the processes of today.  A NULL call means "unknown".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_HOST_H
#define FATHOM_PERF_PERF_HOST_H

#include <stddef.h>
#include <stdint.h>

struct perf_mapping;

struct perf_host {
    /* Name of a thread and command line of a process; negative when unknown. */
    long (*comm)(int64_t pid, int64_t tid, char *name, size_t cap);
    long (*command)(int64_t pid, char *text, size_t cap);
    int64_t (*parent)(int64_t pid);    /* 0 when unknown */
    int64_t (*inner_pid)(int64_t pid); /* its number in its own pid namespace */
    /* Its root folder, -1 for the one we have.  *MOUNT_NS is what the last call found. */
    void (*root)(int64_t pid, uint64_t *mount_ns, int *root_fd);
    /* Executable mappings of a process that no record described. */
    void (*maps)(int64_t pid, void (*each)(void *with, struct perf_mapping *w), void *with);
    /* The file behind a mapping; the list of names that a JIT writes.  -1 when not to be had. */
    int (*open)(const struct perf_mapping *w);
    int (*open_jit)(int64_t pid, const char *path);
};

extern const struct perf_host perf_host_none; /* knows nothing */

#endif
