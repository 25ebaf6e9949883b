/* trace.c - see trace.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_tags.h"
#include "base/buf.h"
#include "base/hash.h"
#include "formats/slices.h"

/* A track has one name, but a process or thread may have had several: "sh, prog". */
struct names {
    struct umap at; /* pid and tid -> index in v + 1 */
    VEC(struct buf) v;
};
enum { MOST_NAMES = 240 }; /* bytes */

static uint64_t pid_of(const struct profile *p, const struct thread *t)
{
    return t->process ? (uint64_t)p->process.v[t->process - 1].pid : 0;
}

static void add_name(struct names *s, uint64_t key, const char *name)
{
    uint32_t at = umap_find(&s->at, key);
    const char *known;
    size_t n = strlen(name);

    if (!at) {
        vec_push(&s->v, ((struct buf){ 0 }));
        at = (uint32_t)s->v.n;
        umap_put(&s->at, key, at);
        buf_str(&s->v.v[at - 1], name);
        return;
    }
    for (known = buf_text(&s->v.v[at - 1]); known; known = strstr(known, ", ")) {
        known += strncmp(known, ", ", 2) == 0 ? 2 : 0;
        if (strncmp(known, name, n) == 0 && (!known[n] || strncmp(known + n, ", ", 2) == 0))
            return;
    }
    if (n && s->v.v[at - 1].n + n < MOST_NAMES)
        buf_printf(&s->v.v[at - 1], "%s%s", s->v.v[at - 1].n ? ", " : "", name);
}

/* Keys of a process and a thread; a thread without a process has the pid 0. */
static uint64_t process_key(uint64_t pid)
{
    return hash_pair(pid, 1);
}

static uint64_t thread_key(uint64_t pid, int64_t tid)
{
    return hash_pair(hash_pair(pid, (uint64_t)tid), 2);
}

static void find_names(struct names *s, const struct profile *p)
{
    *s = (struct names){ 0 };
    for (size_t i = 0; i < p->thread.n; i++) {
        const struct thread *t = &p->thread.v[i];
        uint64_t pid = pid_of(p, t);

        add_name(s, thread_key(pid, t->tid), profile_string(p, t->name));
        if (t->process)
            add_name(s, process_key(pid), profile_string(p, p->process.v[t->process - 1].name));
    }
}

static const char *name_at(struct names *s, uint64_t key)
{
    return buf_text(&s->v.v[umap_find(&s->at, key) - 1]);
}

static void names_release(struct names *s)
{
    for (size_t i = 0; i < s->v.n; i++)
        buf_release(&s->v.v[i]);
    vec_release(&s->v);
    umap_release(&s->at);
}

static struct trace_track track_of(const struct profile *p, struct names *s, uint32_t thread)
{
    struct trace_track t = { 0, 0, "", "" };
    const struct thread *x = thread ? &p->thread.v[thread - 1] : NULL;

    if (!x)
        return t;
    t.pid = (int64_t)pid_of(p, x);
    t.tid = x->tid;
    /* Only numbers identify items of one thread. */
    t.name = t.pid || t.tid ? name_at(s, thread_key((uint64_t)t.pid, t.tid))
                            : profile_string(p, x->name);
    if (x->process)
        t.process = t.pid ? name_at(s, process_key((uint64_t)t.pid))
                          : profile_string(p, p->process.v[x->process - 1].name);
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

static void write_spans(struct trace_writer *w, struct names *names, bool *has_spans)
{
    const struct profile *p = w->p;
    struct order *v = mem_alloc((p->span.n + 1) * sizeof *v);
    uint32_t *flow = an_tags_with(p, TAG_FLOW);

    for (size_t i = 0; i < p->span.n; i++)
        v[i] = (struct order){ p->span.v[i].thread, i, p->span.v[i].start_ns,
                               p->span.v[i].duration_ns };
    qsort(v, p->span.n, sizeof *v, by_start);
    for (size_t i = 0; i < p->span.n && !w->out->failed; i++) {
        const struct span *s = &p->span.v[v[i].span];
        struct trace_track track = track_of(p, names, s->thread);
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

static int write_run(struct trace_writer *w, struct names *names, struct an_labels *l,
                     const struct timeline *t, const struct timeline_run *r, bool is_time,
                     bool beside, struct err *e)
{
    struct trace_track track = track_of(w->p, names, r->thread);
    struct slices s;
    char name[320];
    int rc;

    if (beside) {
        snprintf(name, sizeof name, "%.255s (samples)", track.name);
        track.name = name;
        track.tid += TRACE_SAMPLES_TID;
    }
    w->track(w, &track);
    slices_init(&s);
    rc = slices_add(&s, l, t, r, is_time, e);
    for (size_t i = 0; i < s.v.n; i++) {
        const struct slice *x = &s.v.v[i];

        w->call(w, &(struct trace_call){ an_labels_get(l, x->label).name, "", x->start_ns,
                                         x->duration_ns, x->depth, x->tags, NULL });
    }
    slices_release(&s);
    return rc;
}

/* A profile without a metric is a trace of its zones alone. */
static int write_samples(struct trace_writer *w, struct names *names, const struct an_view *v,
                         const bool *has_spans, struct err *e)
{
    uint32_t metric = export_metric(v, NULL);
    uint32_t flags = metric ? w->p->metric.v[metric - 1].flags : 0;
    struct timeline t;
    struct an_labels l;
    bool is_time;
    int rc = 0;

    if (!metric || (w->p->span.n && (flags & METRIC_EXACT) && !(flags & METRIC_OFF_CPU)))
        return 0;
    is_time = timeline_is_time(w->p, metric);
    an_labels_init(&l, w->p);
    timeline_build(&t, v, TIMELINE_TAGS);
    for (size_t i = 0; i < t.run.n && !w->out->failed && rc == 0; i++)
        rc = write_run(w, names, &l, &t, &t.run.v[i], is_time, has_spans[t.run.v[i].thread], e);
    timeline_release(&t);
    an_labels_release(&l);
    return rc;
}

int trace_write(struct trace_writer *w, const struct an_view *v, struct err *e)
{
    const struct profile *p = v->profile;
    bool *has_spans = mem_zalloc(p->thread.n + 1);
    struct names names;
    int rc;

    find_names(&names, p);
    write_spans(w, &names, has_spans);
    rc = write_samples(w, &names, v, has_spans, e);
    for (size_t i = 0; i < p->counter.n && !w->out->failed; i++) {
        uint32_t process = p->counter.v[i].process;

        w->counter(w, process ? p->process.v[process - 1].pid : 0, &p->counter.v[i]);
    }
    names_release(&names);
    free(has_spans);
    return rc;
}
