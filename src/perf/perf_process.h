/* perf_process.h - the processes and threads of a recording, and their mappings.
 *
 * A process of the kernel is several items of the sink if it executes another program or changes
 * its name: each sample belongs to the command and the name of its time.
 *
 * A process and its fork share an address space until one of them maps something, so that a
 * program that forks and execs a thousand children is cheap.
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
#include "perf/perf_work.h"
#include "profile/intern.h"

/* Flag in a range's module number: the module is not loaded, and the bias is only start - file
 * offset. */
#define PERF_PENDING 0x80000000u

struct perf_space {
    unsigned users;
    uint32_t generation; /* changes when cached frames become invalid */
    struct unw_space *unw;
    struct umap frame_by_pc; /* pc * 2 + is_return -> frame id */
    uint64_t own_start, own_end; /* code of the host's own library; 0: not mapped */
};

struct perf_process {
    int64_t pid;
    uint32_t id; /* in the sink */
    struct process info;
    struct perf_space *space;
    int64_t inner_pid; /* its pid in its own pid namespace */
    int root_fd;       /* -1: same root directory as ours */
    const struct named_user *user; /* NULL: ourselves */
    uint64_t mount_ns; /* 0: not read yet */
    char *jit_dump;    /* path of its jitdump, or NULL */
    uint32_t inherited_command; /* string: of the parent, until exec */
    struct perf_thread *threads; /* the newest of those since exec, also ended ones */
    bool ended;
    bool used; /* the item `id` has samples */
    bool has_unread_maps;
    bool some_threads; /* those known are recorded; the others only make mappings */
    bool is_opaque;    /* its memory cannot be read */
    bool is_fresh;     /* it is in the list below */
    uint64_t reread_ns; /* when its maps were read again */
    uint32_t execs;
    uint32_t n_frames; /* known when it was added to the list */
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
    struct perf_thread *older; /* thread of the process */
    bool used;       /* the item `id` has samples */
    uint64_t sampled_ns; /* CPU time that samples of the first event cover, if it is a clock */
    struct perf_thread *parent; /* that created it, or NULL */
    size_t number;     /* index in struct perf_processes */
    uint64_t since_ns; /* its start, or that of the recording */
    uint64_t joints; /* identifies its stack in the table of joints; changes at exec */
    VEC(struct perf_step) last;
    const struct perf_space *last_space; /* only compared */
    uint32_t last_generation, last_root;
    struct perf_lbr calls;
    uint32_t user_stack; /* of its last sample, without kernel frames */
    /* Waiting (perf_wait.c).  Words are string ids; 0 is unknown. */
    uint64_t out_ns, in_ns; /* left the CPU, 0 if running; last returned */
    uint64_t switch_ns;     /* of its last sample at a switch */
    uint32_t switch_stack, switch_word;
    uint32_t block_stack, block_word; /* of its last voluntary switch */
    uint32_t wait_stack, wait_word; /* of the current wait */
    uint32_t last_stack; /* its last stack, running or waiting */
    bool preempted, inspected;
    bool block_sampled; /* block_stack is from a sample, not from col_look */
    bool guessed; /* it waited too briefly to be inspected */
};

struct perf_past { /* a program that a process executed another one in place of */
    int64_t pid;
    uint64_t until_ns;
    uint32_t id; /* of its item; 0 if it has none */
};

struct perf_processes {
    struct intern *in;
    struct perf_modules *modules;
    VEC(struct perf_process *) process;
    VEC(struct perf_thread *) thread;
    struct umap by_pid, by_tid; /* -> index + 1 */
    struct umap by_name;        /* process id, name and tid -> thread id, of earlier names */
    VEC(struct perf_past) past; /* in the order of time */
    uint64_t n_joints;
    struct perf_work work;
    uint64_t n_ranges;          /* in all spaces */
    uint64_t start_ns;          /* of the recording */
    enum unw_arch arch;
    bool no_children;           /* children are not recorded */
    VEC(struct perf_process *) fresh; /* with new frames; perf_ifunc_look clears it */
};

/* Read the maps of X again, if the host does that, at most every 20 ms.  Returns whether they
 * changed. */
bool perf_process_reread(struct perf_processes *p, struct perf_process *x, uint64_t now_ns);

void perf_process_init(struct perf_processes *p, struct intern *in, struct perf_modules *modules);
void perf_process_release(struct perf_processes *p);

/* Apply a MMAP, MMAP2, COMM, FORK or EXIT record. */
void perf_process_record(struct perf_processes *p, const struct perf_record *r);
/* Return the thread.  If no record described it, create it from the facts of the host. */
struct perf_thread *perf_process_thread(struct perf_processes *p, int64_t pid, int64_t tid);
struct perf_thread *perf_process_find_thread(struct perf_processes *p, int64_t tid); /* or NULL */
/* Return the ids of the process and the thread that were PID and TID at TIME_NS, not only after the
 * last exec.  COMM and NAME are those of items that are missing. */
uint32_t perf_process_item_at(struct perf_processes *p, int64_t pid, uint64_t time_ns,
                              const char *comm);
uint32_t perf_process_thread_at(struct perf_processes *p, int64_t pid, int64_t tid,
                                uint64_t time_ns, const char *comm, const char *name);
/* Return the id of T for a sample at TIME_NS. */
void perf_process_mark_used(struct perf_processes *p, struct perf_thread *t, uint64_t time_ns);
static inline uint32_t perf_process_use(struct perf_processes *p, struct perf_thread *t,
                                        uint64_t time_ns)
{
    if (!t->used || t->info.process != t->process->id)
        perf_process_mark_used(p, t, time_ns);
    return t->id;
}
/* Add a running process: names and mappings come from the host. */
struct perf_process *perf_process_attach(struct perf_processes *p, int64_t pid);
/* The same, but the mappings are read when a record needs them. */
struct perf_process *perf_process_note(struct perf_processes *p, int64_t pid);

/* Add X to the list of fresh processes if frames were added to its space since the last call. */
void perf_process_grew(struct perf_processes *p, struct perf_process *x);
/* Return the range that contains PC with its module loaded; NULL when nothing is mapped there.
 * Sets *LOADED if the module was loaded by this call: the walk so far must then be repeated. */
const struct unw_range *perf_process_range(struct perf_processes *p, struct perf_space *s,
                                          uint64_t pc, bool *loaded);

#endif
