/* col_others.h - processes of a recording that run without the agent.
 *
 * They are found among the descendants of the recorder or of the recorded processes, sampled by
 * brief stops (col_halt.c) where that is permitted, and listed at the end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_OTHERS_H
#define FATHOM_COLLECT_COL_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"

struct col_pacer;
struct col_paced_process;

struct col_other { /* processes that ran one program, for one reason */
    char name[16];
    const char *why;  /* they had no agent */
    char refused[64]; /* why they could not be sampled, "" if they were */
    uint64_t ns, samples;
    uint32_t processes;
};

struct col_others {
    bool finds;       /* look for new processes */
    int64_t keep;     /* a child of ours that is not recorded, or 0 */
    VEC(int64_t) root; /* look among the descendants of these */
    struct umap ignored; /* those that ran before */
    int last_pid;     /* of all processes, at the last look */
    bool is_unsure;   /* some may still load the agent */
    uint32_t hints;   /* of the agents, at the last look */
    uint64_t look_ns, full_ns, rush_ns; /* next looks; how long to hurry */
    VEC(struct col_other) ended;
};

/* Sample process PID by stops, or only its threads TIDS if N is not 0.  IS_OLD: it runs since
 * before the recording, and its children until now are not recorded.  FOLLOW: later ones are. */
struct col_others_add {
    int64_t pid;
    const int64_t *tids;
    size_t n;
    bool is_old, follow;
    const char *why;
};
void col_others_add(struct col_pacer *p, const struct col_others_add *add, uint64_t now);
/* The agent is in the running process PID: find its descendants without the agent. */
void col_others_follow(struct col_pacer *p, int64_t pid, bool follow);
/* From now on find descendants of ours, except KEEP, that run without the agent.  Without FOLLOW,
 * only see whether processes with the agent execute a program that cannot load it. */
void col_others_find(struct col_pacer *p, int64_t keep, bool follow);
/* Find new ones, if it is time. */
void col_others_look(struct col_pacer *p, uint64_t now);
/* Remember X, which ends. */
void col_others_note(struct col_pacer *p, const struct col_paced_process *x);

struct col_others_sum {
    uint64_t ns, samples; /* CPU time and samples of all of them */
};
/* Write a list with their shares of ALL_NS of CPU time.  ONLY_REFUSED: omit those with samples.
 * Valid after the pacing thread has ended, and only once. */
struct col_others_sum col_others_list(struct col_pacer *p, uint64_t all_ns, bool only_refused,
                                      struct buf *text);
void col_others_release(struct col_others *o);

#endif
