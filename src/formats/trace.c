/* trace.c - see trace.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_tags.h"
#include "formats/slices.h"

static struct trace_track track_of(const struct profile *p, uint32_t thread)
{
    struct trace_track t = { 0, 0, "", "" };
    const struct thread *x = thread ? &p->thread.v[thread - 1] : NULL;

    if (!x)
        return t;
    t.tid = x->tid;
    t.name = profile_string(p, x->name);
    if (x->process) {
        t.pid = p->process.v[x->process - 1].pid;
        t.process = profile_string(p, p->process.v[x->process - 1].name);
    }
    return t;
}

struct order {
    uint32_t thread;
    size_t span;
    uint64_t start, duration;
};

static int by_start(const void *a, const void *b)
{
    const struct order *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->duration != y->duration)
        return x->duration > y->duration ? -1 : 1;
    return x->span < y->span ? -1 : x->span > y->span;
}

static void write_spans(struct trace_writer *w, bool *has_spans)
{
    const struct profile *p = w->p;
    struct order *v = mem_alloc((p->span.n + 1) * sizeof *v);
    uint32_t *flow = an_tags_with(p, TAG_FLOW);

    for (size_t i = 0; i < p->span.n; i++)
        v[i] = (struct order){ p->span.v[i].thread, i, p->span.v[i].start_ns,
                               p->span.v[i].duration_ns };
    qsort(v, p->span.n, sizeof *v, by_start);
    for (size_t i = 0; i < p->span.n; i++) {
        const struct span *s = &p->span.v[v[i].span];
        struct trace_track track = track_of(p, s->thread);
        uint32_t tag = flow[s->tags];

        if (i == 0 || v[i].thread != v[i - 1].thread)
            w->track(w, &track);
        has_spans[s->thread] = true;
        w->call(w, &(struct trace_call){ profile_string(p, s->name),
                                         profile_string(p, s->detail), s->start_ns,
                                         s->duration_ns, 0, s->tags,
                                         tag ? &p->tag.v[tag - 1].value : NULL });
    }
    free(flow);
    free(v);
}

static void write_run(struct trace_writer *w, struct an_labels *l, const struct timeline *t,
                      const struct timeline_run *r, bool is_time, bool beside)
{
    struct trace_track track = track_of(w->p, r->thread);
    struct slices s = { 0 };
    char name[320];

    if (beside) {
        snprintf(name, sizeof name, "%.255s (samples)", track.name);
        track.name = name;
        track.tid += TRACE_SAMPLES_TID;
    }
    w->track(w, &track);
    slices_add(&s, l, t, r, is_time);
    for (size_t i = 0; i < s.v.n; i++) {
        const struct slice *x = &s.v.v[i];

        w->call(w, &(struct trace_call){ an_labels_get(l, x->label).name, "", x->start_ns,
                                         x->duration_ns, x->depth, x->tags, NULL });
    }
    slices_release(&s);
}

/* A profile without a metric is a trace of its zones alone. */
static void write_samples(struct trace_writer *w, const struct an_view *v, const bool *has_spans)
{
    uint32_t metric = export_metric(v, NULL);
    uint32_t flags = metric ? w->p->metric.v[metric - 1].flags : 0;
    struct timeline t;
    struct an_labels l;
    bool is_time;

    if (!metric || (w->p->span.n && (flags & METRIC_EXACT) && !(flags & METRIC_OFF_CPU)))
        return;
    is_time = timeline_is_time(w->p, metric);
    an_labels_init(&l, w->p);
    timeline_build(&t, v, TIMELINE_TAGS);
    for (size_t i = 0; i < t.run.n; i++)
        write_run(w, &l, &t, &t.run.v[i], is_time, has_spans[t.run.v[i].thread]);
    timeline_release(&t);
    an_labels_release(&l);
}

void trace_write(struct trace_writer *w, const struct an_view *v)
{
    const struct profile *p = v->profile;
    bool *has_spans = mem_zalloc(p->thread.n + 1);
    write_spans(w, has_spans);
    write_samples(w, v, has_spans);
    for (size_t i = 0; i < p->counter.n; i++) {
        uint32_t process = p->counter.v[i].process;

        w->counter(w, process ? p->process.v[process - 1].pid : 0, &p->counter.v[i]);
    }
    free(has_spans);
}
