/* col_ask.c - see col_ask.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "collect/col_code.h"
#include "collect/col_watch.h"

enum {
    ANSWER_MS = 1000,    /* after that a thread may block the signal; */
    ANSWER_SOON_MS = 100, /* the same without hooks, which keep it unblocked */
    LATE_NS = 250000,    /* a running thread usually answers before */
    ABANDONED_MS = 1000, /* a sample that takes longer belongs to a killed thread */
};

int col_ask_signal(const struct col_pacer *p, const struct col_paced_process *x)
{
    uint32_t sig = __atomic_load_n(&p->memory->process[x->number].signal, __ATOMIC_SEQ_CST);

    return sig == SIGURG || sig == SIGWINCH ? (int)sig : 0;
}

/* --- requests --- */

static bool is_asked(const struct col_pacer *p, const struct col_paced_thread *t)
{
    const struct agent_request *r = &p->memory->request[t->request];

    return t->asked_ns && __atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == AGENT_ASKED &&
           r->tid == (uint32_t)t->inner_tid && r->process == t->of->number;
}

void col_ask_forget(struct col_pacer *p, struct col_paced_thread *t)
{
    if (is_asked(p, t)) {
        __atomic_store_n(&p->memory->request[t->request].state, AGENT_FREE, __ATOMIC_RELEASE);
        t->owed -= t->owed > 0;
    }
    t->asked_ns = 0;
}

bool col_ask(struct col_pacer *p, struct col_paced_thread *t, int sig)
{
    struct col_schedstat counts = { 0 };
    struct agent_request *r;
    uint32_t i = 0;

    do {
        if (i == AGENT_PROBES)
            return false;
        t->request = ((uint32_t)t->inner_tid + i++) % AGENT_REQUESTS;
        r = &p->memory->request[t->request];
    } while (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) != AGENT_FREE);
    r->process = t->of->number;
    r->tid = (uint32_t)t->inner_tid;
    col_paced_counts(t, &counts);
    t->queued_ns = counts.queue_ns;
    t->asked_ns = clock_mono_ns();
    t->owed++;
    __atomic_store_n(&r->state, AGENT_ASKED, __ATOMIC_SEQ_CST);
    /* The process may have changed its mind, and now waits for the requests that it sees. */
    if (col_ask_signal(p, t->of) != sig) {
        col_ask_forget(p, t);
        return false;
    }
    if (syscall(SYS_tgkill, t->of->pid, t->tid, sig) == 0)
        return true;
    t->silent = errno == EPERM; /* it changed its user */
    p->silent += t->silent;
    t->gone = errno == ESRCH;
    col_ask_forget(p, t);
    return false;
}

/* T blocks signal SIG.  A thread may also be silent because it waits for a CPU. */
static bool is_blocked(const struct col_paced_thread *t, int sig)
{
    char path[96], text[4096], *at;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%d/status", t->of->pid, t->tid);
    if (map_read_text(path, text, sizeof text) < 0 || !(at = strstr(text, "\nSigBlk:")))
        return false;
    return strtoull(at + 8, NULL, 16) >> (sig - 1) & 1;
}

bool col_ask_is_open(struct col_pacer *p, struct col_paced_thread *t, int sig, uint64_t now)
{
    uint64_t patience_ns = t->of->hooked ? ANSWER_MS : ANSWER_SOON_MS;

    patience_ns *= COL_PACED_NS_PER_MS;
    if (t->asked_ns && now > t->asked_ns + patience_ns) {
        /* Else it waits for a CPU, or the signal was lost: ask again. */
        if (is_blocked(t, sig)) {
            t->silent = true;
            p->silent++;
        }
        col_ask_forget(p, t);
    }
    return is_asked(p, t);
}

/* --- answers --- */

static struct col_paced_thread *thread_of(const struct col_pacer *p, const struct agent_sample *s)
{
    for (size_t i = 0; i < p->process.n; i++)
        if (p->process.v[i]->way == COL_PACED_ASKED && p->process.v[i]->number == s->process)
            return col_paced_find_inner(p->process.v[i], (int)s->tid);
    return NULL; /* it has ended */
}

/* T did not run when it was asked, but waited for a CPU, until TIME_NS.  Samples must not show
 * where threads wait for a CPU: that is often behind a system call that made them sleep. */
static bool was_queued(struct col_paced_thread *t, uint64_t time_ns)
{
    uint64_t late_ns = time_ns > t->asked_ns ? time_ns - t->asked_ns : 0;
    struct col_schedstat now;

    return t->asked_ns && late_ns > LATE_NS && col_paced_counts(t, &now) &&
           now.queue_ns - t->queued_ns > late_ns / 2;
}

static void take_sample(struct col_pacer *p, uint32_t i, uint64_t now)
{
    const struct agent_sample *s = &p->memory->sample[i];
    struct col_paced_thread *t = thread_of(p, s);
    uint32_t n = __atomic_load_n(&s->stack_bytes, __ATOMIC_RELAXED), maps = s->maps;
    uint64_t time_ns = __atomic_load_n(&s->time_ns, __ATOMIC_RELAXED);
    bool knows_time = time_ns && time_ns <= now; /* a careful agent cannot ask for it */
    struct col_batch_event *e;

    if (!t || !t->owed) /* a program may write more samples than were asked for */
        return;
    t->owed--;
    if (!knows_time)
        time_ns = now;
    /* It is asked again soon, and has the more weight. */
    if ((knows_time && was_queued(t, time_ns)) ||
        (s->cpu_ns && s->cpu_ns - t->cpu_ns < p->period_ns / 2))
        return;
    if (maps != t->of->maps) {
        t->of->maps = maps;
        col_code_changed(t->of, &p->batch, time_ns);
    }
    col_code_need(t->of, s->pc, &p->batch, time_ns);
    if (p->watch)
        col_watch_sample(p, t, time_ns, s->cpu_ns);
    e = col_batch_add(&p->batch, COL_BATCH_SAMPLE, time_ns, agent_stack_of(p->memory, i),
                      n < agent_stack_room(i) ? n : agent_stack_room(i));
    if (!e) {
        p->lost++;
        return;
    }
    e->pid = t->of->pid;
    e->tid = t->tid;
    e->regs = (struct unw_regs){ .pc = s->pc, .sp = s->sp, .fp = s->fp, .lr = s->lr, .bx = s->bx,
                                 .r10 = s->r10 };
    e->weight = col_paced_weight(t, s->cpu_ns);
    t->has_sample = true;
    p->samples++;
}

void col_ask_collect(struct col_pacer *p, uint64_t now)
{
    struct agent_memory *m = p->memory;

    for (uint32_t i = 0; m && i < AGENT_SAMPLES; i++) {
        uint32_t state = __atomic_load_n(&m->sample_state[i], __ATOMIC_ACQUIRE);

        if (state == AGENT_FREE) {
            p->sample_ns[i] = 0;
            continue;
        }
        if (state == AGENT_DONE)
            take_sample(p, i, now);
        else if (!p->sample_ns[i])
            p->sample_ns[i] = now;
        if (state == AGENT_DONE ||
            now - p->sample_ns[i] > ABANDONED_MS * (uint64_t)COL_PACED_NS_PER_MS)
            __atomic_store_n(&m->sample_state[i], AGENT_FREE, __ATOMIC_RELEASE);
    }
}
