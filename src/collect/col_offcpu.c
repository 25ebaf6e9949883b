/* col_offcpu.c - see col_offcpu.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_offcpu.h"

static const uint64_t small_ns = 100000; /* shorter steps are not worth a record */
static const uint64_t longest_rest_ns = 256000000;

struct gap { /* the time between two looks */
    uint64_t blocked_ns, queued_ns;
    uint64_t turns;
};

static uint64_t grown(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A thread that never left its CPU has lost it to a hypervisor.  What is counted at a sample may
 * be newer than the sample, so compare with the look before. */
static bool kept_its_cpu(const struct col_offcpu *o, const struct col_offcpu_look *l)
{
    return !o->last.waits && !l->waits && l->turns && l->turns == o->turns_before;
}

static struct gap gap_of(struct col_offcpu *o, const struct col_offcpu_look *l)
{
    uint64_t span = grown(l->time_ns, o->last.time_ns);
    uint64_t off = grown(span, grown(l->cpu_ns, o->last.cpu_ns)) + o->small_ns;
    struct gap g = { .turns = grown(l->turns, o->last.turns) };

    o->small_ns = grown(off, span);
    off -= o->small_ns;
    o->queued_ns += grown(l->queue_ns, o->last.queue_ns);
    g.queued_ns = kept_its_cpu(o, l) ? off : smaller(off, o->queued_ns);
    o->queued_ns = grown(o->queued_ns, g.queued_ns);
    g.blocked_ns = off - g.queued_ns;
    if (g.queued_ns < small_ns) {
        g.blocked_ns += g.queued_ns;
        g.queued_ns = 0;
    } else if (g.blocked_ns < small_ns && !o->last.waits && !l->waits) {
        g.queued_ns += g.blocked_ns;
        g.blocked_ns = 0;
    }
    return g;
}

static void add_step(struct col_offcpu_steps *s, enum col_offcpu_kind kind, uint64_t time_ns,
                     long call)
{
    s->v[s->n++] = (struct col_offcpu_step){ kind, time_ns, call };
}

static void add_queue(struct col_offcpu_steps *s, uint64_t from_ns, uint64_t queued_ns)
{
    if (!queued_ns)
        return;
    add_step(s, COL_OFFCPU_QUEUES, from_ns, 0);
    add_step(s, COL_OFFCPU_RETURNS, from_ns + queued_ns, 0);
}

/* All waits of the gap were seen, and it is known what each took. */
static bool is_sure(const struct col_offcpu *o, const struct col_offcpu_look *l,
                    const struct gap *g)
{
    return g->turns + l->waits == 1 && o->last.waits != l->waits;
}

/* The wait of the last look ends, and waits that were not seen, and time in the run queue. */
static void add_first(struct col_offcpu *o, const struct gap *g, uint64_t blocked_ns,
                      struct col_offcpu_steps *s)
{
    uint64_t from = o->last.time_ns;

    if (!o->last.waits && blocked_ns)
        add_step(s, COL_OFFCPU_LEAVES, from, COL_OFFCPU_NO_CALL);
    if (o->last.waits || blocked_ns)
        add_step(s, COL_OFFCPU_RETURNS, from + blocked_ns, 0);
    add_queue(s, from + blocked_ns, g->queued_ns);
}

static void add_steps(struct col_offcpu *o, const struct col_offcpu_look *l, const struct gap *g,
                      struct col_offcpu_steps *s)
{
    uint64_t first = !l->waits ? g->blocked_ns : o->last.waits ? g->blocked_ns / 2 : 0;

    if (!o->last.waits && !l->waits && g->blocked_ns + g->queued_ns < small_ns) {
        o->small_ns += g->blocked_ns + g->queued_ns;
        return;
    }
    o->unsure_ns += is_sure(o, l, g) ? 0 : g->blocked_ns;
    add_first(o, g, first, s);
    if (!l->waits)
        return;
    o->since_ns = l->time_ns - (g->blocked_ns - first);
    add_step(s, COL_OFFCPU_LEAVES, o->since_ns, l->call);
}

bool col_offcpu_look(struct col_offcpu *o, const struct col_offcpu_look *l,
                     struct col_offcpu_steps *s)
{
    bool first = !o->last.time_ns, same = l->waits && o->last.waits && l->turns == o->last.turns;

    s->n = 0;
    if (first && l->waits) {
        o->since_ns = l->time_ns;
        add_step(s, COL_OFFCPU_LEAVES, l->time_ns, l->call);
    } else if (!first && !same) {
        struct gap g = gap_of(o, l);

        add_steps(o, l, &g, s);
    }
    o->turns_before = o->last.turns;
    o->last = *l;
    return l->waits && !same;
}

void col_offcpu_end(struct col_offcpu *o, uint64_t from_ns, uint64_t to_ns,
                    struct col_offcpu_steps *s)
{
    uint64_t last = o->last.time_ns;

    s->n = 0;
    if (!o->last.waits)
        return;
    if (from_ns < last)
        from_ns = last;
    o->last.time_ns = smaller(from_ns + grown(to_ns, from_ns) / 2, to_ns);
    o->last.waits = false;
    add_step(s, COL_OFFCPU_RETURNS, o->last.time_ns, 0);
}

uint64_t col_offcpu_rest(const struct col_offcpu *o, uint64_t now_ns, uint64_t least_ns,
                         uint64_t random)
{
    uint64_t rest = smaller(grown(now_ns, o->since_ns) / 8, longest_rest_ns);

    rest = rest * (512 + random % 1024) / 1024;
    return rest > least_ns ? rest : least_ns;
}
