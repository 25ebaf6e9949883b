/* perf_host.h - what a source of records knows beyond them.
 *
 * A live recording asks /proc and opens files through the root folder of the process that mapped
 * them; a perf.data must not look at the processes of today.  A NULL call means "unknown".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_HOST_H
#define FATHOM_PERF_PERF_HOST_H

#include <stdbool.h>
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
    /* The file behind a mapping, asked for when it is first mapped; the list of names that a JIT
     * writes.  -1 when not to be had. */
    int (*open)(const struct perf_mapping *w);
    int (*open_jit)(int64_t pid, const char *path);
    /* Any file with this path or build id, asked for when a sample first lies in it. */
    int (*find)(const char *path, const uint8_t *build_id, size_t build_id_size);
    bool is_past; /* the processes no longer exist: another may have the number now */
};

extern const struct perf_host perf_host_none; /* knows nothing */

#endif
