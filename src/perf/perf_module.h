/* perf_module.h - files that contain code, one entry for all processes that map a file.
 *
 * A file is opened when it is first mapped, because the process and its view of the file system
 * may disappear.  Its unwind table is built when a sample first lies in it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_MODULE_H
#define FATHOM_PERF_PERF_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cfi/cfi.h"
#include "perf/perf_host.h"
#include "profile/intern.h"
#include "symbol/symbol.h"

struct perf_module {
    char *path; /* as seen by the target */
    enum module_kind kind;
    uint64_t device, inode; /* 0 when identified by build id */
    uint8_t build_id[20];
    uint8_t build_id_size;
    int64_t target_pid, pid; /* of a JIT's process; pid: in its own pid namespace */
    char root[40]; /* prefix of its path: "" or "/proc/self/fd/N" */
    /* With whose permissions to open what it names; NULL: ours.  Of several users who map it, the
     * one who may read least. */
    const struct named_user *user;
    int fd;        /* -1 when it could not be opened */
    bool loaded;   /* elf, table and id are valid */
    bool is_alias; /* one of too many names of a file: it gets no symbols */
    struct elf_file elf;
    struct unw_table *table; /* NULL for code generated at run time, and where none was found */
    uint32_t id;             /* in the sink */
    VEC(struct sym_variant) variant; /* chosen in the processes that map it (perf_ifunc.c) */
};

struct perf_build_id { /* of a file, given separately from its mapping */
    char *path;
    uint8_t id[20];
    uint8_t size;
};

struct perf_modules {
    VEC(struct perf_module) v; /* indexed by number - 1 */
    struct index by_key;
    VEC(struct perf_build_id) build_id;
    struct index by_path; /* of build_id */
    struct umap files;    /* hash of a file or build id -> number of modules with it */
    uint64_t unopened;    /* files for which there was no descriptor left */
    VEC(struct named_user *) user;
    struct intern *in;
    const struct perf_host *host;
};

struct perf_mapping { /* from a record or a line of /proc/PID/maps */
    uint64_t start, end, file_offset;
    uint64_t device, inode;
    const uint8_t *build_id;
    uint8_t build_id_size;
    const char *path;
    int64_t pid, inner_pid; /* of the process; its pid in its own namespace */
    int root_fd;            /* its root directory; -1: same as ours */
    const struct named_user *user; /* of the process, when it was last read; NULL: ourselves */
    const char *jit_dump;   /* its jitdump file, or NULL */
};

void perf_module_init(struct perf_modules *m, struct intern *in, const struct perf_host *host);
void perf_module_release(struct perf_modules *m);
/* Set the build id of the file at PATH, for mappings without one. */
void perf_module_add_build_id(struct perf_modules *m, const char *path, const uint8_t *id,
                              size_t size);
/* Read the user of process PID, for perf_mapping.user; lives as long as M. */
const struct named_user *perf_module_user(struct perf_modules *m, int64_t pid);
/* Number of the module of mapping W, from 1; created if new. */
uint32_t perf_module_number(struct perf_modules *m, const struct perf_mapping *w);
struct perf_module *perf_module_get(struct perf_modules *m, uint32_t number);
/* Load what unwinding needs and define the module in the sink. */
void perf_module_load(struct perf_modules *m, struct perf_module *x);
/* The table for ranges that map X. */
const struct unw_table *perf_module_table(const struct perf_module *x);
/* Difference between addresses of a mapping at START with FILE_OFFSET and those of the module. */
uint64_t perf_module_bias(const struct perf_module *x, uint64_t start, uint64_t file_offset);

#endif
