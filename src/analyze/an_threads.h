/* an_threads.h - running and waiting time of each thread, and idle threads.
 *
 * A thread is idle if it hardly runs and waits for work in one place: a pool worker, the listener
 * of a server, a shell while its command runs.  A thread that waits for a lock, a disk or a CPU is
 * not idle.  If the remaining threads account for less than half of the time, no thread is idle.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_THREADS_H
#define FATHOM_ANALYZE_AN_THREADS_H

#include "analyze/an_view.h"
#include "base/mem.h"

struct an_thread {
    uint32_t thread;         /* id, 0 when unknown */
    bool idle;
    uint32_t place;          /* stack of its longest waits; 0 if none */
    int64_t place_ns;
    int64_t kind[AN_KINDS];  /* [0]: running */
    int64_t waiting;
};

struct an_threads {
    VEC(struct an_thread) v; /* busy threads first, then by time */
    size_t n_idle;
    size_t n_busy; /* a thread that executed another program is several in v, but one here */
    int64_t kind[AN_KINDS];  /* of threads that are not idle */
    int64_t waiting;
    int64_t guessed; /* not observed: shown on the thread's last stack; without the run queue */
};

void an_threads_build(struct an_threads *t, const struct an_view *v);
void an_threads_release(struct an_threads *t);
/* Used while a wall view is opened.  IDLE has a byte for each thread id. */
void an_threads_find_idle(const struct an_view *v, unsigned char *idle);

#endif
