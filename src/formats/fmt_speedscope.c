/* fmt_speedscope.c - export to speedscope's JSON.  speedscope_read.c imports it.
 *
 * One "sampled" profile per metric and thread, named "metric: thread (pid/tid)"; samples are
 * in time order if they have times, otherwise summed by stack.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "formats/formats.h"
#include "analyze/an_labels.h"
#include "formats/speedscope.h"
#include "formats/timeline.h"
#include "text/json.h"

static const char *unit_of(const struct profile *p, const struct metric *m)
{
    static const struct { const char *ours, *theirs; } units[] = {
        { "ns", "nanoseconds" }, { "us", "microseconds" }, { "ms", "milliseconds" },
        { "s", "seconds" },      { "bytes", "bytes" },
    };

    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strcmp(profile_string(p, m->unit), units[i].ours) == 0)
            return units[i].theirs;
    return "none";
}

static void write_frames(struct json *j, const struct an_labels *l)
{
    json_key(j, "shared");
    json_object(j);
    json_key(j, "frames");
    json_array(j);
    for (uint32_t id = 1; id <= an_labels_count(l); id++) {
        struct an_label f = an_labels_get(l, id);

        json_object(j);
        json_put_str(j, "name", f.name);
        if (*f.file)
            json_put_str(j, "file", f.file);
        if (f.line)
            json_put_u64(j, "line", f.line);
        json_end_object(j);
    }
    json_end_array(j);
    json_end_object(j);
}

static void write_samples(struct json *j, struct an_labels *l, const struct timeline_item *v,
                          size_t n)
{
    json_key(j, "samples");
    json_array(j);
    for (size_t i = 0; i < n && !j->out->failed && !an_labels_are_too_many(l, NULL); i++) {
        an_labels_stack(l, v[i].stack);
        json_array(j);
        for (size_t k = 0; k < l->chain.n; k++)
            json_u64(j, l->chain.v[k] - 1);
        json_end_array(j);
    }
    json_end_array(j);
    json_key(j, "weights");
    json_array(j);
    for (size_t i = 0; i < n; i++)
        json_i64(j, v[i].weight);
    json_end_array(j);
}

/* speedscope rejects files with negative weights, so they are omitted. */
static void drop_negative(struct timeline *t, struct timeline_run *r)
{
    struct timeline_item *v = t->item.v + r->first;
    size_t kept = 0;

    for (size_t i = 0; i < r->n; i++)
        if (v[i].weight > 0)
            v[kept++] = v[i];
    r->n = kept;
}

static void write_run(struct json *j, struct an_labels *l, const struct metric *m,
                      const struct timeline *t, const struct timeline_run *r)
{
    const struct profile *p = l->symbols.profile;
    struct thread_label thread;
    struct buf name = { 0 };
    int64_t total = 0;

    timeline_label(p, r->thread, &thread);
    buf_printf(&name, "%s%s%s", profile_string(p, m->name), thread.text[0] ? ": " : "",
               thread.text);
    for (size_t i = 0; i < r->n; i++)
        total += t->item.v[r->first + i].weight;
    json_object(j);
    json_put_str(j, "type", "sampled");
    json_put_str(j, "name", buf_text(&name));
    json_put_str(j, "unit", unit_of(p, m));
    json_put_u64(j, "startValue", 0);
    json_put_i64(j, "endValue", total);
    write_samples(j, l, t->item.v + r->first, r->n);
    json_end_object(j);
    buf_release(&name);
}

static void write_profiles(struct json *j, struct an_labels *l)
{
    const struct profile *p = l->symbols.profile;

    json_key(j, "profiles");
    json_array(j);
    for (uint32_t metric = 1; metric <= p->metric.n; metric++) {
        struct an_view v = an_view_of(p, metric);
        struct timeline t;

        timeline_build(&t, &v, TIMELINE_NO_TAGS);
        for (size_t i = 0; i < t.run.n && !j->out->failed; i++) {
            drop_negative(&t, &t.run.v[i]);
            if (t.run.v[i].n)
                write_run(j, l, &p->metric.v[metric - 1], &t, &t.run.v[i]);
        }
        timeline_release(&t);
    }
    json_end_array(j);
}

static int speedscope_write(const struct an_view *v, const struct export_options *o,
                            struct out *out, struct err *e)
{
    const struct profile *p = v->profile;
    struct json j = { .out = out };
    struct an_labels l;
    const char *title = o->title ? o->title : profile_meta(p, "command");
    int rc;

    an_labels_init(&l, p);
    json_object(&j);
    json_put_str(&j, "$schema", SPEEDSCOPE_SCHEMA);
    json_put_str(&j, "exporter", SPEEDSCOPE_EXPORTER);
    json_put_str(&j, "name", *title ? title : "fathom");
    json_put_u64(&j, "activeProfileIndex", 0);
    write_profiles(&j, &l);
    write_frames(&j, &l); /* last: now all frames in use are known */
    json_end_object(&j);
    out_char(out, '\n');
    rc = an_labels_are_too_many(&l, e) ? -1 : 0;
    an_labels_release(&l);
    return rc;
}

const struct format format_speedscope = {
    .name = "speedscope",
    .extension = ".speedscope.json",
    .about = "speedscope",
    .recognize = speedscope_recognize,
    .import = speedscope_import,
    .all_metrics = true,
    .write = speedscope_write,
};
