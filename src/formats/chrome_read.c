/* chrome_read.c - import Chrome's trace events: an array, possibly unterminated, or an object that
 * contains one.  Complete events (X) and pairs (B, E) become calls, instants become calls without
 * duration, C events become counters.  Flows and asynchronous events are skipped.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "formats/calls.h"
#include "formats/chrome.h"
#include "formats/json_input.h"

/* Microseconds; larger values overflow in nanoseconds: 285 years. */
#define MAX_US 9e15

enum { MOST_ARGS = 16 }; /* arguments of one call that become tags; the rest is skipped */

struct arg {
    uint32_t key, text; /* strings; text 0: the value is a number */
    int64_t number;
};

struct event {
    char phase;
    double ts, dur;
    int64_t pid, tid;
    uint32_t name, detail, args_name; /* strings */
    uint32_t series;                  /* likewise, of a counter */
};

struct value { /* an argument that is a number: a series if the event is a counter */
    uint32_t key; /* string */
    double number;
};

struct mark { /* B or E */
    struct call call; /* of an E, only the time */
    bool is_end;
};

struct track {
    uint32_t id; /* of the thread */
    int64_t pid;
    struct thread t;
    VEC(size_t) open;      /* B without E so far: indices of calls */
    uint64_t unmatched;    /* E without B */
    uint64_t latest_ns;    /* time of the last B or E */
    bool unsorted;         /* not every B and E is in order of time: read twice */
    VEC(struct mark) mark; /* of an unsorted track */
};

struct reader {
    struct json_reader r;
    struct sink *out;
    struct intern in;
    struct calls calls;
    VEC(struct track) track;
    uint32_t last; /* track of the previous event, by number from 1 */
    struct umap track_of, process_of, frame_of;
    struct umap has_series; /* by name: counters seen with several arguments */
    struct arg arg[MOST_ARGS]; /* of the event being read */
    uint32_t n_args;
    VEC(struct value) value; /* likewise */
    char command[512];
    uint64_t events;
    uint64_t last_ns; /* the latest time of events other than calls */
    bool cut;
    bool unsorted; /* a track is */
    bool again;    /* reading for the second time, for the unsorted tracks */
};

/* Whether the string just read is a decimal number, as some writers quote theirs. */
static bool is_quoted_number(const struct json_reader *r, double *number)
{
    char copy[32], *end;

    if (!r->n || r->n >= sizeof copy)
        return false;
    memcpy(copy, r->text, r->n);
    copy[r->n] = 0;
    if (strspn(copy, "+-.0123456789eE") != r->n)
        return false;
    *number = strtod(copy, &end);
    return end == copy + r->n;
}

static double read_time(struct reader *x)
{
    enum json_token t = json_next(&x->r);
    double number;

    if (t == JSON_NUMBER)
        return x->r.number;
    if (t == JSON_STRING)
        return is_quoted_number(&x->r, &number) ? number : 0;
    json_input_rest(&x->r);
    return 0;
}

static int64_t id_of_number(double number)
{
    return number > -9e15 && number < 9e15 ? (int64_t)number : 0;
}

/* A number, possibly quoted, or another string, which is mapped to a number above 2^40. */
static int64_t read_id(struct reader *x)
{
    enum json_token t = json_next(&x->r);
    double number;

    if (t == JSON_NUMBER)
        return id_of_number(x->r.number);
    if (t == JSON_STRING && is_quoted_number(&x->r, &number))
        return id_of_number(number);
    if (t == JSON_STRING)
        return ((int64_t)1 << 40) + (x->r.n ? intern_string(&x->in, x->r.text, x->r.n) : 0);
    json_input_rest(&x->r);
    return 0;
}

static void keep_arg(struct reader *x, uint32_t key)
{
    const struct json_reader *r = &x->r;
    struct arg a = { .key = key };

    if (r->token == JSON_STRING && r->n)
        a.text = intern_string(&x->in, r->text, r->n);
    else if (r->token == JSON_NUMBER && r->number > -9e15 && r->number < 9e15 &&
             r->number == (double)(int64_t)r->number)
        a.number = (int64_t)r->number;
    else
        return;
    if (x->n_args < MOST_ARGS)
        x->arg[x->n_args++] = a;
}

/* The text just read as a key.  The previous event often had the same key at this place. */
static uint32_t key_of_arg(struct reader *x)
{
    uint32_t id = x->n_args < MOST_ARGS ? x->arg[x->n_args].key : 0;
    const struct intern_text *guess = id ? &x->in.string.v[id - 1] : NULL;

    /* Not a comparison of C strings: a key may contain NUL. */
    if (guess && guess->n == x->r.n && memcmp(guess->s, x->r.text, guess->n) == 0)
        return id;
    return x->r.n ? intern_string(&x->in, x->r.text, x->r.n) : 0;
}

/* An argument with a meaning of its own, unless a counter has a series of that name. */
static uint32_t read_named_arg(struct reader *x, const char *name)
{
    uint32_t text = json_input_string(&x->r, &x->in);

    if (x->r.token == JSON_NUMBER)
        vec_push(&x->value, ((struct value){ intern_cstr(&x->in, name), x->r.number }));
    return text;
}

static void read_arg(struct reader *x)
{
    struct json_reader *r = &x->r;
    uint32_t key = key_of_arg(x);

    json_next(r);
    if (key)
        keep_arg(x, key);
    if (r->token == JSON_NUMBER)
        vec_push(&x->value, ((struct value){ key, r->number }));
    else if (r->token != JSON_STRING)
        json_input_rest(r);
}

static void read_args(struct reader *x, struct event *ev)
{
    struct json_reader *r = &x->r;

    if (!json_input_object(r))
        return;
    while (json_next_key(r)) {
        if (json_text_is(r, "name"))
            ev->args_name = read_named_arg(x, "name");
        else if (json_text_is(r, CHROME_DETAIL))
            ev->detail = read_named_arg(x, CHROME_DETAIL);
        else
            read_arg(x);
    }
}

static uint32_t read_series(struct reader *x)
{
    enum json_token t = json_next(&x->r);
    char text[32];

    if (t == JSON_STRING)
        return x->r.n ? intern_string(&x->in, x->r.text, x->r.n) : 0;
    if (t == JSON_NUMBER) {
        snprintf(text, sizeof text, "%.17g", x->r.number);
        return intern_cstr(&x->in, text);
    }
    json_input_rest(&x->r);
    return 0;
}

static struct event read_event(struct reader *x)
{
    struct json_reader *r = &x->r;
    struct event ev = { 0 };

    x->n_args = 0;
    x->value.n = 0;
    while (json_next_key(r)) {
        if (json_text_is(r, "ph"))
            ev.phase = json_next(r) == JSON_STRING && r->n ? *r->text : 0;
        else if (json_text_is(r, "ts"))
            ev.ts = read_time(x);
        else if (json_text_is(r, "dur"))
            ev.dur = read_time(x);
        else if (json_text_is(r, "name"))
            ev.name = json_input_string(r, &x->in);
        else if (json_text_is(r, "pid"))
            ev.pid = read_id(x);
        else if (json_text_is(r, "tid"))
            ev.tid = read_id(x);
        else if (json_text_is(r, "args"))
            read_args(x, &ev);
        else if (json_text_is(r, CHROME_SERIES) && (ev.phase == 'C' || !ev.phase))
            ev.series = read_series(x);
        else
            json_skip(r);
    }
    return ev;
}

static uint32_t process_of(struct reader *x, int64_t pid)
{
    uint32_t id = umap_find(&x->process_of, (uint64_t)pid);

    if (id)
        return id;
    id = intern_process(&x->in, &(struct process){ .pid = pid });
    umap_put(&x->process_of, (uint64_t)pid, id);
    return id;
}

static struct track *track_of(struct reader *x, int64_t pid, int64_t tid)
{
    struct track *t = x->last ? &x->track.v[x->last - 1] : NULL;
    uint64_t key;

    if (t && t->pid == pid && t->t.tid == tid)
        return t;
    key = hash_pair((uint64_t)pid, (uint64_t)tid);
    x->last = umap_find(&x->track_of, key);
    if (x->last)
        return &x->track.v[x->last - 1];
    t = vec_add(&x->track);
    memset(t, 0, sizeof *t);
    t->pid = pid;
    t->t = (struct thread){ .process = process_of(x, pid), .tid = tid };
    t->id = intern_thread(&x->in, &t->t);
    x->last = (uint32_t)x->track.n;
    umap_put(&x->track_of, key, x->last);
    return t;
}

static uint32_t frame_of(struct reader *x, uint32_t name)
{
    uint32_t id = umap_find(&x->frame_of, name);

    if (id)
        return id;
    id = intern_named_frame(
        &x->in, FRAME_ZONE,
        intern_function(&x->in, &(struct function){
                                    .name = name ? name : intern_cstr(&x->in, "[unnamed]") }),
        0);
    umap_put(&x->frame_of, name, id);
    return id;
}

/* As llround(), which is a call into libm for each of millions of times. */
static uint64_t nanoseconds(double us)
{
    double ns = us > 0 && us < MAX_US ? us * 1000 : 0;
    uint64_t whole = (uint64_t)ns;

    return whole + (ns - (double)whole >= 0.5);
}

static uint32_t tags_of_call(struct reader *x)
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < x->n_args; i++)
        set = intern_tag_of(&x->in, &(struct tag){ .parent = set, .key = x->arg[i].key,
                                                   .text = x->arg[i].text,
                                                   .value = x->arg[i].number });
    return set;
}

static struct call call_of(struct reader *x, const struct event *ev)
{
    return (struct call){ .start_ns = nanoseconds(ev->ts), .duration_ns = nanoseconds(ev->dur),
                          .frame = frame_of(x, ev->name), .name = ev->name,
                          .detail = ev->detail, .tags = tags_of_call(x) };
}

static void check_order(struct reader *x, struct track *t, uint64_t at)
{
    if (at < t->latest_ns)
        t->unsorted = x->unsorted = true;
    t->latest_ns = at;
}

/* Add the call now and not at its end, so that of calls with equal times the caller is first. */
static void begin_call(struct reader *x, struct track *t, struct call c)
{
    c.duration_ns = CALL_OPEN;
    vec_push(&t->open, calls_add(&x->calls, t->id, &c));
}

static void end_call(struct reader *x, struct track *t, uint64_t at)
{
    if (t->open.n)
        calls_end(&x->calls, t->id, t->open.v[--t->open.n], at);
    else
        t->unmatched++;
}

static void note_time(struct reader *x, uint64_t at)
{
    if (at > x->last_ns)
        x->last_ns = at;
}

static uint64_t end_of_trace(const struct reader *x)
{
    uint64_t last = x->last_ns;

    for (size_t i = 0; i < x->calls.thread.n; i++)
        for (size_t k = 0; k < x->calls.thread.v[i].v.n; k++) {
            const struct call *c = &x->calls.thread.v[i].v.v[k];

            if (c->duration_ns != CALL_OPEN && c->start_ns + c->duration_ns > last)
                last = c->start_ns + c->duration_ns;
        }
    return last;
}

/* Calls without an end, as in a trace that was cut off, last until its end. */
static void end_open_calls(struct reader *x)
{
    uint64_t end = 0;

    for (size_t i = 0; i < x->track.n; i++) {
        struct track *t = &x->track.v[i];

        if (t->open.n && !end)
            end = end_of_trace(x);
        t->unmatched += t->open.n;
        while (t->open.n)
            end_call(x, t, end);
    }
}

static void take_name(struct reader *x, const struct event *ev)
{
    const char *what = intern_text_of(&x->in, ev->name);
    struct track *t;

    if (strcmp(what, "thread_name") == 0) {
        t = track_of(x, ev->pid, ev->tid);
        t->t.name = ev->args_name;
        sink_update_thread(x->out, t->id, &t->t);
    } else if (strcmp(what, "process_name") == 0) {
        sink_update_process(x->out, process_of(x, ev->pid),
                            &(struct process){ .pid = ev->pid, .name = ev->args_name });
    }
}

/* The label of a counter: its id, followed by the argument if it has several. */
static uint32_t tags_of_counter(struct reader *x, const struct event *ev, uint32_t argument)
{
    const char *id = intern_text_of(&x->in, ev->series), *arg = intern_text_of(&x->in, argument);
    char *label = mem_printf("%s%s%s", id, *id && *arg ? " " : "", arg);
    uint32_t tags = *label ? intern_tag(&x->in, 0, TAG_LABEL, label) : 0;

    free(label);
    return tags;
}

/* The argument of a counter is its unit; of several, each is a series and becomes a label. */
static void take_counter(struct reader *x, const struct event *ev)
{
    struct counter c = { .time_ns = nanoseconds(ev->ts), .name = ev->name };
    bool several = x->value.n > 1 || umap_find(&x->has_series, ev->name);

    c.process = ev->pid ? process_of(x, ev->pid) : 0;
    if (several)
        umap_put(&x->has_series, ev->name, 1);
    for (size_t i = 0; i < x->value.n; i++) {
        const struct value *v = &x->value.v[i];

        if (!several && strcmp(intern_text_of(&x->in, v->key), "value") != 0)
            c.unit = v->key;
        c.tags = tags_of_counter(x, ev, several ? v->key : 0);
        c.value = v->number;
        sink_counter(x->out, &c);
    }
}

static void take_event(struct reader *x, const struct event *ev)
{
    struct track *t;
    struct call c;

    switch (ev->phase) {
    case 'X':
    case 'i':
    case 'I':
        t = track_of(x, ev->pid, ev->tid);
        c = call_of(x, ev);
        calls_add(&x->calls, t->id, &c);
        break;
    case 'B':
        t = track_of(x, ev->pid, ev->tid);
        c = call_of(x, ev);
        note_time(x, c.start_ns);
        check_order(x, t, c.start_ns);
        begin_call(x, t, c);
        break;
    case 'E':
        t = track_of(x, ev->pid, ev->tid);
        note_time(x, nanoseconds(ev->ts));
        check_order(x, t, nanoseconds(ev->ts));
        end_call(x, t, nanoseconds(ev->ts));
        break;
    case 'C':
        note_time(x, nanoseconds(ev->ts));
        take_counter(x, ev);
        break;
    case 'M':
        take_name(x, ev);
        break;
    default:
        break;
    }
}

/* In the second pass: collect the events of unsorted tracks. */
static void take_again(struct reader *x, const struct event *ev)
{
    struct track *t;
    struct call c;

    if (!ev->phase || !strchr("XiIBE", ev->phase))
        return;
    t = track_of(x, ev->pid, ev->tid);
    if (!t->unsorted)
        return;
    c = call_of(x, ev);
    if (ev->phase == 'B' || ev->phase == 'E')
        vec_push(&t->mark, ((struct mark){ c, ev->phase == 'E' }));
    else
        calls_add(&x->calls, t->id, &c);
}

static void read_events(struct reader *x)
{
    while (json_next(&x->r) == JSON_OBJECT) {
        struct event ev = read_event(x);

        if (ev.dur < 0 || ev.dur >= MAX_US || ev.ts >= MAX_US)
            json_refuse(&x->r, "an event has an invalid time or duration");
        if (x->r.error)
            return;
        x->events++;
        if (x->again)
            take_again(x, &ev);
        else
            take_event(x, &ev);
    }
}

static void read_other(struct reader *x)
{
    struct json_reader *r = &x->r;

    if (!json_input_object(r))
        return;
    while (json_next_key(r)) {
        if (json_text_is(r, "command"))
            json_input_text(r, x->command, sizeof x->command);
        else
            json_skip(r);
    }
}

static int read_file(struct reader *x, struct err *e)
{
    struct json_reader *r = &x->r;
    enum json_token t = json_next(r);

    if (t == JSON_ARRAY) {
        read_events(x);
        /* A traced program that ends early leaves the array open. */
        x->cut = r->error && !r->refused && r->at >= r->end && x->events;
        return x->cut ? 0 : json_failure(r, e);
    }
    while (t == JSON_OBJECT && json_next_key(r)) {
        if (json_text_is(r, "otherData"))
            read_other(x);
        else if (!json_text_is(r, "traceEvents"))
            json_skip(r);
        else if (json_next(r) == JSON_ARRAY)
            read_events(x);
    }
    if (!r->depth)
        json_next(r); /* nothing may follow */
    return json_failure(r, e);
}

static int by_time(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;

    return x->call.start_ns < y->call.start_ns ? -1 : x->call.start_ns > y->call.start_ns;
}

static void match_marks(struct reader *x, struct track *t)
{
    sort_stable(t->mark.v, t->mark.n, sizeof *t->mark.v, by_time);
    for (size_t i = 0; i < t->mark.n; i++) {
        const struct mark *m = &t->mark.v[i];

        if (m->is_end)
            end_call(x, t, m->call.start_ns);
        else
            begin_call(x, t, m->call);
    }
}

static void forget_calls(struct reader *x, struct track *t)
{
    t->unmatched = 0;
    vec_clear(&t->open);
    if (t->id < x->calls.thread.n)
        vec_clear(&x->calls.thread.v[t->id].v);
}

/* Writers of B and E ought to sort them by time.  For one that does not, read the file again
 * instead of keeping every event of every file until its end. */
static int read_unsorted(struct reader *x, const struct import_input *in, struct err *e)
{
    int rc;

    for (size_t i = 0; i < x->track.n; i++)
        if (x->track.v[i].unsorted)
            forget_calls(x, &x->track.v[i]);
    x->again = true;
    json_reader_release(&x->r);
    json_reader_init(&x->r, (const char *)in->data, in->size);
    rc = read_file(x, e);
    for (size_t i = 0; i < x->track.n; i++)
        if (x->track.v[i].unsorted)
            match_marks(x, &x->track.v[i]);
    return rc;
}

static void write_facts(struct reader *x)
{
    uint64_t unmatched = 0;

    for (size_t i = 0; i < x->track.n; i++)
        unmatched += x->track.v[i].unmatched;
    sink_meta(x->out, "producer", "trace events");
    if (x->command[0])
        sink_meta(x->out, "command", x->command);
    if (x->cut)
        sink_meta(x->out, "file.damage", "the trace is truncated");
    if (unmatched)
        sink_meta_u64(x->out, "quality.unmatched", unmatched);
}

int chrome_import(const struct import_input *in, struct sink *out, struct err *e)
{
    struct reader x = { .out = out };
    int rc;

    intern_init(&x.in, out);
    json_reader_init(&x.r, (const char *)in->data, in->size);
    rc = read_file(&x, e);
    if (rc == 0 && x.unsorted)
        rc = read_unsorted(&x, in, e);
    if (rc == 0 && !x.events)
        rc = err_set(e, ERR_FORMAT, "the trace has no events");
    if (rc == 0) {
        end_open_calls(&x);
        write_facts(&x);
        calls_write(&x.calls, &x.in);
    }
    for (size_t i = 0; i < x.track.n; i++) {
        vec_release(&x.track.v[i].open);
        vec_release(&x.track.v[i].mark);
    }
    vec_release(&x.track);
    calls_release(&x.calls);
    umap_release(&x.track_of);
    umap_release(&x.process_of);
    umap_release(&x.frame_of);
    umap_release(&x.has_series);
    vec_release(&x.value);
    json_reader_release(&x.r);
    intern_release(&x.in);
    return sink_end(out, e) < 0 || rc < 0 ? -1 : 0;
}

/* An object with the member traceEvents, or an array whose first object has a phase. */
int chrome_recognize(const struct import_input *in)
{
    size_t n = in->size < 4096 ? in->size : 4096, i = 0;
    const char *s = (const char *)in->data;

    while (i < n && strchr(" \t\r\n", s[i]) && s[i])
        i++;
    if (i < n && s[i] == '[')
        return memmem(s, n, "\"ph\"", 4) ? 80 : 0;
    if (i < n && s[i] == '{' && memmem(s, n, "\"traceEvents\"", 13))
        return 90;
    return json_input_has_keys(in, (const char *const[]){ "traceEvents", NULL }) ? 80 : 0;
}
