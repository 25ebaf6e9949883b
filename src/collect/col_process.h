/* col_process.h - the processes and threads of a recording, and what each has mapped.
 *
 * Address spaces are shared between a process and its fork until one of them maps something, so
 * that a program that forks and execs a thousand children costs little.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_PROCESS_H
#define FATHOM_COLLECT_COL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/mem.h"
#include "collect/col_lbr.h"
#include "collect/col_module.h"
#include "collect/col_parse.h"
#include "profile/intern.h"
#include "unwind/unwind.h"

/* Set in a range's module number while its module is not loaded; its bias is then only
 * start - file offset. */
#define COL_PENDING 0x80000000u

struct col_space {
    unsigned users;
    uint32_t generation; /* changes whenever a cached frame may be wrong */
    struct unw_space *unw;
    struct umap frame_by_pc; /* pc * 2 + is_return -> frame id */
};

struct col_process {
    int64_t pid;
    uint32_t id; /* in the sink */
    struct process info;
    struct col_space *space;
    int64_t inner_pid; /* its number in its own pid namespace */
    int root_fd;       /* -1 when it has the root folder that we have */
    uint64_t mount_ns; /* 0 until looked at */
    char *jit_dump;    /* path of the dump it has mapped, or NULL */
    bool gone;
};

struct col_step { /* a frame of the thread's last stack, outermost first */
    uint64_t pc, sp;
    uint32_t stack;
};

struct col_thread {
    int64_t tid;
    uint32_t id; /* in the sink */
    struct thread info;
    struct col_process *process;
    VEC(struct col_step) last;
    const struct col_space *last_space; /* only compared */
    uint32_t last_generation, last_root;
    struct col_lbr calls;
    uint32_t user_stack; /* of its last sample, without the kernel's part */
    /* Waiting (col_wait.c).  Notes are strings; 0 is unknown. */
    uint64_t out_ns, in_ns; /* since when it is off the CPU, 0 when it runs; when it last came */
    uint64_t switch_ns;     /* of its last sample at a switch */
    uint32_t switch_stack, switch_note;
    uint32_t block_stack, block_note; /* of its last one that was no loss of the CPU */
    uint32_t wait_stack, wait_note; /* of the wait at hand */
    uint32_t last_stack;
    bool preempted, asked;
    bool block_sampled; /* block_stack is of a sample, not of a glance */
    bool guessed; /* it waited, too shortly to be looked at */
};

struct col_processes {
    struct intern *in;
    struct col_modules *modules;
    VEC(struct col_process *) process;
    VEC(struct col_thread *) thread;
    struct umap by_pid, by_tid; /* -> index + 1 */
    uint64_t start_ns;          /* of the recording */
    bool no_children;           /* a fork is told of, but not recorded */
};

void col_process_init(struct col_processes *p, struct intern *in, struct col_modules *modules);
void col_process_release(struct col_processes *p);

/* Apply a MMAP2, COMM, FORK or EXIT record. */
void col_process_record(struct col_processes *p, const struct col_record *r);
/* The thread, made from what /proc knows when no record told of it. */
struct col_thread *col_process_thread(struct col_processes *p, int64_t pid, int64_t tid);
struct col_thread *col_process_find_thread(struct col_processes *p, int64_t tid); /* or NULL */
/* A process that runs already: names, threads' names and mappings from /proc. */
struct col_process *col_process_attach(struct col_processes *p, int64_t pid);

/* The range with address PC, its module loaded; NULL when nothing is mapped there.  *LOADED is
 * set when a module was loaded just now, so that a walk that came this far must be repeated. */
const struct unw_range *col_process_range(struct col_processes *p, struct col_space *s,
                                          uint64_t pc, bool *loaded);

#endif
