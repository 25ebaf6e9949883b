/* perf_process.h - the processes and threads of a recording, and what each has mapped.
 *
 * Address spaces are shared between a process and its fork until one of them maps something, so
 * that a program that forks and execs a thousand children costs little.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_PROCESS_H
#define FATHOM_PERF_PERF_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/mem.h"
#include "cfi/cfi.h"
#include "perf/perf_lbr.h"
#include "perf/perf_module.h"
#include "perf/perf_record.h"
#include "profile/intern.h"

/* Set in a range's module number while its module is not loaded; its bias is then only
 * start - file offset. */
#define PERF_PENDING 0x80000000u

struct perf_space {
    unsigned users;
    uint32_t generation; /* changes whenever a cached frame may be wrong */
    struct unw_space *unw;
    struct umap frame_by_pc; /* pc * 2 + is_return -> frame id */
};

struct perf_process {
    int64_t pid;
    uint32_t id; /* in the sink */
    struct process info;
    struct perf_space *space;
    int64_t inner_pid; /* its number in its own pid namespace */
    int root_fd;       /* -1 when it has the root folder that we have */
    uint64_t mount_ns; /* 0 until looked at */
    char *jit_dump;    /* path of the dump it has mapped, or NULL */
    bool gone;
};

struct perf_step { /* a frame of the thread's last stack, outermost first */
    uint64_t pc, sp;
    uint32_t stack;
    bool is_return;
};

struct perf_thread {
    int64_t tid;
    uint32_t id; /* in the sink */
    struct thread info;
    struct perf_process *process;
    VEC(struct perf_step) last;
    const struct perf_space *last_space; /* only compared */
    uint32_t last_generation, last_root;
    struct perf_lbr calls;
    uint32_t user_stack; /* of its last sample, without the kernel's part */
    /* Waiting (perf_wait.c).  Notes are strings; 0 is unknown. */
    uint64_t out_ns, in_ns; /* since when it is off the CPU, 0 when it runs; when it last came */
    uint64_t switch_ns;     /* of its last sample at a switch */
    uint32_t switch_stack, switch_word;
    uint32_t block_stack, block_word; /* of its last one that was no loss of the CPU */
    uint32_t wait_stack, wait_word; /* of the wait at hand */
    uint32_t last_stack; /* where it was last seen, running or waiting */
    bool preempted, asked;
    bool block_sampled; /* block_stack is of a sample, not of a glance */
    bool guessed; /* it waited, too shortly to be looked at */
};

struct perf_processes {
    struct intern *in;
    struct perf_modules *modules;
    VEC(struct perf_process *) process;
    VEC(struct perf_thread *) thread;
    struct umap by_pid, by_tid; /* -> index + 1 */
    uint64_t start_ns;          /* of the recording */
    enum unw_arch arch;
    bool no_children;           /* a fork is told of, but not recorded */
};

void perf_process_init(struct perf_processes *p, struct intern *in, struct perf_modules *modules);
void perf_process_release(struct perf_processes *p);

/* Apply a MMAP, MMAP2, COMM, FORK or EXIT record. */
void perf_process_record(struct perf_processes *p, const struct perf_record *r);
/* The thread, made from what the host knows when no record told of it. */
struct perf_thread *perf_process_thread(struct perf_processes *p, int64_t pid, int64_t tid);
struct perf_thread *perf_process_find_thread(struct perf_processes *p, int64_t tid); /* or NULL */
/* A process that runs already: names and mappings are the host's. */
struct perf_process *perf_process_attach(struct perf_processes *p, int64_t pid);

/* The range with address PC, its module loaded; NULL when nothing is mapped there.  *LOADED is
 * set when a module was loaded just now, so that a walk that came this far must be repeated. */
const struct unw_range *perf_process_range(struct perf_processes *p, struct perf_space *s,
                                          uint64_t pc, bool *loaded);

#endif
