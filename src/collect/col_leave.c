/* col_leave.c - see col_leave.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_leave.h"

#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "collect/col_ask.h"
#include "collect/col_paced.h"

enum { WAIT_MS = 1000, PAUSE_NS = 500000 };

/* Whether X has still a handler, and can run it. */
static bool stays(const struct col_pacer *p, const struct col_paced_process *x)
{
    return x->way == COL_PACED_ASKED && p->memory->process[x->number].leaves &&
           col_ask_signal(p, x) && !x->is_traced && kill((pid_t)x->pid, 0) == 0;
}

/* The kernel gives a signal for a process to any thread that does not block it. */
void col_leave(struct col_pacer *p)
{
    uint64_t until_ns = clock_mono_ns() + WAIT_MS * (uint64_t)COL_PACED_NS_PER_MS;
    struct timespec pause = { 0, PAUSE_NS };
    size_t n = 0;

    for (size_t i = 0; i < p->process.n; i++)
        if (stays(p, p->process.v[i]))
            kill((pid_t)p->process.v[i]->pid, col_ask_signal(p, p->process.v[i]));
    do {
        n = 0;
        for (size_t i = 0; i < p->process.n; i++)
            n += stays(p, p->process.v[i]);
    } while (n && clock_mono_ns() < until_ns && nanosleep(&pause, NULL) == 0);
}
