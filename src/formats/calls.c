/* calls.c - see calls.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/calls.h"

#include <stdlib.h>

struct open { /* a call that is open at the current time of the sweep */
    uint64_t end, self_ns;
    uint32_t stack;
    size_t call;
};

struct sweep {
    struct intern *in;
    struct calls *calls;
    VEC(struct open) open;
    uint32_t metric;
};

static int by_nesting(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* Sort calls by thread; those of one thread keep their order. */
static void group_by_thread(struct calls *c, uint32_t n_threads)
{
    size_t *at = mem_zalloc(((size_t)n_threads + 2) * sizeof *at);
    struct calls parted = { 0 };

    vec_reserve(&parted.v, c->v.n);
    parted.v.n = c->v.n;
    for (size_t i = 0; i < c->v.n; i++)
        at[c->v.v[i].thread + 1]++;
    for (uint32_t i = 0; i < n_threads; i++)
        at[i + 1] += at[i];
    for (size_t i = 0; i < c->v.n; i++)
        parted.v.v[at[c->v.v[i].thread]++] = c->v.v[i];
    calls_release(c);
    *c = parted;
    free(at);
}

/* Most traces are sorted by time once they are split by thread. */
static void sort_calls(struct calls *c, uint32_t n_threads)
{
    for (size_t i = 0; i < c->v.n; i++)
        c->v.v[i].serial = i;
    group_by_thread(c, n_threads);
    for (size_t i = 1; i < c->v.n; i++)
        if (by_nesting(&c->v.v[i - 1], &c->v.v[i]) > 0) {
            qsort(c->v.v, c->v.n, sizeof *c->v.v, by_nesting);
            return;
        }
}

static void close_call(struct sweep *s)
{
    struct open *o = &s->open.v[--s->open.n];
    const struct call *c = &s->calls->v.v[o->call];
    struct sample m = { .start_ns = c->start_ns, .duration_ns = o->end - c->start_ns,
                        .thread = c->thread, .stack = o->stack, .metric = s->metric, .cpu = -1,
                        .count = 1, .tags = c->tags };

    m.weight = o->self_ns > INT64_MAX ? INT64_MAX : (int64_t)o->self_ns;
    if (m.weight)
        sink_sample(s->in->out, &m);
}

static void open_call(struct sweep *s, size_t i)
{
    const struct call *c = &s->calls->v.v[i];
    struct open *parent = s->open.n ? &s->open.v[s->open.n - 1] : NULL;
    struct open o = { .end = c->start_ns + c->duration_ns, .call = i };

    if (parent && o.end > parent->end)
        o.end = parent->end;
    o.self_ns = o.end - c->start_ns;
    o.stack = intern_stack(s->in, parent ? parent->stack : 0, c->frame);
    if (parent)
        parent->self_ns -= o.self_ns < parent->self_ns ? o.self_ns : parent->self_ns;
    vec_push(&s->open, o);
    sink_span(s->in->out, &(struct span){ .start_ns = c->start_ns,
                                          .duration_ns = c->duration_ns, .thread = c->thread,
                                          .name = c->name, .stack = o.stack,
                                          .detail = c->detail, .tags = c->tags });
}

void calls_write(struct calls *c, struct intern *in)
{
    struct sweep s = { .in = in, .calls = c };

    s.metric = intern_metric(in, &(struct metric){ .name = intern_cstr(in, "time"),
                                                   .unit = intern_cstr(in, "ns"),
                                                   .flags = METRIC_EXACT });
    sort_calls(c, in->n_threads);
    for (size_t i = 0; i < c->v.n; i++) {
        const struct call *x = &c->v.v[i];

        while (s.open.n && (s.open.v[s.open.n - 1].end <= x->start_ns ||
                            c->v.v[s.open.v[s.open.n - 1].call].thread != x->thread))
            close_call(&s);
        open_call(&s, i);
    }
    while (s.open.n)
        close_call(&s);
    vec_release(&s.open);
}

void calls_release(struct calls *c)
{
    vec_release(&c->v);
}
