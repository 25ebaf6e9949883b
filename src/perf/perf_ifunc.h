/* perf_ifunc.h - the variants that the dynamic linker chose in the recorded processes.
 *
 * A stripped C library exports `strcmp` as a resolver, which returns one of several local
 * functions; the linker stores its address in a slot of each module that calls it.  While a process
 * runs, the slots of all its modules are read after samples with new frames, because a slot may be
 * filled by the first call.  What they contain is untrusted: an address counts only if the code of
 * the resolver refers to it, so that a process cannot rename functions for others.
 *
 * Facts go to perf_module.variant, and sym_ifunc.c makes names of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_IFUNC_H
#define FATHOM_PERF_PERF_IFUNC_H

#include "perf/perf_process.h"
#include "symbol/sym_slots.h"

struct perf_ifunc_file { /* one per module */
    struct sym_slots slots;
    struct umap by_key, by_address; /* 1: there is such a resolver */
    bool is_read;
    uint32_t looks; /* processes whose slots were searched for variants of this file */
};

struct perf_ifunc_slot {
    uint64_t address; /* in the process */
    uint64_t key;     /* see struct sym_slot */
    uint32_t library; /* number of the module with the resolver */
    bool is_irelative;
};

enum { PERF_IFUNC_LIBRARIES = 16 };

struct perf_ifunc_libraries { /* sampled modules whose variants have no names */
    uint32_t number[PERF_IFUNC_LIBRARIES];
    size_t n;
};

struct perf_ifunc_watch { /* a process with slots that may still be filled */
    struct perf_process *process;
    uint32_t execs, generation; /* of the process and its space when the slots were found */
    unsigned builds;
    struct perf_ifunc_libraries libraries;
    VEC(struct perf_ifunc_slot) slot;
};

struct perf_ifuncs {
    struct perf_processes *processes;
    VEC(struct perf_ifunc_file) file; /* by module number - 1 */
    VEC(struct perf_ifunc_watch) watch;
    size_t checks; /* of resolvers' code, in this look at a process */
};

void perf_ifunc_init(struct perf_ifuncs *f, struct perf_processes *p);
void perf_ifunc_release(struct perf_ifuncs *f);
/* Read the slots of processes that have new frames since the last call. */
void perf_ifunc_look(struct perf_ifuncs *f);

#endif
