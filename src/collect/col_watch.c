/* col_watch.c - see col_watch.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_watch.h"

#include <stdlib.h>

#include "base/clock.h"
#include "collect/col_reader.h"
#include "collect/col_schedstat.h"

enum {
    GLANCE_MS = 5,  /* between stacks of a thread with short waits */
    MOST_LOOKS = 20, /* per tick, before threads that wait are looked at more rarely */
    MOST_STACKS = 2, /* per tick */
    ONE = 1024,      /* in units of `slower` */
    MOST_SLOWER = 64 * ONE,
    TRIES = 3,
};

struct col_watch {
    struct col_reader *reader;
    uint64_t seed;      /* of the time between looks */
    uint64_t unsure_ns;
    uint32_t looks, stacks; /* in this tick */
    uint32_t slower;    /* how much rarer looks have become */
};

struct col_watch *col_watch_new(void)
{
    struct col_watch *w = mem_zalloc(sizeof *w);

    w->seed = clock_mono_ns() | 1;
    w->reader = col_reader_new();
    if (w->reader)
        return w;
    free(w);
    return NULL;
}

void col_watch_free(struct col_watch *w)
{
    if (w)
        col_reader_free(w->reader);
    free(w);
}

uint64_t col_watch_unsure(const struct col_watch *w)
{
    return w->unsure_ns;
}

/* --- steps --- */

static void tell(struct col_pacer *p, struct col_paced_thread *t, const struct col_offcpu_steps *s)
{
    static const enum col_batch_kind kinds[] = { [COL_OFFCPU_LEAVES] = COL_BATCH_LEAVES,
                                                 [COL_OFFCPU_QUEUES] = COL_BATCH_QUEUES,
                                                 [COL_OFFCPU_RETURNS] = COL_BATCH_RETURNS };

    for (size_t i = 0; i < s->n; i++) {
        struct col_batch_event *e = col_batch_add(&p->batch, kinds[s->v[i].kind], s->v[i].time_ns,
                                                  NULL, 0);

        e->pid = t->of->pid;
        e->tid = t->tid;
        e->call = s->v[i].call;
    }
    p->watch->unsure_ns += t->watch.off.unsure_ns;
    t->watch.off.unsure_ns = 0;
}

void col_watch_sample(struct col_pacer *p, struct col_paced_thread *t, uint64_t time_ns,
                      uint64_t cpu_ns)
{
    struct col_offcpu_look l = { .time_ns = time_ns };
    struct col_offcpu_steps s;
    struct col_schedstat c;

    if (!col_paced_counts(t, &c))
        return;
    l.cpu_ns = cpu_ns ? cpu_ns : c.cpu_ns;
    l.queue_ns = c.queue_ns;
    l.turns = c.turns;
    col_offcpu_look(&t->watch.off, &l, &s);
    tell(p, t, &s);
}

void col_watch_end(struct col_pacer *p, struct col_paced_thread *t, uint64_t from_ns,
                   uint64_t to_ns)
{
    struct col_offcpu_steps s;

    if (!p->watch)
        return;
    col_offcpu_end(&t->watch.off, from_ns, to_ns, &s);
    tell(p, t, &s);
}

void col_watch_end_all(struct col_pacer *p, struct col_paced_process *x, uint64_t now)
{
    uint64_t seen_ns = 0;

    for (size_t i = 0; i < x->thread.n; i++) {
        uint64_t last = x->thread.v[i]->watch.off.last.time_ns;

        seen_ns = last > seen_ns ? last : seen_ns;
    }
    for (size_t i = 0; i < x->thread.n; i++)
        col_watch_end(p, x->thread.v[i], seen_ns, now);
}

/* --- stacks --- */

/* Ask for the stack of T, which was seen in the same wait before, or not, if IS_NEW. */
static void ask_stack(struct col_pacer *p, struct col_paced_thread *t, bool is_new)
{
    struct col_watched *x = &t->watch;
    const struct col_offcpu_look *last = &x->off.last;
    struct col_reader_request q = { .pid = t->of->pid, .tid = t->tid, .time_ns = last->time_ns,
                                    .pc = x->wait.pc, .sp = x->wait.sp, .turns = last->turns,
                                    .call = last->call };

    if (x->asked_turns == last->turns || !q.sp || p->watch->stacks == MOST_STACKS)
        return;
    if (is_new && last->time_ns - x->stack_ns < GLANCE_MS * (uint64_t)COL_PACED_NS_PER_MS)
        return;
    if (!col_reader_ask(p->watch->reader, &q, last->time_ns))
        return;
    x->asked_turns = last->turns;
    p->watch->stacks++;
}

static void note_stack(const struct col_pacer *p, const struct col_reader_request *q)
{
    for (size_t i = 0; i < p->process.n; i++) {
        struct col_paced_process *x = p->process.v[i];
        struct col_paced_thread *t = x->pid == q->pid ? col_paced_find(x, (int)q->tid) : NULL;

        if (t)
            t->watch.stack_ns = q->time_ns;
    }
}

/* Looks become rarer by degrees while there are too many, and frequent again more slowly. */
static void adapt(struct col_watch *w)
{
    if (w->looks > MOST_LOOKS && w->slower < MOST_SLOWER)
        w->slower += w->slower / 16 + ONE / 16;
    else if (w->looks <= MOST_LOOKS)
        w->slower -= (w->slower + 63) / 64;
    w->looks = w->stacks = 0;
}

void col_watch_collect(struct col_pacer *p)
{
    const struct col_reader_answer *a;

    adapt(p->watch);
    while ((a = col_reader_next(p->watch->reader))) {
        struct col_batch_event *e = NULL;

        if (a->n)
            e = col_batch_add(&p->batch, COL_BATCH_LOOK, a->of.time_ns, a->bytes, a->n);
        if (!e)
            continue;
        e->pid = a->of.pid;
        e->tid = a->of.tid;
        e->call = a->of.call;
        e->regs = (struct unw_regs){ .pc = a->of.pc, .sp = a->of.sp };
        note_stack(p, &a->of);
    }
}

/* --- looks --- */

static bool is_same_wait(const struct col_offcpu *o, const struct col_schedstat *c)
{
    return o->last.waits && c->turns == o->last.turns;
}

static void see_wait(struct col_pacer *p, struct col_paced_thread *t, const struct col_schedstat *c)
{
    struct col_watched *x = &t->watch;
    struct col_offcpu_look l = { .time_ns = clock_mono_ns(), .cpu_ns = c->cpu_ns,
                                 .queue_ns = c->queue_ns, .turns = c->turns, .waits = true,
                                 .call = x->wait.call };
    struct col_offcpu_steps s;
    bool is_new = col_offcpu_look(&x->off, &l, &s);

    tell(p, t, &s);
    ask_stack(p, t, is_new);
}

/* A thread that gets a CPU between the reads is looked at again, and so are its counts. */
enum col_paced_state col_watch_look(struct col_pacer *p, struct col_paced_thread *t)
{
    struct col_schedstat c;
    uint64_t turns;

    p->watch->looks++;
    if (!col_paced_counts(t, &c))
        return COL_PACED_ENDED;
    for (int i = 0; !is_same_wait(&t->watch.off, &c) && i < TRIES; i++) {
        enum col_paced_state state;

        t->watch.wait = (struct col_proc_wait){ .call = COL_OFFCPU_NO_CALL };
        state = col_paced_state(t, &t->watch.wait);
        turns = c.turns;
        if (state != COL_PACED_WAITS || !col_paced_counts(t, &c))
            return state;
        if (c.turns == turns)
            break;
        if (i == TRIES - 1)
            return COL_PACED_RUNS;
    }
    see_wait(p, t, &c);
    return COL_PACED_WAITS;
}

uint64_t col_watch_rest(struct col_pacer *p, const struct col_paced_thread *t, uint64_t now)
{
    struct col_watch *w = p->watch;

    w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
    return col_offcpu_rest(&t->watch.off, now, p->period_ns, w->seed >> 40) * (ONE + w->slower) /
           ONE;
}

void col_watch_stop(struct col_pacer *p, uint64_t now)
{
    for (size_t i = 0; i < p->process.n; i++)
        for (size_t k = 0; k < p->process.v[i]->thread.n; k++)
            if (col_watch_look(p, p->process.v[i]->thread.v[k]) == COL_PACED_ENDED)
                col_watch_end(p, p->process.v[i]->thread.v[k], 0, now);
    col_watch_collect(p);
}
