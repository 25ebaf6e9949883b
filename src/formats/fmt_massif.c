/* fmt_massif.c - import massif output: the heap over time as counters, and the tree of the peak (or
 * of the last detailed snapshot) as stacks.  In the tree a line's children are its callers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/sat.h"
#include "formats/formats.h"
#include "formats/vgframe.h"

enum { MAX_DEPTH = 1024 };

struct node { /* of the current branch of the tree */
    uint32_t frame;
    int64_t bytes, below; /* below: sum of its children */
};

struct reader {
    struct sink *out;
    struct intern in;
    struct node *branch; /* MAX_DEPTH of them */
    size_t depth;
    bool time_is_ms;
    uint64_t time, snapshots;
    struct scan_text tree, peak, last; /* lines of trees */
    uint32_t metric;
    const char *at; /* current line in the tree, for messages */
};

static uint64_t number_of(struct scan_text t)
{
    uint64_t x = 0;

    scan_u64(&t, &x);
    return x;
}

static void count(struct reader *r, const char *name, struct scan_text value)
{
    struct counter c = { .name = intern_cstr(&r->in, name), .unit = intern_cstr(&r->in, "bytes"),
                         .value = (double)number_of(value) };

    /* Other units of massif (instructions, bytes) are not times, but define an order. */
    c.time_ns = r->time_is_ms ? r->time * 1000000 : r->time;
    sink_counter(r->out, &c);
}

static void write_node(struct reader *r)
{
    const struct node *n = &r->branch[--r->depth];
    struct sample m = { .metric = r->metric, .cpu = -1, .count = 1,
                        .weight = sat_add(n->bytes, -n->below) };

    if (r->depth)
        r->branch[r->depth - 1].below = sat_add(r->branch[r->depth - 1].below, n->bytes);
    for (size_t i = r->depth + 1; i--;)
        if (r->branch[i].frame)
            m.stack = intern_stack(&r->in, m.stack, r->branch[i].frame);
    if (m.weight > 0)
        sink_sample(r->out, &m);
}

/* " n1: 100000 0x109164: leak (ht.c:3)", indented by its depth. */
static bool read_node(struct reader *r, struct scan_text line)
{
    size_t depth = 0;
    struct node n = { 0 };
    uint64_t bytes;

    while (depth < line.n && line.s[depth] == ' ')
        depth++;
    scan_drop(&line, depth);
    if (!scan_take(&line, "n") || !scan_u64(&line, &bytes) || !scan_take(&line, ": ") ||
        !scan_u64(&line, &bytes) || bytes > INT64_MAX || depth >= MAX_DEPTH || depth > r->depth)
        return false;
    scan_space(&line);
    while (r->depth > depth)
        write_node(r);
    n.bytes = (int64_t)bytes;
    if (scan_starts(line, "in "))
        line = scan_of("[below massif's threshold]", 26);
    n.frame = depth ? vgframe_of(&r->in, line) : 0; /* the root is only a sum */
    r->branch[r->depth++] = n;
    return true;
}

static bool write_tree(struct reader *r, struct scan_text tree)
{
    struct scan_text line;

    r->metric = intern_metric(&r->in, &(struct metric){
                                          .name = intern_cstr(&r->in, "peak"),
                                          .unit = intern_cstr(&r->in, "bytes"),
                                          .about = intern_cstr(&r->in, "bytes live at the peak"),
                                          .flags = METRIC_EXACT | METRIC_LIVE });
    while (scan_line(&tree, &line)) {
        r->at = line.s;
        if (!read_node(r, line))
            return false;
    }
    while (r->depth)
        write_node(r);
    return true;
}

/* The lines of a tree follow `heap_tree=`; they end where a line begins with anything else. */
static struct scan_text tree_lines(struct scan_text *rest)
{
    struct scan_text tree = { rest->s, 0 }, line, after = *rest;

    while (scan_line(&after, &line) && line.n && (*line.s == ' ' || *line.s == 'n'))
        *rest = after;
    tree.n = (size_t)(rest->s - tree.s);
    return tree;
}

static void read_line(struct reader *r, struct scan_text line, struct scan_text *rest)
{
    if (scan_take(&line, "time="))
        r->time = number_of(line);
    else if (scan_take(&line, "mem_heap_B="))
        count(r, "heap", line);
    else if (scan_take(&line, "mem_heap_extra_B="))
        count(r, "heap overhead", line);
    else if (scan_take(&line, "mem_stacks_B="))
        count(r, "stacks", line);
    else if (scan_starts(line, "snapshot="))
        r->snapshots++;
    else if (scan_is(line, "heap_tree=peak"))
        r->peak = tree_lines(rest);
    else if (scan_is(line, "heap_tree=detailed"))
        r->last = tree_lines(rest);
    else if (scan_is(line, "time_unit: ms"))
        r->time_is_ms = true;
    else if (scan_take(&line, "cmd: ")) {
        char *command = mem_strndup(line.s, line.n);

        sink_meta(r->out, "command", command);
        free(command);
    }
}

static int import(const struct import_input *in, struct sink *out, struct err *e)
{
    struct reader r = { .out = out };
    struct scan_text rest = scan_of(in->data, in->size), line;
    int rc = 0;

    intern_init(&r.in, out);
    r.branch = mem_alloc(MAX_DEPTH * sizeof *r.branch);
    sink_meta(out, "producer", "valgrind --tool=massif");
    while (scan_line(&rest, &line))
        read_line(&r, line, &rest);
    if (!r.snapshots)
        rc = err_set(e, ERR_FORMAT, "the massif file has no snapshots");
    else if (!r.peak.n && !r.last.n)
        rc = err_set(e, ERR_FORMAT, "the massif file has no detailed snapshot");
    else if (!write_tree(&r, r.peak.n ? r.peak : r.last))
        rc = err_set(e, ERR_FORMAT, "line %zu: not a node of a massif tree "
                                     "(\" n1: 100 0x401136: f\")",
                     scan_line_number(in->data, r.at));
    free(r.branch);
    intern_release(&r.in);
    return sink_end(out, e) < 0 || rc < 0 ? -1 : 0;
}

static int recognize(const struct import_input *in)
{
    size_t n = in->size < 8192 ? in->size : 8192;

    return n > 6 && memcmp(in->data, "desc: ", 6) == 0 &&
                   memmem(in->data, n, "\ntime_unit: ", 12)
               ? 95
               : 0;
}

const struct format format_massif = {
    .name = "massif",
    .about = "heap profiles of Valgrind's massif",
    .recognize = recognize,
    .import = import,
};
