/* col_ask.h - ask threads of processes with an agent for samples, and collect the answers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_ASK_H
#define FATHOM_COLLECT_COL_ASK_H

#include "collect/col_paced.h"
#include "collect/col_pacer.h"

/* The signal that the agent of X serves; 0: X must not be signalled. */
int col_ask_signal(const struct col_pacer *p, const struct col_paced_process *x);
/* T runs: ask it for a sample with signal SIG.  Returns false if that failed. */
bool col_ask(struct col_pacer *p, struct col_paced_thread *t, int sig);
/* T has not answered its request.  After a long time, find out why. */
bool col_ask_is_open(struct col_pacer *p, struct col_paced_thread *t, int sig, uint64_t now);
void col_ask_forget(struct col_pacer *p, struct col_paced_thread *t);
/* Take the samples that were answered. */
void col_ask_collect(struct col_pacer *p, uint64_t now);

#endif
