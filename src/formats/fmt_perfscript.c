/* fmt_perfscript.c - import the text output of `perf script`.
 *
 *     comm  pid/tid [cpu] seconds.fraction:  period event:
 *             address symbol+0xoffset (module)
 *             ...                               leaf first; a blank line ends the sample
 *
 * All fields but the name may be missing (perf script -F); without call chains the address follows
 * the event.  The name may contain spaces, so a line is parsed backwards from its time.  Lines of
 * frames repeat: each distinct line is parsed once.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/sat.h"
#include "formats/formats.h"
#include "formats/pages.h"
#include "formats/textscan.h"
#include "perf/perf_event.h"
#include "profile/intern.h"
#include "profile/module_kind.h"

enum { LOOK_BYTES = 1 << 16, MAX_HEAD = 1024 };

struct head { /* the first line of a sample */
    struct scan_text comm, event, rest;
    int64_t pid, tid;
    int32_t cpu;
    uint64_t time_ns, period;
    bool has_period;
    bool is_record; /* not a sample: PERF_RECORD_COMM, _SWITCH ... */
};

struct importer {
    struct intern in;
    struct sink *out;
    struct arena arena;
    struct index texts; /* of frame lines */
    VEC(struct scan_text) text;
    struct umap thread_of, process_of, metric_of;
    struct umap is_named; /* process id -> 1: its first thread was seen */
    VEC(uint32_t) frame;           /* of the current sample, leaf first */
    VEC(struct scan_text) inlined; /* lines before the frame they were inlined into, */
    struct scan_text inlined_at;   /* and their common address */
    struct sample m;
    bool in_sample, has_clock_metric;
    bool has_full_heads; /* not only names, pids, tids and cpus */
    uint64_t samples;
};

/* Parse "1234.567890", the word before a colon, to nanoseconds. */
static bool read_time(struct scan_text t, uint64_t *ns)
{
    uint64_t s, fraction = 0;
    size_t digits;

    if (!scan_u64(&t, &s) || !scan_take(&t, "."))
        return false;
    digits = t.n;
    if (!scan_u64(&t, &fraction) || t.n || digits > 9 || s > 9000000000u)
        return false;
    for (; digits < 9; digits++)
        fraction *= 10;
    *ns = s * 1000000000u + fraction;
    return true;
}

/* Remove and return the last word of T. */
static struct scan_text last_word(struct scan_text *t)
{
    struct scan_text w;
    size_t at;

    scan_trim(t);
    at = t->n;
    while (at && t->s[at - 1] != ' ' && t->s[at - 1] != '\t')
        at--;
    w = scan_of(t->s + at, t->n - at);
    t->n = at;
    return w;
}

/* Parse the fields before the time: name, pid/tid, [cpu]. */
static bool read_who(struct scan_text who, struct head *h)
{
    struct scan_text w = last_word(&who);
    uint64_t cpu;

    h->cpu = -1;
    if (scan_take(&w, "[")) {
        if (!scan_u64(&w, &cpu) || !scan_is(w, "]") || cpu > INT32_MAX)
            return false;
        h->cpu = (int32_t)cpu;
        w = last_word(&who);
    }
    if (!scan_i64(&w, &h->tid))
        return false;
    h->pid = h->tid;
    if (scan_take(&w, "/") && !scan_i64(&w, &h->tid))
        return false;
    scan_trim(&who);
    h->comm = who;
    return w.n == 0 && who.n > 0;
}

static const struct scan_text any_event = { "samples", 7 };

static bool is_number(struct scan_text t, uint64_t *x)
{
    return scan_u64(&t, x) && !t.n;
}

/* Parse the fields after the time: period, event and address, all optional. */
static bool read_what(struct scan_text t, struct head *h)
{
    struct scan_text w = scan_word(&t);

    h->has_period = is_number(w, &h->period);
    if (h->has_period)
        w = scan_word(&t);
    else
        h->period = 1;
    h->is_record = scan_starts(w, "PERF_RECORD_");
    if (h->is_record)
        return true;
    if (w.n && (w.n < 2 || w.s[w.n - 1] != ':'))
        return false;
    h->event = w.n ? scan_of(w.s, w.n - 1) : any_event;
    h->rest = t;
    return true;
}

static bool read_head(struct scan_text line, struct head *h)
{
    struct scan_text rest = line;

    while (rest.n && line.n <= MAX_HEAD) {
        struct scan_text before = scan_until(&rest, ':'), time;
        struct scan_text who = scan_of(line.s, (size_t)(before.s + before.n - line.s));

        time = last_word(&who);
        if (read_time(time, &h->time_ns) && read_who(who, h) && read_what(rest, h))
            return true;
    }
    return false;
}

/* Lines of the form `comm pid event:` that lack a time. */
static bool read_head_without_time(struct scan_text line, struct head *h)
{
    struct scan_text event, period;

    *h = (struct head){ .cpu = -1 };
    event = last_word(&line);
    if (event.n < 2 || event.s[event.n - 1] != ':')
        return false;
    h->event = scan_of(event.s, event.n - 1);
    h->rest = scan_of("", 0);
    period = last_word(&line);
    h->has_period = is_number(period, &h->period);
    if (h->has_period && read_who(line, h))
        return true;
    h->has_period = false; /* it was the tid */
    h->period = 1;
    line.n = (size_t)(period.s + period.n - line.s);
    return read_who(line, h);
}

/* A line with only a name and optional pid, tid and cpu. */
static bool read_bare_head(struct scan_text line, struct head *h)
{
    struct scan_text who = line;

    *h = (struct head){ .cpu = -1, .event = any_event, .period = 1 };
    scan_trim(&line);
    if (!read_who(who, h))
        h->comm = line;
    return line.n > 0;
}

static bool starts_with_frame(struct scan_text rest)
{
    if (!scan_take(&rest, "\t"))
        return false;
    scan_space(&rest);
    return scan_skip_hex(&rest) && rest.n && *rest.s == ' ';
}

/* A sample without frames: perf ends its only line with a space. */
static bool is_bare_sample(struct scan_text line, struct scan_text rest)
{
    return line.n && line.s[line.n - 1] == ' ' && *line.s != ' ' && *line.s != '\t' &&
           (scan_starts(rest, "\n") || scan_starts(rest, "\r\n"));
}

struct parts { /* of a frame's line, after the address */
    struct scan_text symbol, module;
};

/* Position of the opening bracket that matches the last character of T; 0 when there is none. */
static size_t last_bracket(struct scan_text t)
{
    size_t at = t.n;
    int depth = 0;

    while (at--) {
        depth += t.s[at] == ')';
        depth -= t.s[at] == '(';
        if (depth == 0)
            return t.n && at && t.s[at] == '(' && t.s[at - 1] == ' ' ? at : 0;
    }
    return 0;
}

/* "symbol+0x1f (/usr/lib/x.so)"; both may contain spaces and brackets. */
static struct parts parse_parts(struct scan_text t)
{
    struct parts p = { .symbol = t };
    size_t at;

    scan_trim(&p.symbol);
    t = p.symbol;
    at = last_bracket(t);
    if (at) {
        p.module = scan_of(t.s + at + 1, t.n - at - 2);
        p.symbol = scan_of(t.s, at - 1);
    }
    for (size_t i = p.symbol.n; i > 3; i--)
        if (memcmp(p.symbol.s + i - 3, "+0x", 3) == 0) {
            p.symbol.n = i - 3;
            break;
        }
    return p;
}

static uint32_t module_of(struct importer *im, struct scan_text path)
{
    if (!path.n || scan_is(path, "[unknown]") || scan_is(path, "inlined"))
        return 0;
    if (scan_starts(path, "[kernel")) /* "[kernel.kallsyms]" */
        path = scan_of("[kernel]", 8);
    return intern_path(&im->in, intern_string(&im->in, path.s, path.n));
}

static struct location place_of(struct importer *im, struct parts p, uint32_t module)
{
    struct function f = { .module = module };

    f.name = p.symbol.n ? intern_string(&im->in, p.symbol.s, p.symbol.n)
                        : intern_cstr(&im->in, "[unknown]");
    return (struct location){ intern_function(&im->in, &f), 0 };
}

/* Define a frame with the calls inlined into it, whose lines precede it, innermost first. */
static uint32_t define_frame(struct importer *im, struct scan_text text)
{
    enum { MAX_CHAIN = 64 };
    struct parts p = parse_parts(text);
    uint32_t module = module_of(im, p.module);
    struct location chain[MAX_CHAIN];
    struct frame f = { .module = module };
    size_t n = 0;

    if (module)
        f.kind = module_frame_kind(im->in.module.v[module - 1].kind);
    chain[n++] = place_of(im, p, module);
    for (size_t i = im->inlined.n; i-- && n < MAX_CHAIN;)
        chain[n++] = place_of(im, parse_parts(im->inlined.v[i]), module);
    vec_push(&im->text, ((struct scan_text){ NULL, 0 }));
    sink_frame(im->out, &f);
    sink_resolve(im->out, (uint32_t)im->text.n, chain, n);
    return (uint32_t)im->text.n;
}

/* KEY is all text that defines the frame: its line, with the inlined lines before it. */
static uint32_t frame_of(struct importer *im, struct scan_text key, struct scan_text text)
{
    uint64_t h = hash_bytes(key.s, key.n);
    uint32_t id;

    for (uint32_t at = index_first(&im->texts, h); (id = index_id(&im->texts, h, &at));) {
        const struct scan_text *t = &im->text.v[id - 1];

        if (t->n == key.n && memcmp(t->s, key.s, key.n) == 0)
            return id;
    }
    id = define_frame(im, text);
    im->text.v[id - 1] = scan_of(arena_strndup(&im->arena, key.s, key.n), key.n);
    index_add(&im->texts, h, id);
    return id;
}

/* TEXT ends the frame that the inlined lines began. */
static void add_frame(struct importer *im, struct scan_text text)
{
    const char *begin = im->inlined.n ? im->inlined.v[0].s : text.s;
    struct scan_text key = scan_of(begin, (size_t)(text.s + text.n - begin));

    vec_push(&im->frame, frame_of(im, key, text));
    vec_clear(&im->inlined);
}

/* For code whose symbol is that of an inlined function, perf prints no line with a module: the
 * inlined lines are a frame. */
static void end_inlined(struct importer *im)
{
    if (im->inlined.n)
        add_frame(im, im->inlined.v[--im->inlined.n]);
}

static bool is_inlined(struct scan_text t)
{
    static const char mark[] = "(inlined)";
    const size_t n = sizeof mark - 1;

    return t.n > n && memcmp(t.s + t.n - n, mark, n) == 0;
}

/* Inlined calls have the address of the frame they were inlined into. */
static void take_frame(struct importer *im, struct scan_text address, struct scan_text text)
{
    if (im->inlined.n && (im->inlined_at.n != address.n ||
                          memcmp(im->inlined_at.s, address.s, address.n) != 0))
        end_inlined(im);
    if (is_inlined(text)) {
        vec_push(&im->inlined, text);
        im->inlined_at = address;
    } else {
        add_frame(im, text);
    }
}

static void frame_line(struct importer *im, struct scan_text line)
{
    struct scan_text address;

    scan_space(&line);
    address = line;
    if (!im->in_sample || !scan_skip_hex(&line) || !line.n || *line.s != ' ')
        return; /* a source line, or output of another tool */
    address.n -= line.n;
    scan_drop(&line, 1);
    take_frame(im, address, line);
}

/* The process of a thread that is new or has a new name.  The first thread has the name of the
 * process: if it gets another, the process executes another program, which is another item. */
static uint32_t process_of(struct importer *im, const struct head *h, uint32_t name)
{
    uint32_t id = umap_find(&im->process_of, (uint64_t)h->pid);
    struct process x = { .pid = h->pid, .name = name };

    if (id && h->tid != h->pid)
        return id;
    if (id && !umap_find(&im->is_named, id))
        sink_update_process(im->out, id, &x); /* so far it has the name of another thread */
    else
        id = intern_process(&im->in, &x);
    umap_put(&im->process_of, (uint64_t)h->pid, id);
    if (h->tid == h->pid)
        umap_put(&im->is_named, id, 1);
    return id;
}

static uint32_t thread_of(struct importer *im, const struct head *h)
{
    uint32_t name = intern_string(&im->in, h->comm.s, h->comm.n), id;
    uint64_t key = hash_pair(hash_pair((uint64_t)h->pid, (uint64_t)h->tid), name);

    id = umap_find(&im->thread_of, key);
    if (id)
        return id;
    id = intern_thread(&im->in, &(struct thread){ .process = process_of(im, h, name),
                                                  .name = name, .tid = h->tid });
    umap_put(&im->thread_of, key, id);
    return id;
}

/* Modifiers may follow the name: "cpu-clock:u". */
static bool is_clock(struct scan_text event)
{
    return scan_starts(event, "cpu-clock") || scan_starts(event, "task-clock");
}

static uint32_t metric_of(struct importer *im, const struct head *h)
{
    uint32_t event = intern_string(&im->in, h->event.s, h->event.n);
    uint32_t id = umap_find(&im->metric_of, event);
    bool is_time = h->has_period && is_clock(h->event);
    const char *unit = !h->has_period ? "samples" : is_time ? "ns" : "events";
    struct metric m = { .name = event, .unit = intern_cstr(&im->in, unit) };

    if (id)
        return id;
    if (is_time && !im->has_clock_metric) { /* as the recorder calls it */
        m.name = intern_cstr(&im->in, PERF_CPU_METRIC);
        im->has_clock_metric = true;
    }
    id = intern_metric(&im->in, &m);
    umap_put(&im->metric_of, event, id);
    return id;
}

static void end_sample(struct importer *im)
{
    uint32_t stack = 0;

    if (!im->in_sample)
        return;
    end_inlined(im);
    for (size_t i = im->frame.n; i--;)
        stack = intern_stack(&im->in, stack, im->frame.v[i]);
    im->m.stack = stack;
    sink_sample(im->out, &im->m);
    im->samples++;
    im->in_sample = false;
    vec_clear(&im->frame);
}

/* Without a call chain, the frame follows the event: optional numbers, an address, its symbol and
 * module, optional numbers. */
static void frame_in_head(struct importer *im, struct scan_text t)
{
    for (struct scan_text more = t;; t = more) {
        struct scan_text one = scan_word(&more), ahead = more, two = scan_word(&ahead);

        if (!one.n || !scan_skip_hex(&two) || two.n)
            break;
        scan_space(&ahead);
        if (!ahead.n || *ahead.s == '(') /* "7f12 add (x.so)": the second is a name */
            break;
    }
    while (t.n && t.s[t.n - 1] != ')' && memchr(t.s, ')', t.n))
        t.n--;
    scan_trim(&t);
    if (t.n)
        frame_line(im, t);
}

static bool find_head(struct importer *im, struct scan_text line, struct scan_text rest,
                      struct head *h)
{
    if (read_head(line, h) || read_head_without_time(line, h))
        return im->has_full_heads = true;
    if (!starts_with_frame(rest) && (im->has_full_heads || !is_bare_sample(line, rest)))
        return false;
    return read_bare_head(line, h);
}

static void head_line(struct importer *im, struct scan_text line, struct scan_text rest)
{
    struct head h = { 0 };

    end_sample(im);
    if (*line.s == '#')
        return;
    if (!find_head(im, line, rest, &h) || h.is_record)
        return;
    im->in_sample = true;
    im->m = (struct sample){ .thread = thread_of(im, &h),
                             .metric = metric_of(im, &h), .cpu = h.cpu,
                             .weight = sat_of_u64(h.period),
                             .count = 1 };
    sample_ends_at(&im->m, h.time_ns, h.has_period && is_clock(h.event) ? h.period : 0);
    frame_in_head(im, h.rest);
}

/* The line of a frame begins with a tab, or with spaces if tabs were converted.  The line of a
 * sample also begins with spaces if the name is right-aligned. */
static void take_line(struct importer *im, struct scan_text line, struct scan_text rest)
{
    struct head h;

    if (!line.n)
        end_sample(im);
    else if (*line.s == '\t' || (*line.s == ' ' && !read_head(line, &h)))
        frame_line(im, line);
    else
        head_line(im, line, rest);
}

static int import(const struct import_input *in, struct sink *out, struct err *e)
{
    struct importer im = { .out = out };
    struct scan_text rest = scan_of(in->data, in->size), line;
    size_t dropped = 0;
    int rc = 0;

    intern_init(&im.in, out);
    while (scan_line(&rest, &line)) {
        take_line(&im, line, rest);
        if (!im.in_sample)
            pages_drop(in, line.s, &dropped);
    }
    end_sample(&im);
    sink_meta(out, "producer", "perf script");
    if (!im.samples)
        rc = err_set(e, ERR_FORMAT, "no line of this perf script output starts a sample");
    index_release(&im.texts);
    vec_release(&im.text);
    vec_release(&im.frame);
    vec_release(&im.inlined);
    umap_release(&im.thread_of);
    umap_release(&im.process_of);
    umap_release(&im.is_named);
    umap_release(&im.metric_of);
    arena_release(&im.arena);
    intern_release(&im.in);
    return sink_end(out, e) < 0 || rc < 0 ? -1 : 0;
}

/* The first line that is not a comment must start a sample or another record. */
static int recognize(const struct import_input *in)
{
    struct scan_text rest = scan_of(in->data, in->size < LOOK_BYTES ? in->size : LOOK_BYTES);
    struct scan_text line;
    struct head h;

    if (memchr(rest.s, 0, rest.n))
        return 0;
    while (scan_line(&rest, &line)) {
        if (!line.n || *line.s == '#')
            continue;
        if (read_head(line, &h))
            return 85;
        if (read_head_without_time(line, &h) && rest.n && *rest.s == '\t')
            return 60;
        if (is_bare_sample(line, rest))
            continue;
        return *line.s != ' ' && *line.s != '\t' && starts_with_frame(rest) &&
               read_bare_head(line, &h) ? 40 : 0;
    }
    return 0;
}

const struct format format_perfscript = {
    .name = "perf-script",
    .about = "output of perf script",
    .recognize = recognize,
    .import = import,
};
