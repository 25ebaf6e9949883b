/* col_paced.h - the processes that col_pacer samples, and their threads.
 *
 * Only the pacing thread uses them.  Their facts come from /proc; how a thread is sampled is no
 * concern of this file.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_PACED_H
#define FATHOM_COLLECT_COL_PACED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "collect/col_offcpu.h"
#include "collect/col_proc.h"
#include "collect/col_schedstat.h"

enum { COL_PACED_NS_PER_MS = 1000000 };

struct col_paced_process;

enum col_paced_way { /* how its threads are sampled */
    COL_PACED_ASKED, /* by the agent, on request (col_ask.c) */
    COL_PACED_HALTED, /* by brief stops (col_halt.c) */
    COL_PACED_LISTED, /* not at all: its CPU time is followed */
};

struct col_watched { /* how a thread waits (col_watch.c) */
    struct col_offcpu off;
    struct col_proc_wait wait; /* the last that was seen */
    uint64_t asked_turns; /* turns at the wait whose stack was asked for */
    uint64_t stack_ns;    /* when a stack was last seen */
};

struct col_paced_thread {
    int tid, inner_tid;  /* as we see it, and as it sees itself */
    int state;           /* its file "syscall" or "stat" in /proc */
    int schedstat;       /* -1: not opened */
    bool has_syscall;
    bool gone, silent, runs;
    uint64_t cpu_ns;     /* at its last sample */
    uint64_t seen_cpu_ns; /* HALTED: at the last look */
    uint64_t look_ns, rest_ns;
    uint64_t asked_ns;   /* 0: no request; HALTED: its last sample */
    uint32_t request;    /* its number */
    uint64_t queued_ns;  /* its time in the run queue, when asked */
    struct col_watched watch;
    bool has_sample;
    uint32_t owed;       /* samples that were asked for and did not come yet */
    struct col_paced_process *of;
};

struct col_paced_range {
    uint64_t start, end;
};

struct col_paced_process {
    enum col_paced_way way;
    uint32_t number; /* ASKED: in the memory of the agents */
    int64_t pid, inner_pid;
    uint64_t image;     /* of its program: changes at exec, 0 unknown */
    uint64_t stack_end; /* of its first thread, 0 unknown */
    uint64_t left_ns;   /* ASKED: when it was first seen to run another program, or 0 */
    bool chosen;        /* only the threads that were added are sampled */
    size_t turn;        /* HALTED: the thread to stop first */
    char name[16];      /* HALTED, LISTED: of the program */
    const char *why;    /* the agent is not in it */
    char refused[64];   /* why it could not be sampled, "" if it is */
    uint64_t other_ns, samples; /* its CPU time and samples without the agent */
    uint64_t period_ns;
    uint32_t threads, maps, names; /* those of the memory when last looked at */
    uint64_t scan_ns, count_ns; /* when to look for threads, and to count them */
    bool is_traced;
    uint64_t cpu_ns, counted_ns; /* CPU time, and when it was read */
    uint64_t looked_ns, explained_ns, unexplained_ns;
    bool attached; /* the threads that are found now ran before the recording */
    bool hooked;   /* its agent reports new threads and unloaded libraries */
    struct buf code; /* lines of its maps with code, as last read */
    VEC(struct col_paced_range) range; /* of these lines, if has_ranges */
    bool has_ranges;
    uint64_t need_ns; /* when a sample may make us read them again */
    uint64_t maps_ns, maps_rest_ns; /* when to read them again, 0: not; after that */
    uint64_t check_ns; /* when to look whether they have changed */
    VEC(struct col_paced_thread *) thread; /* in order of tid */
    VEC(struct col_paced_thread *) awake;  /* those that do not rest */
    VEC(struct col_paced_thread *) running; /* HALTED: to be stopped in this tick */
    uint64_t all_ns; /* when to look at those that rest too */
};

/* Find new threads, whether the process is traced, and when to scan again. */
void col_paced_scan(struct col_paced_process *x, uint64_t now);
/* Add thread TID and forget the CPU time that it has used. */
void col_paced_choose(struct col_paced_process *x, int tid);
/* Find out which program the process runs.  Returns whether that has changed. */
bool col_paced_look_at_image(struct col_paced_process *x);
/* CPU time of process PID, 0 if unknown. */
uint64_t col_paced_clock(int64_t pid);
/* The process ran before the recording: what it has used until now does not count. */
void col_paced_begin(struct col_paced_process *x);
/* Whether the number of threads has changed, in a process that does not report it.  Asks the kernel
 * only from time to time. */
bool col_paced_has_new(struct col_paced_process *x, uint64_t now);
/* CPU time that the process has used since the last call. */
uint64_t col_paced_cpu(struct col_paced_process *x);
bool col_paced_has_ended(const struct col_paced_process *x);
struct col_paced_thread *col_paced_find(const struct col_paced_process *x, int tid);
struct col_paced_thread *col_paced_find_inner(const struct col_paced_process *x, int inner_tid);
/* Release the threads that are gone. */
void col_paced_drop_gone(struct col_paced_process *x);
void col_paced_free(struct col_paced_process *x);

enum col_paced_state { COL_PACED_ENDED, COL_PACED_WAITS, COL_PACED_RUNS };
/* W: where it waits; not changed if that is unknown; or NULL. */
/* What the scheduler has counted of T; false: it has ended. */
bool col_paced_counts(struct col_paced_thread *t, struct col_schedstat *s);
enum col_paced_state col_paced_state(struct col_paced_thread *t, struct col_proc_wait *w);
/* CPU time of T, 0 if unknown.  Exact while it is stopped; else as old as the last tick. */
uint64_t col_paced_thread_cpu(struct col_paced_thread *t);
/* The weight of a sample of T at CPU_NS: the CPU time since the last one, but at most a few
 * periods.  CPU_NS 0: it is unknown, and the weight is one period. */
uint64_t col_paced_weight(struct col_paced_thread *t, uint64_t cpu_ns);

#endif
