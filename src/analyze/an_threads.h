/* an_threads.h - how long each thread ran and waited, and which threads are idle.
 *
 * A thread is idle when it hardly runs and waits in one place for something to do: a pool's
 * worker, a server's listener, a shell whose command runs.  One that waits for a lock, a disk or
 * a CPU is not idle, and when the threads that are left would not tell of even half of the time,
 * none is.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_THREADS_H
#define FATHOM_ANALYZE_AN_THREADS_H

#include "analyze/an_view.h"
#include "base/mem.h"

struct an_thread {
    uint32_t thread;         /* id, 0 when unknown */
    bool idle;
    uint32_t place;          /* stack it waited on for longest; 0 none */
    int64_t place_ns;
    int64_t kind[AN_KINDS];  /* [0]: running */
    int64_t waiting;
};

struct an_threads {
    VEC(struct an_thread) v; /* busy ones first, then by time */
    size_t n_idle;
    int64_t kind[AN_KINDS];  /* of those that are not idle */
    int64_t waiting;
    int64_t guessed; /* of waiting: on the stack of the thread's last wait or sample */
};

void an_threads_build(struct an_threads *t, const struct an_view *v);
void an_threads_release(struct an_threads *t);
/* For a wall view that is being opened: IDLE has a byte for each thread id. */
void an_threads_find_idle(const struct an_view *v, unsigned char *idle);

#endif
