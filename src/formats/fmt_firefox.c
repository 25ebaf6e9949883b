/* fmt_firefox.c - export to the Firefox Profiler's processed profile, version 54.  The profiler
 * upgrades it when it loads it.  firefox_tables.c holds the tables of functions, frames and stacks.
 *
 * Samples carry the weights of one metric, and waits too if both were recorded.  Samples without
 * times are placed one millisecond apart.  Spans become markers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "formats/firefox_tables.h"
#include "formats/formats.h"
#include "formats/tags.h"
#include "formats/timeline.h"

enum { VERSION = 54, GECKO_VERSION = 24 };

struct writer {
    struct json j;
    const struct profile *p;
    struct an_symbols symbols;
    struct firefox_tables t; /* of the current thread */
    struct timeline line;
    uint32_t metric;
    uint64_t start_ns;
    VEC(uint32_t) thread;      /* those written, in order */
    VEC(size_t) run_of;        /* by thread id: its run + 1, 0 when it has no samples */
    VEC(uint32_t) span;        /* indexes of all spans, by thread */
    VEC(size_t) first_span_of; /* by thread id, one more at the end */
};

static double milliseconds(const struct writer *w, uint64_t ns)
{
    return ns > w->start_ns ? (double)(ns - w->start_ns) / 1e6 : 0;
}

static void put_empty(struct json *j, const char *key)
{
    json_key(j, key);
    json_array(j);
    json_end_array(j);
}

/* --- a thread --------------------------------------------------------------------------- */

static void put_stack_of(struct writer *w, const struct timeline_item *v)
{
    uint32_t node = firefox_stack(&w->t, v->stack, v->waiting);

    if (node)
        json_u64(&w->j, node - 1);
    else
        json_null(&w->j);
}

/* Write nanoseconds as milliseconds, as the profiler does.  Sampled time is the CPU time since the
 * previous sample, which the profiler draws as the thread's load. */
static void put_weights(struct writer *w, const struct timeline_item *v, size_t n, bool timed)
{
    struct json *j = &w->j;
    const struct metric *m = &w->p->metric.v[w->metric - 1];
    bool is_bytes = strcmp(profile_string(w->p, m->unit), "bytes") == 0;

    if (!timeline_is_time(w->p, w->metric)) {
        json_put_str(j, "weightType", is_bytes ? "bytes" : "samples");
        firefox_column(j, "weight", n, json_i64(j, v[i].weight));
        return;
    }
    json_put_str(j, "weightType", "tracing-ms");
    firefox_column(j, "weight", n, json_num(j, (double)v[i].weight / 1e6, 6));
    if (timed && !(m->flags & METRIC_EXACT))
        firefox_column(j, "threadCPUDelta", n, json_i64(j, v[i].waiting ? 0 : v[i].weight));
}

static void put_samples(struct writer *w, const struct timeline_item *v, size_t n, bool timed)
{
    struct json *j = &w->j;

    json_key(j, "samples");
    json_object(j);
    json_put_u64(j, "length", n);
    firefox_column(j, "stack", n, put_stack_of(w, &v[i]));
    firefox_column(j, "time", n,
                   json_num(j, timed ? milliseconds(w, v[i].end_ns) : (double)i, 6));
    put_weights(w, v, n, timed);
    json_end_object(j);
}

static void put_marker_data(struct json *j, const struct profile *p, const struct span *s)
{
    const char *detail = profile_string(p, s->detail);

    json_object(j);
    tags_put_json(j, p, s->tags);
    json_put_str(j, "type", "zone");
    if (*detail)
        json_put_str(j, "detail", detail);
    json_end_object(j);
}

static void put_markers(struct writer *w, uint32_t thread)
{
    struct json *j = &w->j;
    const struct profile *p = w->p;
    const struct span *s = p->span.v;
    const uint32_t *own = w->span.v + w->first_span_of.v[thread];
    size_t n = w->first_span_of.v[thread + 1] - w->first_span_of.v[thread];

    json_key(j, "markers");
    json_object(j);
    json_put_u64(j, "length", n);
    firefox_column(j, "category", n, json_u64(j, 0));
    firefox_column(j, "data", n, put_marker_data(j, p, &s[own[i]]));
    firefox_column(j, "name", n,
                   json_u64(j, firefox_string(&w->t, profile_string(p, s[own[i]].name))));
    firefox_column(j, "startTime", n, json_num(j, milliseconds(w, s[own[i]].start_ns), 6));
    firefox_column(j, "endTime", n,
                   json_num(j, milliseconds(w, s[own[i]].start_ns + s[own[i]].duration_ns), 6));
    firefox_column(j, "phase", n, json_u64(j, 1));
    json_end_object(j);
}

static void put_number_text(struct json *j, const char *key, int64_t x)
{
    char *text = mem_printf("%lld", (long long)x);

    json_put_str(j, key, text);
    free(text);
}

static void put_end(struct json *j, const char *key, const struct writer *w, uint64_t end_ns)
{
    json_key(j, key);
    if (end_ns)
        json_num(j, milliseconds(w, end_ns), 6);
    else
        json_null(j);
}

static void put_thread_head(struct writer *w, uint32_t thread)
{
    struct json *j = &w->j;
    const struct thread *t = thread ? &w->p->thread.v[thread - 1] : NULL;
    const struct process *p = t && t->process ? &w->p->process.v[t->process - 1] : NULL;

    json_put_str(j, "name", t && t->name ? profile_string(w->p, t->name) : "thread");
    json_put_str(j, "processName", p ? profile_string(w->p, p->name) : "");
    json_put_str(j, "processType", "default");
    json_put_bool(j, "isMainThread", !p || p->pid == t->tid);
    put_number_text(j, "pid", p ? p->pid : 0);
    put_number_text(j, "tid", t ? t->tid : 0);
    json_put_num(j, "registerTime", t ? milliseconds(w, t->start_ns) : 0, 6);
    put_end(j, "unregisterTime", w, t ? t->end_ns : 0);
    json_put_num(j, "processStartupTime", p ? milliseconds(w, p->start_ns) : 0, 6);
    put_end(j, "processShutdownTime", w, p ? p->end_ns : 0);
    put_empty(j, "pausedRanges");
    json_put_bool(j, "showMarkersInTimeline", true);
}

static void put_thread(struct writer *w, uint32_t thread)
{
    struct timeline_run none = { .thread = thread }, *r = &none;

    if (w->run_of.v[thread])
        r = &w->line.run.v[w->run_of.v[thread] - 1];
    firefox_tables_init(&w->t, &w->symbols);
    json_object(&w->j);
    put_thread_head(w, thread);
    put_samples(w, w->line.item.v + r->first, r->n, r->timed);
    put_markers(w, thread);
    firefox_tables_put(&w->t, &w->j);
    json_end_object(&w->j);
    firefox_tables_release(&w->t);
}

/* --- counters --------------------------------------------------------------------------- */

static void put_counter_display(struct json *j, const char *name, const char *unit)
{
    json_key(j, "display");
    json_object(j);
    json_put_str(j, "graphType", "line-accumulated");
    json_put_str(j, "unit", unit);
    json_put_str(j, "color", "orange");
    json_key(j, "markerSchemaLocation");
    json_null(j);
    json_put_u64(j, "sortWeight", 20);
    json_put_str(j, "label", name);
    json_end_object(j);
}

/* Values are written as differences from the previous one; the profiler sums them. */
static void put_counter_samples(struct writer *w, const size_t *at, size_t n)
{
    struct json *j = &w->j;
    const struct counter *c = w->p->counter.v;

    json_key(j, "samples");
    json_object(j);
    json_put_u64(j, "length", n);
    firefox_column(j, "time", n, json_num(j, milliseconds(w, c[at[i]].time_ns), 6));
    firefox_column(j, "count", n, json_num(j, c[at[i]].value - (i ? c[at[i - 1]].value : 0), 6));
    json_end_object(j);
}

static void put_counter(struct writer *w, const size_t *at, size_t n)
{
    struct json *j = &w->j;
    const struct counter *c = &w->p->counter.v[at[0]];
    const char *unit = profile_string(w->p, c->unit);
    char *name = tags_counter_name(w->p, c);
    size_t thread = 0; /* index of a thread of the process */

    for (size_t i = w->thread.n; c->process && i--;)
        if (w->thread.v[i] && w->p->thread.v[w->thread.v[i] - 1].process == c->process)
            thread = i;
    json_object(j);
    json_put_str(j, "name", name);
    json_put_str(j, "category", strcmp(unit, "bytes") == 0 ? "Memory" : "fathom");
    json_put_str(j, "description", unit);
    put_number_text(j, "pid", c->process ? w->p->process.v[c->process - 1].pid : 0);
    json_put_u64(j, "mainThreadIndex", thread);
    put_counter_display(j, name, unit);
    put_counter_samples(w, at, n);
    json_end_object(j);
    free(name);
}

static int by_counter(const void *a, const void *b, void *profile)
{
    const struct profile *p = profile;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    const struct counter *x = &p->counter.v[i], *y = &p->counter.v[k];

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->tags != y->tags)
        return x->tags < y->tags ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return i < k ? -1 : i > k;
}

static bool is_same_counter(const struct counter *a, const struct counter *b)
{
    return a->process == b->process && a->name == b->name && a->tags == b->tags;
}

static void put_counters(struct writer *w)
{
    const struct counter *c = w->p->counter.v;
    size_t total = w->thread.n ? w->p->counter.n : 0; /* the profiler needs a thread for each */
    size_t *at = mem_alloc((total + 1) * sizeof *at);

    for (size_t i = 0; i < total; i++)
        at[i] = i;
    qsort_r(at, total, sizeof *at, by_counter, (void *)w->p);
    json_key(&w->j, "counters");
    json_array(&w->j);
    for (size_t i = 0, n; i < total; i += n) {
        for (n = 1; i + n < total && is_same_counter(&c[at[i + n]], &c[at[i]]);)
            n++;
        put_counter(w, at + i, n);
    }
    json_end_array(&w->j);
    free(at);
}

/* --- the profile ------------------------------------------------------------------------ */

static void put_marker_schema(struct json *j)
{
    static const char *const places[] = { "marker-chart", "marker-table", "timeline-overview" };

    json_key(j, "markerSchema");
    json_array(j);
    json_object(j);
    json_put_str(j, "name", "zone");
    json_put_str(j, "tooltipLabel", "{marker.name}");
    json_put_str(j, "tableLabel", "{marker.name} {marker.data.detail}");
    json_put_str(j, "chartLabel", "{marker.name}");
    json_put_bool(j, "isStackBased", true);
    firefox_column(j, "display", ARRAY_LEN(places), json_str(j, places[i]));
    json_key(j, "data");
    json_array(j);
    json_object(j);
    json_put_str(j, "key", "detail");
    json_put_str(j, "label", "Details");
    json_put_str(j, "format", "string");
    json_end_object(j);
    json_end_array(j);
    json_end_object(j);
    json_end_array(j);
}

static double interval_ms(const struct writer *w)
{
    uint64_t period = w->p->metric.v[w->metric - 1].period;
    double rate = profile_meta_number(w->p, "rate_asked", 1000);

    if (period && timeline_is_time(w->p, w->metric))
        return (double)period / 1e6;
    return rate > 0 ? 1000 / rate : 1;
}

static void put_meta(struct writer *w, const struct export_options *o)
{
    struct json *j = &w->j;
    const char *title = o->title ? o->title : profile_meta(w->p, "command");

    json_key(j, "meta");
    json_object(j);
    firefox_categories_put(j);
    json_put_bool(j, "debug", false);
    json_put_num(j, "interval", interval_ms(w), 6);
    json_put_u64(j, "preprocessedProfileVersion", VERSION);
    json_put_u64(j, "version", GECKO_VERSION);
    json_put_u64(j, "processType", 0);
    json_put_str(j, "product", *title ? title : "fathom");
    json_put_str(j, "importedFrom", "fathom");
    json_put_u64(j, "startTime", 0);
    json_put_u64(j, "stackwalk", 1);
    json_put_bool(j, "symbolicated", true);
    json_put_bool(j, "usesOnlyOneStackType", true);
    json_put_bool(j, "sourceCodeIsNotOnSearchfox", true);
    json_key(j, "sampleUnits");
    json_object(j);
    json_put_str(j, "time", "ms");
    json_put_str(j, "eventDelay", "ms");
    json_put_str(j, "threadCPUDelta", "ns");
    json_end_object(j);
    put_marker_schema(j);
    put_empty(j, "pausedRanges");
    json_end_object(j);
}

static void put_libs(struct writer *w)
{
    struct json *j = &w->j;

    json_key(j, "libs");
    json_array(j);
    for (uint32_t i = 1; i <= w->p->module.n; i++) {
        const char *path = profile_string(w->p, w->p->module.v[i - 1].path);
        const char *name = an_module_name(w->p, i);

        json_object(j);
        json_put_str(j, "name", name);
        json_put_str(j, "path", path);
        json_put_str(j, "debugName", name);
        json_put_str(j, "debugPath", path);
        json_put_str(j, "breakpadId", "");
        json_key(j, "codeId");
        json_null(j);
        json_key(j, "arch");
        json_null(j);
        json_end_object(j);
    }
    json_end_array(j);
}

static uint64_t earlier(uint64_t first, uint64_t time)
{
    return time && time < first ? time : first;
}

static uint64_t first_time(const struct writer *w)
{
    const struct profile *p = w->p;
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < p->time.n; i++)
        first = earlier(first, p->time.v[i].start_ns);
    for (size_t i = 0; i < p->span.n; i++)
        first = earlier(first, p->span.v[i].start_ns);
    for (size_t i = 0; i < p->counter.n; i++)
        first = earlier(first, p->counter.v[i].time_ns);
    return first == UINT64_MAX ? 0 : first;
}

/* Group spans by thread; those of one thread keep their order. */
static void group_spans(struct writer *w)
{
    const struct profile *p = w->p;
    size_t *at;

    vec_reserve(&w->first_span_of, p->thread.n + 3);
    at = w->first_span_of.v;
    memset(at, 0, (p->thread.n + 3) * sizeof *at);
    for (size_t i = 0; i < p->span.n; i++)
        at[p->span.v[i].thread + 2]++;
    for (size_t i = 1; i < p->thread.n + 3; i++)
        at[i] += at[i - 1];
    vec_reserve(&w->span, p->span.n + 1);
    for (size_t i = 0; i < p->span.n; i++)
        w->span.v[at[p->span.v[i].thread + 1]++] = (uint32_t)i;
}

/* Choose the threads with samples of the metric or with spans. */
static void choose_threads(struct writer *w)
{
    group_spans(w);
    vec_reserve(&w->run_of, w->p->thread.n + 1);
    memset(w->run_of.v, 0, (w->p->thread.n + 1) * sizeof *w->run_of.v);
    for (size_t i = 0; i < w->line.run.n; i++)
        w->run_of.v[w->line.run.v[i].thread] = i + 1;
    for (uint32_t i = 0; i <= w->p->thread.n; i++)
        if (w->run_of.v[i] || w->first_span_of.v[i] < w->first_span_of.v[i + 1])
            vec_push(&w->thread, i);
}

static void release(struct writer *w)
{
    timeline_release(&w->line);
    an_symbols_release(&w->symbols);
    vec_release(&w->thread);
    vec_release(&w->run_of);
    vec_release(&w->span);
    vec_release(&w->first_span_of);
}

static int firefox_write(const struct an_view *v, const struct export_options *o, struct out *out,
                         struct err *e)
{
    const struct profile *p = v->profile;
    struct writer w = { .j = { .out = out }, .p = p };

    w.metric = export_metric(v, e);
    if (!w.metric)
        return -1;
    an_symbols_init(&w.symbols, p);
    timeline_build(&w.line, v, TIMELINE_NO_TAGS);
    choose_threads(&w);
    w.start_ns = first_time(&w);
    json_object(&w.j);
    put_meta(&w, o);
    put_libs(&w);
    json_key(&w.j, "threads");
    json_array(&w.j);
    for (size_t i = 0; i < w.thread.n; i++)
        put_thread(&w, w.thread.v[i]);
    json_end_array(&w.j);
    put_empty(&w.j, "pages");
    put_counters(&w);
    put_empty(&w.j, "profilerOverhead");
    json_end_object(&w.j);
    out_char(out, '\n');
    release(&w);
    return 0;
}

const struct format format_firefox = {
    .name = "firefox",
    .extension = ".firefox.json",
    .about = "Firefox Profiler's processed profile",
    .view = AN_VIEW_BOTH,
    .has_spans = true,
    .write = firefox_write,
};
