/* fmt_chrome.c - export to Chrome's trace event JSON.  chrome_read.c imports it.
 * Times are microseconds with three decimals: whole nanoseconds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "formats/chrome.h"
#include "formats/formats.h"
#include "formats/tags.h"
#include "formats/trace.h"
#include "text/json.h"

struct writer {
    struct trace_writer trace; /* first: the callbacks cast */
    struct json j;
    struct trace_track track;
};

static struct writer *writer_of(struct trace_writer *w)
{
    return (struct writer *)w;
}

static void microseconds(struct json *j, const char *key, uint64_t ns)
{
    json_key(j, key);
    json_u64(j, ns / 1000);
    out_printf(j->out, ".%03u", (unsigned)(ns % 1000));
}

static void begin_event(struct json *j, const char *phase, const char *name, int64_t pid,
                        int64_t tid)
{
    json_object(j);
    json_put_str(j, "ph", phase);
    json_put_str(j, "name", name);
    json_put_i64(j, "pid", pid);
    json_put_i64(j, "tid", tid);
}

static void name_event(struct json *j, const char *what, const char *name, int64_t pid,
                       int64_t tid)
{
    if (!*name)
        return;
    begin_event(j, "M", what, pid, tid);
    json_key(j, "args");
    json_object(j);
    json_put_str(j, "name", name);
    json_end_object(j);
    json_end_object(j);
}

static void put_track(struct trace_writer *t, const struct trace_track *track)
{
    struct writer *w = writer_of(t);

    w->track = *track;
    name_event(&w->j, "process_name", track->process, track->pid, track->tid);
    name_event(&w->j, "thread_name", track->name, track->pid, track->tid);
}

static void put_call(struct trace_writer *t, const struct trace_call *c)
{
    struct writer *w = writer_of(t);
    struct json *j = &w->j;

    begin_event(j, c->flow ? "i" : "X", c->name, w->track.pid, w->track.tid);
    microseconds(j, "ts", c->start_ns);
    if (c->flow)
        json_put_str(j, "s", "t"); /* a point on its thread; the tags contain its number */
    else
        microseconds(j, "dur", c->duration_ns);
    if (*c->detail || c->tags) {
        json_key(j, "args");
        json_object(j);
        if (*c->detail)
            json_put_str(j, CHROME_DETAIL, c->detail);
        tags_put_json(j, t->p, c->tags);
        json_end_object(j);
    }
    json_end_object(j);
}

static void put_counter(struct trace_writer *t, int64_t pid, const struct counter *c)
{
    struct json *j = &writer_of(t)->j;
    const char *unit = profile_string(t->p, c->unit), *label = tags_label(t->p, c->tags);

    json_object(j);
    json_put_str(j, "ph", "C");
    json_put_str(j, "name", profile_string(t->p, c->name));
    if (*label)
        json_put_str(j, CHROME_SERIES, label);
    json_put_i64(j, "pid", pid);
    microseconds(j, "ts", c->time_ns);
    json_key(j, "args");
    json_object(j);
    json_put_num(j, *unit ? unit : "value", c->value, 6);
    json_end_object(j);
    json_end_object(j);
}

static int chrome_write(const struct an_view *v, const struct export_options *o, struct out *out,
                        struct err *e)
{
    const struct profile *p = v->profile;
    struct writer w = { .trace = { put_track, put_call, put_counter, p, out },
                        .j = { .out = out } };
    const char *title = o->title ? o->title : profile_meta(p, "command");
    int rc;

    json_object(&w.j);
    json_put_str(&w.j, "displayTimeUnit", "ns");
    json_key(&w.j, "otherData");
    json_object(&w.j);
    json_put_str(&w.j, "producer", "fathom");
    if (*title)
        json_put_str(&w.j, "command", title);
    json_end_object(&w.j);
    json_key(&w.j, "traceEvents");
    json_array(&w.j);
    rc = trace_write(&w.trace, v, e);
    json_end_array(&w.j);
    json_end_object(&w.j);
    out_char(out, '\n');
    return rc;
}

const struct format format_chrome = {
    .name = "chrome",
    .extension = ".trace.json",
    .about = "Chrome trace events (Perfetto, chrome://tracing, spall)",
    .recognize = chrome_recognize,
    .import = chrome_import,
    .view = AN_VIEW_BOTH,
    .has_spans = true,
    .write = chrome_write,
};
