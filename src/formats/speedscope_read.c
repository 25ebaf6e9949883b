/* speedscope_read.c - import speedscope's JSON.  Members come in any order, so frames are read in
 * a first pass, and a profile is buffered until its end.  SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json_input.h"
#include "formats/speedscope.h"
#include "formats/textscan.h"
#include "formats/timeline.h"
#include "profile/intern.h"

struct piece { /* part of a profile: a stack and its weight */
    uint32_t stack;
    double weight;
};

struct known { /* text of a sample's frames, and its stack */
    struct scan_text text;
    uint32_t stack;
};

struct reader {
    struct json_reader r;
    struct sink *out;
    struct intern in;
    bool ours; /* names of profiles are "metric: thread (pid/tid)" */
    VEC(uint32_t) frame;
    VEC(struct known) text;
    struct index texts;
    VEC(struct piece) piece;
    VEC(double) weight;
    VEC(uint32_t) open; /* stacks of frames that were opened, innermost last */
    char name[512], unit[32], title[256];
    double start;
    struct umap metric_of; /* hash of name and unit -> id */
    uint64_t profiles;
    const char *wrong;
};

static void read_frame(struct reader *x)
{
    struct json_reader *r = &x->r;
    struct function f = { 0 };
    int64_t line;

    while (json_next_key(r)) {
        if (json_text_is(r, "name"))
            f.name = json_input_string(r, &x->in);
        else if (json_text_is(r, "file"))
            f.file = json_input_string(r, &x->in);
        else if (json_text_is(r, "line")) {
            line = json_read_i64(r, 0);
            f.line = line > 0 && line < INT32_MAX ? (uint32_t)line : 0;
        } else
            json_skip(r);
    }
    if (!f.name)
        f.name = intern_cstr(&x->in, "[unknown]");
    vec_push(&x->frame, intern_named_frame(&x->in, FRAME_NATIVE, intern_function(&x->in, &f), 0));
}

static void read_shared(void *with)
{
    struct reader *x = with;
    struct json_reader *r = &x->r;

    if (!json_input_object(r))
        return;
    while (json_next_key(r)) {
        if (!json_text_is(r, "frames")) {
            json_skip(r);
            continue;
        }
        if (!json_input_array(r))
            continue;
        while (json_input_next_object(r))
            read_frame(x);
    }
}

static void read_exporter(void *with)
{
    struct reader *x = with;
    char exporter[32];

    json_input_text(&x->r, exporter, sizeof exporter);
    x->ours = strcmp(exporter, SPEEDSCOPE_EXPORTER) == 0;
}

static void read_title(void *with)
{
    struct reader *x = with;

    json_input_text(&x->r, x->title, sizeof x->title);
}

static uint32_t frame_at(struct reader *x, double index)
{
    if (index >= 0 && index < (double)x->frame.n)
        return x->frame.v[(size_t)index];
    x->wrong = "a sample refers to a frame that does not exist";
    return 0;
}

static uint32_t read_stack(struct reader *x)
{
    uint32_t stack = 0;

    while (json_input_next_number(&x->r)) {
        uint32_t frame = frame_at(x, x->r.number);

        if (frame)
            stack = intern_stack(&x->in, stack, frame);
    }
    return stack;
}

/* The text of most samples equals that of an earlier one, so it is looked up before it is parsed.
 * The reader is after the opening bracket. */
static uint32_t known_stack(struct reader *x)
{
    struct json_reader *r = &x->r;
    const char *from = r->at, *end = memchr(from, ']', (size_t)(r->end - from));
    size_t n = end ? (size_t)(end - from) : 0;
    uint64_t h = hash_bytes(from, n);
    struct scan_text text = { from, n };
    uint32_t id;

    for (uint32_t at = index_first(&x->texts, h); n && (id = index_id(&x->texts, h, &at));)
        if (x->text.v[id - 1].text.n == n && memcmp(x->text.v[id - 1].text.s, from, n) == 0) {
            r->at = end;
            json_next(r);
            return x->text.v[id - 1].stack;
        }
    vec_push(&x->text, ((struct known){ text, read_stack(x) }));
    index_add(&x->texts, h, (uint32_t)x->text.n);
    return x->text.v[x->text.n - 1].stack;
}

static void read_samples(struct reader *x)
{
    if (!json_input_array(&x->r))
        return;
    while (json_next(&x->r) == JSON_ARRAY)
        vec_push(&x->piece, ((struct piece){ known_stack(x), 0 }));
}

static void read_weights(struct reader *x)
{
    if (!json_input_array(&x->r))
        return;
    while (json_input_next_number(&x->r))
        vec_push(&x->weight, x->r.number);
}

struct event {
    char type;
    double frame, at;
};

static struct event read_event(struct json_reader *r)
{
    struct event ev = { 0, -1, 0 };

    while (json_next_key(r)) {
        if (json_text_is(r, "type"))
            ev.type = json_next(r) == JSON_STRING && r->n ? *r->text : 0;
        else if (json_text_is(r, "frame"))
            ev.frame = json_read_num(r, -1);
        else if (json_text_is(r, "at"))
            ev.at = json_read_num(r, 0);
        else
            json_skip(r);
    }
    return ev;
}

static void read_events(struct reader *x)
{
    struct json_reader *r = &x->r;
    bool first = true;
    double now = 0;

    vec_clear(&x->open);
    if (!json_input_array(r))
        return;
    while (json_input_next_object(r)) {
        struct event ev = read_event(r);
        uint32_t top = x->open.n ? x->open.v[x->open.n - 1] : 0, frame = frame_at(x, ev.frame);

        if (top && ev.at > now)
            vec_push(&x->piece, ((struct piece){ top, ev.at - now }));
        if (first || ev.at > now)
            now = ev.at;
        first = false;
        if (ev.type == 'O' && frame)
            vec_push(&x->open, intern_stack(&x->in, top, frame));
        else if (ev.type == 'C' && x->open.n)
            x->open.n--;
        else
            x->wrong = "an event closes a frame that is not open";
    }
}

static uint32_t metric_of(struct reader *x, const char *name, const char *unit)
{
    uint64_t key = hash_pair(hash_bytes(name, strlen(name)), hash_bytes(unit, strlen(unit)));
    uint32_t id = umap_find(&x->metric_of, key);

    if (id)
        return id;
    id = intern_metric(&x->in, &(struct metric){ .name = intern_cstr(&x->in, name),
                                                 .unit = intern_cstr(&x->in, unit) });
    umap_put(&x->metric_of, key, id);
    return id;
}

/* "name (pid/tid)" as timeline_label writes it. */
static struct thread split_label(struct reader *x, struct scan_text label)
{
    struct thread t = { 0 };
    struct process p = { 0 };
    struct scan_text rest = label;
    size_t at = label.n;

    while (at && label.s[at - 1] != '(')
        at--;
    if (at > 1 && label.s[label.n - 1] == ')') {
        scan_drop(&rest, at);
        if (scan_i64(&rest, &p.pid) && scan_take(&rest, "/") && scan_i64(&rest, &t.tid) &&
            scan_is(rest, ")"))
            label.n = at - 2;
    }
    t.name = label.n ? intern_string(&x->in, label.s, label.n) : 0;
    p.name = t.name;
    t.process = intern_process(&x->in, &p);
    return t;
}

static uint32_t thread_of(struct reader *x, const char **metric)
{
    char *colon = x->ours ? strstr(x->name, ": ") : NULL;
    struct scan_text label = scan_of(x->name, strlen(x->name));
    struct thread t;

    if (x->ours && !colon) {
        *metric = x->name;
        return 0;
    }
    if (colon) {
        *colon = 0;
        *metric = x->name;
        label = scan_of(colon + 2, strlen(colon + 2));
    }
    if (!label.n)
        return 0;
    t = split_label(x, label);
    return intern_thread(&x->in, &t);
}

static void write_profile(struct reader *x)
{
    double scale = timeline_unit_ns(x->unit), at = 0;
    const char *unit = scale > 0 ? "ns" : strcmp(x->unit, "none") == 0 ? "events" : x->unit;
    const char *metric = scale > 0 ? "time" : strcmp(unit, "bytes") == 0 ? "memory" : "samples";
    struct sample m = { .cpu = -1, .count = 1, .thread = thread_of(x, &metric) };

    m.metric = metric_of(x, metric, unit);
    for (size_t i = 0; i < x->piece.n; i++) {
        double w = i < x->weight.n ? x->weight.v[i] : x->piece.v[i].weight;

        w *= scale > 0 ? scale : 1;
        m.stack = x->piece.v[i].stack;
        m.weight = w > -9e18 && w < 9e18 ? llround(w) : 0;
        at += w > 0 ? w : 0;
        if (scale > 0 && at < 9e18)
            sample_ends_at(&m, (uint64_t)at, m.weight > 0 ? (uint64_t)m.weight : 0);
        else
            sample_ends_at(&m, i + 1, 0); /* keep their order */
        if (m.weight)
            sink_sample(x->out, &m);
    }
    x->profiles++;
}

static void read_profile(struct reader *x)
{
    struct json_reader *r = &x->r;

    vec_clear(&x->piece);
    vec_clear(&x->weight);
    x->name[0] = x->unit[0] = 0;
    while (json_next_key(r)) {
        if (json_text_is(r, "name"))
            json_input_text(r, x->name, sizeof x->name);
        else if (json_text_is(r, "unit"))
            json_input_text(r, x->unit, sizeof x->unit);
        else if (json_text_is(r, "samples"))
            read_samples(x);
        else if (json_text_is(r, "weights"))
            read_weights(x);
        else if (json_text_is(r, "events"))
            read_events(x);
        else
            json_skip(r);
    }
    if (!r->error)
        write_profile(x);
}

static void read_profiles(void *with)
{
    struct reader *x = with;

    if (!json_input_array(&x->r))
        return;
    while (json_input_next_object(&x->r))
        read_profile(x);
}

/* Frames may follow the profiles that use them, so everything else is read first. */
static const struct json_member head[] = {
    { "shared", read_shared }, { "exporter", read_exporter }, { "name", read_title }, { 0 },
};
static const struct json_member profiles[] = { { "profiles", read_profiles }, { 0 } };

static int read_file(struct reader *x, const struct import_input *in, struct err *e)
{
    if (json_input_read(&x->r, in, head, x, e) < 0 ||
        json_input_read(&x->r, in, profiles, x, e) < 0)
        return -1;
    if (x->wrong)
        return err_set(e, ERR_FORMAT, "invalid speedscope file: %s", x->wrong);
    if (!x->profiles)
        return err_set(e, ERR_FORMAT, "the speedscope file has no profiles");
    sink_meta(x->out, "producer", "speedscope");
    if (x->title[0])
        sink_meta(x->out, "command", x->title);
    return 0;
}

int speedscope_import(const struct import_input *in, struct sink *out, struct err *e)
{
    struct reader x = { .out = out };
    int rc;

    intern_init(&x.in, out);
    rc = read_file(&x, in, e);
    intern_release(&x.in);
    vec_release(&x.frame);
    vec_release(&x.piece);
    vec_release(&x.text);
    index_release(&x.texts);
    vec_release(&x.weight);
    vec_release(&x.open);
    umap_release(&x.metric_of);
    return sink_end(out, e) < 0 || rc < 0 ? -1 : 0;
}

int speedscope_recognize(const struct import_input *in)
{
    /* Most writers put the schema first; then the rest need not be read. */
    if (in->size && in->data[0] == '{' &&
        memmem(in->data, in->size < 512 ? in->size : 512, SPEEDSCOPE_SCHEMA,
               strlen(SPEEDSCOPE_SCHEMA)))
        return 95;
    return json_input_has_keys(in, (const char *const[]){ "profiles", "shared", NULL }) ? 90 : 0;
}
