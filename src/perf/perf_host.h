/* perf_host.h - facts that a source of records provides beyond the records.
 *
 * A live recording reads /proc and opens files through the root directory of the process that
 * mapped them.  A perf.data must not use the processes that run now.  A NULL function means
 * "unknown".  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_HOST_H
#define FATHOM_PERF_PERF_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/named.h"

struct perf_mapping;

struct perf_host {
    /* Name of a thread and command line of a process; negative when unknown. */
    long (*comm)(int64_t pid, int64_t tid, char *name, size_t cap);
    long (*command)(int64_t pid, char *text, size_t cap);
    int64_t (*parent)(int64_t pid);    /* 0 when unknown */
    int64_t (*inner_pid)(int64_t pid); /* its pid in its own pid namespace */
    /* The user with whose permissions to open what the process names; false when it has ended.
     * NULL: everything is opened as ourselves. */
    bool (*user)(int64_t pid, struct named_user *u);
    /* Its root directory; -1: same as ours.  *MOUNT_NS is the result of the last call. */
    void (*root)(int64_t pid, uint64_t *mount_ns, int *root_fd);
    /* Executable mappings of a process that no record described. */
    void (*maps)(int64_t pid, void (*each)(void *with, struct perf_mapping *w), void *with);
    /* Open the file of a mapping, called when it is first mapped; and the symbol map that a JIT
     * writes.  -1 when unavailable. */
    int (*open)(const struct perf_mapping *w);
    int (*open_jit)(int64_t pid, const char *path, const struct named_user *user);
    /* Find a file with this path or build id, called when a sample first lies in it. */
    int (*find)(const char *path, const uint8_t *build_id, size_t build_id_size);
    /* Read the 8-byte words at N addresses of a process, up to the first that cannot be read.
     * Returns their number, -1 when the process has ended or access is denied. */
    long (*words)(int64_t pid, const uint64_t *address, size_t n, uint64_t *word);
    /* No record describes later mappings and threads: read maps again for unknown code. */
    bool rereads_maps;
    /* File name of a library that we preload, or NULL.  The program does not know that it calls it,
     * so callers in it are left out of stacks. */
    const char *own_library;
    bool no_files; /* read no file of this machine: frames get no names */
    bool is_past; /* the processes have ended: their pids may be reused */
};

extern const struct perf_host perf_host_none; /* all unknown */

#endif
