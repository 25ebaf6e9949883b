/* fmt_heaptrack.c - import heaptrack's interpreted files (versions 1 to 3, decompressed).
 *
 * Hexadecimal words: strings (s), places (i), stacks (t), kinds of allocation (a: size, stack),
 * then events: + and - by kind, c the time, R the resident pages.  Events are summed by stack.
 * The peak is exact, because each stack stores when it last changed (docs/internals/formats.md).
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sat.h"
#include "formats/formats.h"
#include "formats/pages.h"
#include "formats/textscan.h"
#include "profile/intern.h"

enum { SIZED_STRINGS = 3, MAX_CHAIN = 64 };

struct kind { /* of allocation: a size at a stack */
    uint32_t stack; /* index into totals */
    int64_t size;
};

struct total { /* by stack */
    uint32_t stack; /* id */
    int64_t bytes, blocks, temporary, live, live_blocks, peak;
    uint64_t epoch;
};

struct reader {
    struct sink *out;
    struct intern in;
    VEC(uint32_t) string; /* ids, index from 1 */
    VEC(uint32_t) frame;
    VEC(uint32_t) trace; /* stack ids */
    VEC(struct kind) kind;
    VEC(struct total) total;
    struct umap total_of; /* stack id -> index + 1 */
    int64_t live, highest;
    uint64_t epoch, version, page_bytes, time_ns, strange; /* strange: unrecognized lines */
    const char *bad; /* an event that refers to an undefined allocation */
    bool ended;      /* the comments at the end of heaptrack_interpret's output were read */
    uint64_t last_allocated; /* kind + 1 of the previous event if it was an allocation */
};

static bool hex(struct scan_text *t, uint64_t *x)
{
    scan_space(t);
    return scan_hex(t, x);
}

static void read_string(struct reader *r, struct scan_text t)
{
    uint64_t n;

    if (r->version >= SIZED_STRINGS && hex(&t, &n))
        scan_take(&t, " ");
    vec_push(&r->string, t.n ? intern_string(&r->in, t.s, t.n) : 0);
}

static uint32_t string_at(const struct reader *r, uint64_t i)
{
    return i && i <= r->string.n ? r->string.v[i - 1] : 0;
}

static uint32_t module_at(struct reader *r, uint64_t i)
{
    uint32_t path = string_at(r, i);

    return path ? intern_path(&r->in, path) : 0;
}

static uint32_t name_by_address(struct reader *r, uint64_t address, uint32_t module)
{
    char text[24];

    snprintf(text, sizeof text, "0x%" PRIx64, address);
    return intern_function(&r->in, &(struct function){ .name = intern_cstr(&r->in, text),
                                                       .module = module });
}

/* i ADDRESS MODULE [FUNCTION FILE LINE]...: innermost first, then the functions it was
 * inlined into. */
static void read_place(struct reader *r, struct scan_text t)
{
    struct location chain[MAX_CHAIN], outer_first[MAX_CHAIN];
    struct frame f = { .kind = FRAME_NATIVE };
    uint64_t address = 0, module = 0, name, file, line;
    size_t n = 0;

    hex(&t, &address);
    hex(&t, &module);
    f.module = module_at(r, module);
    f.address = address;
    while (n < MAX_CHAIN && hex(&t, &name)) {
        struct function fn = { .name = string_at(r, name), .module = f.module };

        file = line = 0;
        if (hex(&t, &file))
            hex(&t, &line);
        fn.file = string_at(r, file);
        if (fn.name)
            chain[n++] = (struct location){ intern_function(&r->in, &fn), (uint32_t)line };
    }
    if (!n && address) /* the file has no load address of the module */
        chain[n++] = (struct location){ name_by_address(r, address, f.module), 0 };
    for (size_t i = 0; i < n; i++)
        outer_first[i] = chain[n - 1 - i];
    vec_push(&r->frame, intern_frame(&r->in, &f));
    if (n)
        sink_resolve(r->out, r->frame.v[r->frame.n - 1], outer_first, n);
}

static void read_trace(struct reader *r, struct scan_text t)
{
    uint64_t place = 0, parent = 0;
    uint32_t stack;

    hex(&t, &place);
    hex(&t, &parent);
    stack = parent && parent <= r->trace.n ? r->trace.v[parent - 1] : 0;
    if (place && place <= r->frame.n)
        stack = intern_stack(&r->in, stack, r->frame.v[place - 1]);
    vec_push(&r->trace, stack);
}

static void read_kind(struct reader *r, struct scan_text t)
{
    uint64_t size = 0, trace = 0;
    uint32_t stack, at;

    hex(&t, &size);
    hex(&t, &trace);
    stack = trace && trace <= r->trace.n ? r->trace.v[trace - 1] : 0;
    at = umap_find(&r->total_of, stack);
    if (!at) {
        vec_push(&r->total, ((struct total){ .stack = stack }));
        at = (uint32_t)r->total.n;
        umap_put(&r->total_of, stack, at);
    }
    vec_push(&r->kind, ((struct kind){ at - 1, size > INT64_MAX / 2 ? 0 : (int64_t)size }));
}

/* The value of a stack at the peak is the one before its first change after the peak. */
static struct total *touch(struct reader *r, const struct kind *k)
{
    struct total *t = &r->total.v[k->stack];

    if (t->epoch != r->epoch) {
        t->peak = t->live;
        t->epoch = r->epoch;
    }
    return t;
}

static void allocate(struct reader *r, uint64_t i)
{
    const struct kind *k = &r->kind.v[i];
    struct total *t = touch(r, k);

    t->bytes = sat_add(t->bytes, k->size);
    t->blocks++;
    t->live = sat_add(t->live, k->size);
    t->live_blocks++;
    r->live = sat_add(r->live, k->size);
    if (r->live > r->highest) {
        r->highest = r->live;
        r->epoch++; /* a new peak: the current value of every stack counts */
    }
    r->last_allocated = i + 1;
}

static void release(struct reader *r, uint64_t i)
{
    const struct kind *k = &r->kind.v[i];
    struct total *t = touch(r, k);

    t->live = sat_add(t->live, -k->size);
    t->live_blocks--;
    r->live = sat_add(r->live, -k->size);
    t->temporary += r->last_allocated == i + 1;
    r->last_allocated = 0;
}

static void read_event(struct reader *r, char what, struct scan_text t)
{
    uint64_t i;

    if (!hex(&t, &i) || i >= r->kind.n) {
        r->bad = r->bad ? r->bad : t.s;
        return;
    }
    if (what == '+')
        allocate(r, i);
    else
        release(r, i);
}

static void read_resident(struct reader *r, struct scan_text t)
{
    uint64_t pages = 0;
    struct counter c = { .time_ns = r->time_ns, .name = intern_cstr(&r->in, "resident"),
                         .unit = intern_cstr(&r->in, "bytes") };

    hex(&t, &pages);
    c.value = (double)pages * (double)(r->page_bytes ? r->page_bytes : 4096);
    sink_counter(r->out, &c);
}

static void read_command(struct reader *r, struct scan_text t)
{
    char *command = mem_strndup(t.s, t.n);

    sink_meta(r->out, "command", command);
    free(command);
}

static void read_line(struct reader *r, struct scan_text line)
{
    char what = *line.s;

    scan_drop(&line, line.n > 1 ? 2 : 1);
    switch (what) {
    case '+':
    case '-':
        read_event(r, what, line);
        break;
    case 's':
        read_string(r, line);
        break;
    case 'i':
        read_place(r, line);
        break;
    case 't':
        read_trace(r, line);
        break;
    case 'a':
        read_kind(r, line);
        break;
    case 'c':
        if (hex(&line, &r->time_ns) && r->time_ns < UINT64_MAX / 1000000)
            r->time_ns *= 1000000;
        break;
    case 'R':
        read_resident(r, line);
        break;
    case 'X':
        read_command(r, line);
        break;
    case 'I':
        hex(&line, &r->page_bytes);
        break;
    case '#':
        r->ended |= scan_starts(line, "ips:");
        break;
    default:
        r->strange += what != 'A' && what != 'S'; /* A: attached, S: suppressions */
        break;
    }
}

static const struct column {
    const char *name, *unit, *about;
    size_t at;
    uint32_t flags;
} columns[] = {
    { "alloc", "bytes", "bytes allocated", offsetof(struct total, bytes), METRIC_EXACT },
    { "allocs", "blocks", "blocks allocated", offsetof(struct total, blocks), METRIC_EXACT },
    { "peak", "bytes", "bytes live at the peak", offsetof(struct total, peak), METRIC_EXACT },
    { "live", "bytes", "bytes live at the end", offsetof(struct total, live),
      METRIC_EXACT | METRIC_LIVE },
    { "live-blocks", "blocks", "blocks live at the end", offsetof(struct total, live_blocks),
      METRIC_EXACT | METRIC_LIVE },
    { "temporary", "blocks", "blocks freed before the next allocation",
      offsetof(struct total, temporary), METRIC_EXACT },
};

static void write_samples(struct reader *r)
{
    for (size_t c = 0; c < ARRAY_LEN(columns); c++) {
        struct sample m = { .cpu = -1 };

        m.metric = intern_metric(
            &r->in, &(struct metric){ .name = intern_cstr(&r->in, columns[c].name),
                                      .unit = intern_cstr(&r->in, columns[c].unit),
                                      .about = intern_cstr(&r->in, columns[c].about),
                                      .flags = columns[c].flags });
        for (size_t i = 0; i < r->total.n; i++) {
            struct total *t = &r->total.v[i];

            if (t->epoch != r->epoch)
                t->peak = t->live;
            memcpy(&m.weight, (char *)t + columns[c].at, sizeof m.weight);
            m.stack = t->stack;
            m.count = (uint64_t)t->blocks;
            if (m.weight)
                sink_sample(r->out, &m);
        }
    }
}

static int read_version(struct reader *r, struct scan_text line, struct err *e)
{
    uint64_t program;

    if (!scan_take(&line, "v ") || !hex(&line, &program))
        return err_set(e, ERR_FORMAT, "not a heaptrack file");
    if (!hex(&line, &r->version))
        r->version = 1;
    if (r->version > SIZED_STRINGS)
        return err_set(e, ERR_FORMAT, "unsupported heaptrack file version %u",
                       (unsigned)r->version);
    return 0;
}

static int read_file(struct reader *r, const struct import_input *in, struct err *e)
{
    struct scan_text rest = scan_of(in->data, in->size), line;
    size_t dropped = 0;

    if (!scan_line(&rest, &line) || read_version(r, line, e) < 0)
        return err_set(e, ERR_FORMAT, "not a heaptrack file");
    while (scan_line(&rest, &line)) {
        if (line.n)
            read_line(r, line);
        pages_drop(in, line.s, &dropped);
    }
    if (!r->total.n)
        return err_set(e, ERR_FORMAT, "the heaptrack file has no allocations");
    if (!r->bad)
        return 0;
    err_set(e, ERR_FORMAT, "line %zu: an event refers to an undefined allocation",
            scan_line_number(in->data, r->bad));
    err_hint(e, "run heaptrack_interpret on raw files first");
    return -1;
}

static void write_facts(const struct reader *r)
{
    sink_meta(r->out, "producer", "heaptrack");
    if (r->strange)
        sink_meta(r->out, "file.damage", "the file has lines that are not in heaptrack's format");
    else if (!r->ended)
        sink_meta(r->out, "file.damage", "the file is truncated");
}

static int import(const struct import_input *in, struct sink *out, struct err *e)
{
    struct reader r = { .out = out };
    int rc;

    intern_init(&r.in, out);
    rc = read_file(&r, in, e);
    if (rc == 0) {
        write_facts(&r);
        write_samples(&r);
    }
    vec_release(&r.string);
    vec_release(&r.frame);
    vec_release(&r.trace);
    vec_release(&r.kind);
    vec_release(&r.total);
    umap_release(&r.total_of);
    intern_release(&r.in);
    return sink_end(out, e) < 0 || rc < 0 ? -1 : 0;
}

/* "v PROGRAM FILE" and then "X COMMAND". */
static int recognize(const struct import_input *in)
{
    struct scan_text rest = scan_of(in->data, in->size < 8192 ? in->size : 8192), line;
    uint64_t x;

    if (!scan_line(&rest, &line) || !scan_take(&line, "v ") || !hex(&line, &x))
        return 0;
    return scan_line(&rest, &line) && (scan_starts(line, "X ") || scan_starts(line, "A")) ? 90
                                                                                         : 0;
}

const struct format format_heaptrack = {
    .name = "heaptrack",
    .about = "heap profiles of heaptrack (.gz, .zst)",
    .recognize = recognize,
    .import = import,
};
