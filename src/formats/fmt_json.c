/* fmt_json.c - export the profile as it is in memory to JSON: all tables in full, ids from 1, 0
 * for none (docs/formats.md).  Samples, stacks, spans and counters are columns.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "formats/formats.h"
#include "text/json.h"

static const char *const frame_kinds[] = { "native", "kernel", "jit", "python", "script",
                                           "zone", "note" };
static const char *const module_kinds[] = { "file", "kernel", "vdso", "jit", "none" };

struct writer {
    struct json j;
    const struct profile *p;
};

static void put_meta(struct writer *w)
{
    json_key(&w->j, "meta");
    json_object(&w->j);
    for (size_t i = 0; i < w->p->meta.n; i++)
        json_put_str(&w->j, w->p->meta.v[i].key, w->p->meta.v[i].value);
    json_end_object(&w->j);
}

static void put_metrics(struct writer *w)
{
    for (size_t i = 0; i < w->p->metric.n; i++) {
        const struct metric *m = &w->p->metric.v[i];

        json_object(&w->j);
        json_put_str(&w->j, "name", profile_string(w->p, m->name));
        json_put_str(&w->j, "unit", profile_string(w->p, m->unit));
        json_put_str(&w->j, "about", profile_string(w->p, m->about));
        json_put_bool(&w->j, "exact", m->flags & METRIC_EXACT);
        json_put_bool(&w->j, "off_cpu", m->flags & METRIC_OFF_CPU);
        json_put_bool(&w->j, "live", m->flags & METRIC_LIVE);
        json_put_bool(&w->j, "whole", m->flags & METRIC_WHOLE);
        json_put_u64(&w->j, "period", m->period);
        json_end_object(&w->j);
    }
}

static void put_processes(struct writer *w)
{
    for (size_t i = 0; i < w->p->process.n; i++) {
        const struct process *x = &w->p->process.v[i];

        json_object(&w->j);
        json_put_i64(&w->j, "pid", x->pid);
        json_put_i64(&w->j, "parent_pid", x->parent_pid);
        json_put_str(&w->j, "name", profile_string(w->p, x->name));
        json_put_str(&w->j, "command", profile_string(w->p, x->command));
        json_put_u64(&w->j, "start_ns", x->start_ns);
        json_put_u64(&w->j, "end_ns", x->end_ns);
        json_end_object(&w->j);
    }
}

static void put_threads(struct writer *w)
{
    for (size_t i = 0; i < w->p->thread.n; i++) {
        const struct thread *t = &w->p->thread.v[i];

        json_object(&w->j);
        json_put_u64(&w->j, "process", t->process);
        json_put_i64(&w->j, "tid", t->tid);
        json_put_str(&w->j, "name", profile_string(w->p, t->name));
        json_put_u64(&w->j, "start_ns", t->start_ns);
        json_put_u64(&w->j, "end_ns", t->end_ns);
        json_end_object(&w->j);
    }
}

static void put_modules(struct writer *w)
{
    for (size_t i = 0; i < w->p->module.n; i++) {
        const struct module *m = &w->p->module.v[i];
        char hex[2 * sizeof m->build_id + 1] = "";

        for (size_t k = 0; k < m->build_id_size; k++)
            snprintf(hex + 2 * k, 3, "%02x", m->build_id[k]);
        json_object(&w->j);
        json_put_str(&w->j, "path", profile_string(w->p, m->path));
        json_put_str(&w->j, "kind", module_kinds[m->kind]);
        json_put_str(&w->j, "build_id", hex);
        json_put_str(&w->j, "symbols", profile_string(w->p, m->symbols));
        json_put_str(&w->j, "problem", profile_string(w->p, m->problem));
        json_put_str(&w->j, "advice", profile_string(w->p, m->advice));
        json_end_object(&w->j);
    }
}

static void put_functions(struct writer *w)
{
    for (size_t i = 0; i < w->p->function.n; i++) {
        const struct function *f = &w->p->function.v[i];

        json_object(&w->j);
        json_put_str(&w->j, "name", profile_string(w->p, f->name));
        if (f->linkage_name)
            json_put_str(&w->j, "linkage_name", profile_string(w->p, f->linkage_name));
        json_put_str(&w->j, "file", profile_string(w->p, f->file));
        json_put_u64(&w->j, "line", f->line);
        json_put_u64(&w->j, "module", f->module);
        json_end_object(&w->j);
    }
}

static void put_frames(struct writer *w)
{
    for (size_t i = 0; i < w->p->frame.n; i++) {
        const struct frame *f = &w->p->frame.v[i];
        struct profile_chain c = w->p->chain.v[i];

        json_object(&w->j);
        json_put_str(&w->j, "kind", frame_kinds[f->kind]);
        json_put_u64(&w->j, "module", f->module);
        json_put_u64(&w->j, "address", f->address);
        json_put_bool(&w->j, "return", f->flags & FRAME_RETURN);
        json_put_bool(&w->j, "truncated", f->flags & FRAME_TRUNCATED);
        json_key(&w->j, "locations");
        json_array(&w->j);
        for (uint32_t k = 0; k < c.n; k++) {
            json_array(&w->j);
            json_u64(&w->j, w->p->location.v[c.first + k].function);
            json_u64(&w->j, w->p->location.v[c.first + k].line);
            json_end_array(&w->j);
        }
        json_end_array(&w->j);
        json_end_object(&w->j);
    }
}

/* Write member NAME: FIELD of each item of LIST, as a column. */
#define column_of(w, name, n_items, put, value)           \
    do {                                                  \
        json_key(&(w)->j, name);                          \
        json_array(&(w)->j);                              \
        for (size_t i_ = 0; i_ < (n_items); i_++)         \
            put(&(w)->j, value);                          \
        json_end_array(&(w)->j);                          \
    } while (0)
#define column(w, name, list, put, field) \
    column_of(w, name, (w)->p->list.n, put, (w)->p->list.v[i_].field)

static void put_stacks(struct writer *w)
{
    column(w, "parent", stack, json_u64, parent);
    column(w, "frame", stack, json_u64, frame);
}

static void put_tags(struct writer *w)
{
    for (size_t i = 0; i < w->p->tag.n; i++) {
        const struct tag *t = &w->p->tag.v[i];

        json_object(&w->j);
        json_put_u64(&w->j, "parent", t->parent);
        json_put_str(&w->j, "key", profile_string(w->p, t->key));
        if (t->text)
            json_put_str(&w->j, "value", profile_string(w->p, t->text));
        else
            json_put_i64(&w->j, "value", t->value);
        if (t->unit)
            json_put_str(&w->j, "unit", profile_string(w->p, t->unit));
        json_end_object(&w->j);
    }
}

static void put_samples(struct writer *w)
{
    column(w, "metric", sample, json_u64, metric);
    column(w, "stack", sample, json_u64, stack);
    column(w, "thread", sample, json_u64, thread);
    column(w, "cpu", sample, json_i64, cpu);
    column_of(w, "start_ns", w->p->sample.n, json_u64, profile_time(w->p, i_).start_ns);
    column_of(w, "duration_ns", w->p->sample.n, json_u64, profile_time(w->p, i_).duration_ns);
    column(w, "weight", sample, json_i64, weight);
    column(w, "count", sample, json_u64, count);
    column(w, "tags", sample, json_u64, tags);
}

static void put_text_column(struct writer *w, const char *key, const uint32_t *id, size_t n,
                            size_t stride)
{
    json_key(&w->j, key);
    json_array(&w->j);
    for (size_t i = 0; i < n; i++)
        json_str(&w->j, profile_string(w->p, *(const uint32_t *)((const char *)id + i * stride)));
    json_end_array(&w->j);
}

static void put_spans(struct writer *w)
{
    const struct span *v = w->p->span.v;

    column(w, "thread", span, json_u64, thread);
    column(w, "stack", span, json_u64, stack);
    column(w, "start_ns", span, json_u64, start_ns);
    column(w, "duration_ns", span, json_u64, duration_ns);
    column(w, "tags", span, json_u64, tags);
    put_text_column(w, "name", v ? &v->name : NULL, w->p->span.n, sizeof *v);
    put_text_column(w, "detail", v ? &v->detail : NULL, w->p->span.n, sizeof *v);
}

static void put_value(struct json *j, double x)
{
    json_num(j, x, 6);
}

static void put_counters(struct writer *w)
{
    const struct counter *v = w->p->counter.v;

    column(w, "process", counter, json_u64, process);
    column(w, "time_ns", counter, json_u64, time_ns);
    column(w, "value", counter, put_value, value);
    column(w, "tags", counter, json_u64, tags);
    put_text_column(w, "name", v ? &v->name : NULL, w->p->counter.n, sizeof *v);
    put_text_column(w, "unit", v ? &v->unit : NULL, w->p->counter.n, sizeof *v);
}

static const struct table {
    const char *key;
    void (*put)(struct writer *w);
    bool is_list;
} tables[] = {
    { "metrics", put_metrics, true },     { "processes", put_processes, true },
    { "threads", put_threads, true },     { "modules", put_modules, true },
    { "functions", put_functions, true }, { "frames", put_frames, true },
    { "stacks", put_stacks, false },      { "tags", put_tags, true },
    { "samples", put_samples, false },    { "spans", put_spans, false },
    { "counters", put_counters, false },
};

static int json_write(const struct an_view *v, const struct export_options *o, struct out *out,
                      struct err *e)
{
    const struct profile *p = v->profile;
    struct writer w = { .j = { .out = out }, .p = p };

    json_object(&w.j);
    json_put_str(&w.j, "format", "fathom-profile");
    json_put_u64(&w.j, "version", 1);
    put_meta(&w);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        json_key(&w.j, tables[i].key);
        if (tables[i].is_list)
            json_array(&w.j);
        else
            json_object(&w.j);
        tables[i].put(&w);
        if (tables[i].is_list)
            json_end_array(&w.j);
        else
            json_end_object(&w.j);
    }
    json_end_object(&w.j);
    out_char(out, '\n');
    return 0;
}

const struct format format_json = {
    .name = "json",
    .extension = ".json",
    .about = "the whole profile as JSON tables",
    .has_tags = true,
    .has_spans = true,
    .all_metrics = true,
    .write = json_write,
};
