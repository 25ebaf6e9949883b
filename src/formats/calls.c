/* calls.c - see calls.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/calls.h"

#include <stdlib.h>

#include "base/sat.h"
#include "base/sort.h"

struct open { /* a call that is open at the current time of the sweep */
    uint64_t end, self_ns;
    uint32_t stack;
    const struct call *call;
};

struct sweep {
    struct intern *in;
    VEC(struct open) open;
    uint32_t thread, metric;
};

static bool starts_before(const struct call *x, const struct call *y)
{
    return x->start_ns != y->start_ns ? x->start_ns < y->start_ns : x->duration_ns > y->duration_ns;
}

size_t calls_add(struct calls *c, uint32_t thread, const struct call *call)
{
    struct calls_of_thread *t;

    while (c->thread.n <= thread)
        *vec_add(&c->thread) = (struct calls_of_thread){ 0 };
    t = &c->thread.v[thread];
    if (t->v.n && starts_before(call, &t->v.v[t->v.n - 1]))
        t->unsorted = true;
    vec_push(&t->v, *call);
    return t->v.n - 1;
}

void calls_end(struct calls *c, uint32_t thread, size_t call, uint64_t end_ns)
{
    struct calls_of_thread *t = &c->thread.v[thread];
    struct call *x = &t->v.v[call];

    x->duration_ns = end_ns > x->start_ns ? end_ns - x->start_ns : 0;
    t->unsorted |= call + 1 < t->v.n && starts_before(x + 1, x);
}

static int by_start(const void *a, const void *b)
{
    return starts_before(a, b) ? -1 : starts_before(b, a);
}

static void close_call(struct sweep *s)
{
    struct open *o = &s->open.v[--s->open.n];
    const struct call *c = o->call;
    struct sample m = { .start_ns = c->start_ns, .duration_ns = o->end - c->start_ns,
                        .thread = s->thread, .stack = o->stack, .metric = s->metric, .cpu = -1,
                        .count = 1, .tags = c->tags };

    m.weight = sat_of_u64(o->self_ns);
    if (m.weight)
        sink_sample(s->in->out, &m);
}

static void open_call(struct sweep *s, const struct call *c)
{
    struct open *parent = s->open.n ? &s->open.v[s->open.n - 1] : NULL;
    struct open o = { .end = c->start_ns + c->duration_ns, .call = c };

    if (parent && o.end > parent->end)
        o.end = parent->end;
    o.self_ns = o.end - c->start_ns;
    o.stack = intern_stack(s->in, parent ? parent->stack : 0, c->frame);
    if (parent)
        parent->self_ns -= o.self_ns < parent->self_ns ? o.self_ns : parent->self_ns;
    vec_push(&s->open, o);
    sink_span(s->in->out, &(struct span){ .start_ns = c->start_ns,
                                          .duration_ns = c->duration_ns, .thread = s->thread,
                                          .name = c->name, .stack = o.stack,
                                          .detail = c->detail, .tags = c->tags });
}

static void write_thread(struct sweep *s, const struct calls_of_thread *t)
{
    for (size_t i = 0; i < t->v.n; i++) {
        const struct call *c = &t->v.v[i];

        while (s->open.n && s->open.v[s->open.n - 1].end <= c->start_ns)
            close_call(s);
        open_call(s, c);
    }
    while (s->open.n)
        close_call(s);
}

void calls_write(struct calls *c, struct intern *in)
{
    struct sweep s = { .in = in };

    s.metric = intern_metric(in, &(struct metric){ .name = intern_cstr(in, "time"),
                                                   .unit = intern_cstr(in, "ns"),
                                                   .flags = METRIC_EXACT });
    for (; s.thread < c->thread.n; s.thread++) {
        struct calls_of_thread *t = &c->thread.v[s.thread];

        if (t->unsorted)
            sort_stable(t->v.v, t->v.n, sizeof *t->v.v, by_start);
        write_thread(&s, t);
    }
    vec_release(&s.open);
}

void calls_release(struct calls *c)
{
    for (size_t i = 0; i < c->thread.n; i++)
        vec_release(&c->thread.v[i].v);
    vec_release(&c->thread);
}
