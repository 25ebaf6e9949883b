/* col_watch.h - the waits of paced threads, for --wall.
 *
 * A look at a thread reads what the scheduler has counted of it, and the system call that it waits
 * in; col_offcpu.h derives when it left the CPU and returned.  Its stack is read by another thread
 * (col_reader.h), once for each wait that lasts for two looks, and now and then for short ones.
 *
 * A thread that has not got a CPU since the last look is still in the same wait, so that costs one
 * system call.  If there are so many looks that they would cost too much, all become rarer.
 *
 * Only the pacing thread calls this.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_WATCH_H
#define FATHOM_COLLECT_COL_WATCH_H

#include <stdint.h>

#include "collect/col_paced.h"
#include "collect/col_pacer.h"

struct col_watch *col_watch_new(void); /* NULL: no thread */
void col_watch_free(struct col_watch *w);
/* Time in which more than one wait fell between two looks: which part each took is estimated. */
uint64_t col_watch_unsure(const struct col_watch *w);

/* Look at T, whose waits are recorded; see col_paced_state. */
enum col_paced_state col_watch_look(struct col_pacer *p, struct col_paced_thread *t);
/* How long T, which waits, need not be looked at. */
uint64_t col_watch_rest(struct col_pacer *p, const struct col_paced_thread *t, uint64_t now);
/* A sample found T running at TIME_NS, with CPU_NS of CPU time; 0: unknown. */
void col_watch_sample(struct col_pacer *p, struct col_paced_thread *t, uint64_t time_ns,
                      uint64_t cpu_ns);
/* T has ended between the two times, and since it was last looked at. */
void col_watch_end(struct col_pacer *p, struct col_paced_thread *t, uint64_t from_ns,
                   uint64_t to_ns);
/* X has ended with all its threads at NOW or before: after the last look at any of them. */
void col_watch_end_all(struct col_pacer *p, struct col_paced_process *x, uint64_t now);
/* Take the stacks that were read.  Once per tick, before all looks. */
void col_watch_collect(struct col_pacer *p);
/* The recording ends: look at all threads for the last time. */
void col_watch_stop(struct col_pacer *p, uint64_t now);

#endif
