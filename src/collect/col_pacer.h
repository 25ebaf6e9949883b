/* col_pacer.h - ask the agents of a recording for samples, at the sampling rate.
 *
 * A thread of the recorder wakes at that rate, looks which threads of the recorded processes run,
 * signals those, and collects the samples of earlier requests.  It works beside the main thread,
 * which may spend many periods on the unwind table of one library.  Threads that wait are looked at
 * more and more rarely, until their process uses more CPU time than the running ones explain.
 *
 * Weights are CPU time since the previous sample of the thread, so shares are right at any rate.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_PACER_H
#define FATHOM_COLLECT_COL_PACER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "channel/agent_memory.h"
#include "collect/col_batch.h"
#include "collect/col_halt.h"
#include "collect/col_others.h"

struct col_paced_process;
struct col_watch;

struct col_pacer {
    struct agent_memory *memory; /* NULL: there are no agents */
    uint64_t memory_inode;
    uint64_t namespace;  /* of processes: ours */
    uint64_t period_ns, halt_period_ns;
    uint64_t seed;       /* of the jitter */
    uint32_t n_seen;     /* of memory->n_processes */
    VEC(struct col_paced_process *) process;
    uint64_t sample_ns[AGENT_SAMPLES]; /* since when each is TAKEN; 0: it was not */
    struct col_others others;
    struct col_halts halt;
    struct col_watch *watch; /* NULL: waits are not recorded */
    pthread_t thread;
    bool runs;
    bool dismissed;      /* the agents were told that the recording is over */
    bool stop;           /* atomic */
    bool is_stuck;       /* the thread did not end */
    /* Shared with the main thread, under the mutex. */
    pthread_mutex_t mutex;
    struct col_batch batch;
    uint64_t lost;       /* samples for which there was no memory */
    uint64_t silent;     /* threads that do not answer */
    uint64_t cpu_ns;     /* of the processes, as far as known */
    uint64_t samples;
};

/* HZ samples per second.  INODE is that of the memory M, which may be NULL. */
void col_pacer_init(struct col_pacer *p, struct agent_memory *m, uint64_t inode, uint64_t hz);
/* Record waits too.  Returns 0 or an errno. */
int col_pacer_watch(struct col_pacer *p);
/* Start the thread.  Returns 0 or an errno. */
int col_pacer_start(struct col_pacer *p);
/* End the thread, after it has collected what was asked for.  A thread that a hostile program keeps
 * waiting is left behind. */
void col_pacer_stop(struct col_pacer *p);
/* Exchange the current batch for the empty one at *B. */
void col_pacer_take(struct col_pacer *p, struct col_batch *b);
void col_pacer_release(struct col_pacer *p);

#endif
