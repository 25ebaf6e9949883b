/* costs.c - see costs.h.  Names are written as `(12) name` once and as `(12)` afterwards, positions
 * as +3, -2 or * relative to the last one.  The line after `calls=` contains the cost of the calls,
 * every other line self cost.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/costs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/callgraph.h"
#include "formats/pages.h"
#include "formats/textscan.h"

enum { MAX_NUMBER = 1 << 24 }; /* largest number of an abbreviated name */

struct names {
    VEC(uint32_t) string; /* by number: id, 0 when not defined yet */
};

struct place { /* a function: strings of its object, file and name */
    uint32_t object, file, name;
};

struct reader {
    struct sink *out;
    struct intern in;
    struct callgraph graph;
    struct names objects, files, functions;
    struct place at, callee;
    uint32_t line_file; /* of the cost lines: differs from at.file in inlined code */
    uint32_t here;      /* part index + 1, 0 until needed */
    bool callee_file, callee_object; /* were set by cfi=/cfl= and cob= */
    uint64_t calls;     /* of the next cost line, 0 when it is self cost */
    uint64_t address, line;
    bool has_address, has_line, has_events;
    uint64_t costs;
    double summary, totals; /* of the first event, as stated in the file */
    bool has_summary, cut;
};

static uint32_t abbreviated(struct reader *r, struct names *names, struct scan_text t)
{
    struct scan_text rest = t;
    uint64_t number;

    if (!scan_take(&rest, "(") || !scan_u64(&rest, &number) || !scan_take(&rest, ")") ||
        number >= MAX_NUMBER)
        return t.n ? intern_string(&r->in, t.s, t.n) : 0;
    scan_space(&rest);
    while (names->string.n <= number)
        vec_push(&names->string, 0);
    if (rest.n)
        names->string.v[number] = intern_string(&r->in, rest.s, rest.n);
    return names->string.v[number];
}

static bool is_unknown(const struct reader *r, uint32_t string)
{
    return strcmp(intern_text_of(&r->in, string), "???") == 0;
}

static struct function function_of(struct reader *r, const struct place *p)
{
    struct function f = { .name = p->name ? p->name : intern_cstr(&r->in, "???"),
                          .file = is_unknown(r, p->file) ? 0 : p->file };

    if (p->object && !is_unknown(r, p->object))
        f.module = intern_path(&r->in, p->object);
    return f;
}

static uint32_t function_at(struct reader *r, const struct place *p)
{
    struct function f = function_of(r, p);

    return callgraph_function(&r->graph, intern_function(&r->in, &f));
}

/* The part of the current lines: the function's own, or inlined into it from another file. */
static uint32_t part_at(struct reader *r)
{
    uint32_t function = function_at(r, &r->at), inlined = 0;

    if (r->line_file != r->at.file && r->line_file && !is_unknown(r, r->line_file)) {
        struct function f = function_of(r, &r->at);

        f.file = r->line_file;
        inlined = intern_function(&r->in, &f);
    }
    return callgraph_part(&r->graph, function, inlined);
}

static void read_events(struct reader *r, struct scan_text t)
{
    struct callgraph *g = &r->graph;

    if (r->has_events) /* the next part of the same program */
        return;
    r->has_events = true;
    for (;;) {
        struct scan_text name = scan_word(&t);
        bool is_ns;

        if (!name.n || g->n_values == CALLGRAPH_MAX_VALUES)
            return;
        is_ns = name.n > 3 && memcmp(name.s + name.n - 3, "-ns", 3) == 0;
        name.n -= is_ns ? 3 : 0;
        g->metric[g->n_values++] = intern_metric(
            &r->in, &(struct metric){ .name = intern_string(&r->in, name.s, name.n),
                                      .unit = intern_cstr(&r->in, is_ns ? "ns" : "events"),
                                      .flags = METRIC_EXACT });
    }
}

static void read_positions(struct reader *r, struct scan_text t)
{
    r->has_address = r->has_line = false;
    for (struct scan_text w = scan_word(&t); w.n; w = scan_word(&t)) {
        r->has_address |= scan_is(w, "instr");
        r->has_line |= scan_is(w, "line");
    }
}

static inline bool read_number(struct scan_text *t, uint64_t *x)
{
    if (t->n > 2 && t->s[0] == '0' && t->s[1] == 'x') {
        scan_drop(t, 2);
        return scan_hex(t, x);
    }
    return scan_u64(t, x);
}

static inline __attribute__((always_inline)) bool read_position(struct scan_text *t, uint64_t *x)
{
    char c = t->n ? *t->s : 0;
    uint64_t step = 0;

    if (scan_digit(c))
        return read_number(t, x);
    scan_drop(t, t->n > 0);
    if (c == '*')
        return true;
    if ((c != '+' && c != '-') || !read_number(t, &step))
        return false;
    *x = c == '+' ? *x + step : *x - step;
    return true;
}

static inline bool read_place(struct reader *r, struct scan_text *t)
{
    if (r->has_address) {
        if (!read_position(t, &r->address))
            return false;
        scan_space(t);
    }
    return !r->has_line || read_position(t, &r->line);
}

/* Parse the numbers up to the end of the line; omitted ones are 0. Returns the error, or NULL. */
static inline const char *read_values(struct reader *r, struct scan_text *t, int64_t *values)
{
    size_t n = 0;
    uint64_t x;

    for (;;) {
        while (t->n && *t->s == ' ')
            scan_drop(t, 1);
        if (!scan_u64(t, &x))
            break;
        if (n == r->graph.n_values)
            return "more costs than there are events";
        if (x > INT64_MAX)
            return "a cost that is too large";
        values[n++] = (int64_t)x;
    }
    while (n < r->graph.n_values)
        values[n++] = 0;
    return NULL;
}

static inline bool read_line_end(struct scan_text *t)
{
    scan_space(t);
    scan_take(t, "\r");
    return !t->n || scan_take(t, "\n");
}

/* Parse a line of costs and remove it from *REST. Returns the error, or NULL. */
static const char *read_cost(struct reader *r, struct scan_text *rest)
{
    struct scan_text t = *rest; /* a copy that fits in registers */
    int64_t values[CALLGRAPH_MAX_VALUES];
    const char *wrong;
    uint32_t line;

    if (!r->graph.n_values)
        return "costs before the events: line";
    if (!r->at.name && !r->at.file)
        return "costs before any function (fn=)";
    if (!read_place(r, &t))
        return "costs without a valid position";
    wrong = read_values(r, &t, values);
    if (wrong)
        return wrong;
    if (!read_line_end(&t))
        return "costs that are not numbers";
    *rest = t;
    if (!r->here)
        r->here = part_at(r) + 1;
    line = r->line <= UINT32_MAX ? (uint32_t)r->line : 0;
    if (r->calls)
        callgraph_call(&r->graph, r->here - 1, line, function_at(r, &r->callee),
                       (double)values[0], NULL);
    else
        callgraph_cost(&r->graph, r->here - 1, line, values);
    r->calls = 0;
    r->costs++;
    return NULL;
}

static void read_calls(struct reader *r, struct scan_text t)
{
    (void)scan_u64(&t, &r->calls);
    r->calls += r->calls == 0; /* the next line is the cost of a call even then */
    if (!r->callee_object)
        r->callee.object = r->at.object;
    if (!r->callee_file)
        r->callee.file = r->line_file;
    r->callee_file = r->callee_object = false;
}

static void set_function(struct reader *r, struct scan_text t)
{
    r->at.name = abbreviated(r, &r->functions, t);
    r->at.file = r->line_file;
    r->here = 0;
}

static void set_object(struct reader *r, struct scan_text t)
{
    r->at.object = abbreviated(r, &r->objects, t);
    r->here = 0;
}

static void set_callee_file(struct reader *r, struct scan_text t)
{
    r->callee.file = abbreviated(r, &r->files, t);
    r->callee_file = true;
}

static void set_callee_object(struct reader *r, struct scan_text t)
{
    r->callee.object = abbreviated(r, &r->objects, t);
    r->callee_object = true;
}

static void set_callee(struct reader *r, struct scan_text t)
{
    r->callee.name = abbreviated(r, &r->functions, t);
}

/* fl=, fi= and fe= set the file of the lines that follow; fn= makes it the function's file. */
static void set_file(struct reader *r, struct scan_text t)
{
    r->line_file = abbreviated(r, &r->files, t);
    r->here = 0;
}

static double first_number(struct scan_text t)
{
    uint64_t x = 0;

    scan_u64(&t, &x);
    return (double)x;
}

/* Each part of a file has one: add them. */
static void read_summary(struct reader *r, struct scan_text t)
{
    r->summary += first_number(t);
    r->has_summary = true;
}

static void read_totals(struct reader *r, struct scan_text t)
{
    r->totals += first_number(t);
}

static void read_command(struct reader *r, struct scan_text t)
{
    char *command = mem_strndup(t.s, t.n);

    if (*command)
        sink_meta(r->out, "command", command);
    free(command);
}

static const struct key {
    const char *text;
    void (*take)(struct reader *r, struct scan_text t);
} keys[] = {
    { "fn=", set_function },          { "cfn=", set_callee },
    { "calls=", read_calls },         { "fl=", set_file },
    { "fi=", set_file },              { "fe=", set_file },
    { "cfi=", set_callee_file },      { "cfl=", set_callee_file },
    { "ob=", set_object },            { "cob=", set_callee_object },
    { "events:", read_events },       { "positions:", read_positions },
    { "cmd:", read_command },         { "summary:", read_summary },
    { "totals:", read_totals },
};

static void read_line(struct reader *r, struct scan_text line)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (scan_take(&line, keys[i].text)) {
            scan_space(&line);
            keys[i].take(r, line);
            return;
        }
    /* Jumps (jump=, jcnd=) are followed by a line with a position only. */
}

static bool is_cost(char c)
{
    return scan_digit(c) || c == '+' || c == '-' || c == '*';
}

static void read_name_line(struct reader *r, struct scan_text *rest)
{
    struct scan_text line;

    scan_line(rest, &line);
    read_line(r, line);
    if (scan_starts(line, "jump=") || scan_starts(line, "jcnd="))
        scan_line(rest, &line);
}

static int read_file(struct reader *r, const struct import_input *in, struct err *e)
{
    struct scan_text rest = scan_of(in->data, in->size);
    size_t dropped = 0;

    r->has_line = true;
    while (rest.n && !r->cut) {
        const char *start = rest.s, *end = rest.s + rest.n, *wrong;

        if (!is_cost(*start)) {
            read_name_line(r, &rest);
            pages_drop(in, start, &dropped);
            continue;
        }
        wrong = read_cost(r, &rest);
        r->cut = wrong && r->costs && !memchr(start, '\n', (size_t)(end - start));
        if (wrong && !r->cut)
            return err_set(e, ERR_FORMAT, "line %zu: %s", scan_line_number(in->data, start),
                           wrong);
    }
    if (!r->has_events)
        return err_set(e, ERR_FORMAT, "no events: line");
    return r->costs ? 0 : err_set(e, ERR_FORMAT, "no function has any cost");
}

/* Compare the sum of the first event with the one stated in summary: or totals:. */
static void write_damage(struct reader *r, const struct costs_kind *kind)
{
    double all = 0, stated = r->summary > r->totals ? r->summary : r->totals;
    char text[128];

    for (size_t i = 0; i < r->graph.function.n; i++)
        all += r->graph.function.v[i].self;
    snprintf(text, sizeof text, "costs are missing: found %.0f of %.0f", all, stated);
    if (all < stated * 0.999)
        sink_meta(r->out, "file.damage", text);
    else if (r->cut || (kind->has_summary && !r->has_summary))
        sink_meta(r->out, "file.damage", "the file is truncated");
}

int costs_import(const struct import_input *in, const struct costs_kind *kind, struct sink *out,
                 struct err *e)
{
    struct reader r = { .out = out };
    int rc;

    intern_init(&r.in, out);
    callgraph_init(&r.graph, &r.in, FRAME_NATIVE);
    sink_meta(out, "producer", kind->producer);
    rc = read_file(&r, in, e);
    if (rc == 0) {
        write_damage(&r, kind);
        callgraph_write(&r.graph);
    }
    callgraph_release(&r.graph);
    vec_release(&r.objects.string);
    vec_release(&r.files.string);
    vec_release(&r.functions.string);
    intern_release(&r.in);
    return sink_end(out, e) < 0 || rc < 0 ? -1 : 0;
}
