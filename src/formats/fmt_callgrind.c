/* fmt_callgrind.c - export to callgrind's format (kcachegrind, callgrind_annotate).  costs.c
 * imports it.  All metrics become events; one in nanoseconds ends in -ns, since the format has no
 * units.  Names are abbreviated after their first use.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "formats/costs.h"
#include "formats/edges.h"
#include "formats/textscan.h"

struct writer {
    const struct profile *p;
    struct edges g;
    struct out *out;
    VEC(uint32_t) first_self, next_self; /* label - 1 and self index -> self index + 1 */
    VEC(uint32_t) first_call, next_call;
    struct intern files, objects, names; /* only their strings; numbers of abbreviations */
    struct sink nowhere;
    size_t said_files, said_objects, said_names;
    uint32_t *order; /* of labels */
};

static int by_line(const void *a, const void *b, void *edges)
{
    const struct edges_self *self = ((const struct edges *)edges)->self.v;
    uint32_t x = self[*(const uint32_t *)a].line, y = self[*(const uint32_t *)b].line;

    return x < y ? -1 : x > y;
}

/* Each label has a line once, so the order is unique. */
static void chain_lines(struct writer *w)
{
    size_t n = w->g.self.n;
    uint32_t *order = mem_alloc(n * sizeof *order);

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (n)
        qsort_r(order, n, sizeof *order, by_line, &w->g);
    for (size_t k = n; k--;) {
        uint32_t *first = &w->first_self.v[w->g.self.v[order[k]].label - 1];

        w->next_self.v[order[k]] = *first;
        *first = order[k] + 1;
    }
    free(order);
}

/* Chain the lines of each label in ascending order, and its calls in the order of names. */
static void build_chains(struct writer *w)
{
    size_t labels = an_labels_count(&w->g.labels);
    uint32_t *calls = edges_call_order(&w->g, w->order);

    vec_reserve(&w->first_self, labels + 1);
    vec_reserve(&w->first_call, labels + 1);
    vec_reserve(&w->next_self, w->g.self.n + 1);
    vec_reserve(&w->next_call, w->g.call.n + 1);
    memset(w->first_self.v, 0, (labels + 1) * sizeof *w->first_self.v);
    memset(w->first_call.v, 0, (labels + 1) * sizeof *w->first_call.v);
    chain_lines(w);
    for (size_t k = w->g.call.n; k--;) {
        uint32_t *first = &w->first_call.v[w->g.call.v[calls[k]].caller - 1];

        w->next_call.v[calls[k]] = *first;
        *first = calls[k] + 1;
    }
    free(calls);
}

/* "key=(3) name" the first time, "key=(3)" afterwards.  Line ends are replaced. */
static void put_name(struct writer *w, const char *key, struct intern *table, size_t *said,
                     const char *name)
{
    uint32_t id = intern_cstr(table, *name ? name : "???");

    out_str(w->out, key);
    out_str(w->out, "=(");
    out_u64(w->out, id);
    out_char(w->out, ')');
    if (id > *said) {
        out_char(w->out, ' ');
        for (const char *s = intern_text_of(table, id); *s; s++)
            out_char(w->out, *s == '\n' || *s == '\r' ? ' ' : *s);
        *said = id;
    }
    out_char(w->out, '\n');
}

static void put_place(struct writer *w, uint32_t label, const char *object, const char *file,
                      const char *function)
{
    struct an_label l = an_labels_get(&w->g.labels, label);
    uint32_t module = w->g.module.v[label - 1];

    put_name(w, object, &w->objects, &w->said_objects,
             module ? profile_string(w->p, w->p->module.v[module - 1].path) : "");
    put_name(w, file, &w->files, &w->said_files, l.file);
    put_name(w, function, &w->names, &w->said_names, l.name);
}

static void put_self(struct writer *w, size_t i)
{
    out_u64(w->out, w->g.self.v[i].line);
    for (size_t k = 0; k < w->g.n_values; k++) {
        out_char(w->out, ' ');
        out_i64(w->out, w->g.self_value.v[i * w->g.n_values + k]);
    }
    out_char(w->out, '\n');
}

static void put_call(struct writer *w, size_t i)
{
    const struct edges_call *c = &w->g.call.v[i];

    put_place(w, c->callee, "cob", "cfi", "cfn");
    out_str(w->out, "calls=");
    out_u64(w->out, w->g.call_count.v[i]);
    out_char(w->out, ' ');
    out_u64(w->out, an_labels_get(&w->g.labels, c->callee).line);
    out_char(w->out, '\n');
    out_u64(w->out, c->line);
    for (size_t k = 0; k < w->g.n_values; k++) {
        out_char(w->out, ' ');
        out_i64(w->out, w->g.call_value.v[i * w->g.n_values + k].total);
    }
    out_char(w->out, '\n');
}

static void put_event_names(struct writer *w)
{
    out_str(w->out, "events:");
    for (size_t i = 0; i < w->p->metric.n; i++) {
        const struct metric *m = &w->p->metric.v[i];

        out_char(w->out, ' ');
        for (const char *s = profile_string(w->p, m->name); *s; s++)
            out_char(w->out, (unsigned char)*s <= ' ' ? '_' : *s);
        if (strcmp(profile_string(w->p, m->unit), "ns") == 0)
            out_str(w->out, "-ns");
    }
    out_char(w->out, '\n');
}

static void put_head(struct writer *w)
{
    const char *command = profile_meta(w->p, "command");

    out_str(w->out, "# callgrind format\nversion: 1\ncreator: fathom\n");
    if (*command && !strchr(command, '\n'))
        out_printf(w->out, "cmd: %s\n", command);
    out_str(w->out, "positions: line\n");
    put_event_names(w);
    out_str(w->out, "summary:");
    for (size_t k = 0; k < w->g.n_values; k++) {
        int64_t all = 0;

        for (size_t i = 0; i < w->g.self.n; i++)
            all += w->g.self_value.v[i * w->g.n_values + k];
        out_char(w->out, ' ');
        out_i64(w->out, all);
    }
    out_char(w->out, '\n');
}

static void put_function(struct writer *w, uint32_t label)
{
    out_char(w->out, '\n');
    put_place(w, label, "ob", "fl", "fn");
    for (uint32_t i = w->first_self.v[label - 1]; i; i = w->next_self.v[i - 1])
        put_self(w, i - 1);
    for (uint32_t i = w->first_call.v[label - 1]; i; i = w->next_call.v[i - 1])
        put_call(w, i - 1);
}

static void put_graph(struct writer *w)
{
    w->order = edges_order(&w->g);
    build_chains(w);
    put_head(w);
    for (uint32_t i = 0; i < an_labels_count(&w->g.labels); i++)
        put_function(w, w->order[i]);
    free(w->order);
}

static int callgrind_write(const struct an_view *v, const struct export_options *o, struct out *out,
                           struct err *e)
{
    const struct profile *p = v->profile;
    struct writer w = { .p = p, .out = out };
    int rc;

    if (!p->metric.n)
        return err_set(e, ERR_MISSING, "the profile has no costs");
    intern_init(&w.files, &w.nowhere);
    intern_init(&w.objects, &w.nowhere);
    intern_init(&w.names, &w.nowhere);
    rc = edges_build(&w.g, p, e);
    if (rc == 0)
        put_graph(&w);
    edges_release(&w.g);
    intern_release(&w.files);
    intern_release(&w.objects);
    intern_release(&w.names);
    vec_release(&w.first_self);
    vec_release(&w.next_self);
    vec_release(&w.first_call);
    vec_release(&w.next_call);
    return rc;
}

static int import(const struct import_input *in, struct sink *out, struct err *e)
{
    static const struct costs_kind kind = { "valgrind --tool=callgrind", false };

    return costs_import(in, &kind, out, e);
}

/* Whether a line in the first N bytes begins with START. */
static bool has_line(const struct import_input *in, size_t n, const char *start)
{
    struct scan_text rest = scan_of(in->data, n), line;

    while (scan_line(&rest, &line))
        if (scan_starts(line, start))
            return true;
    return false;
}

/* Other tools write the format too, so require only events and functions. */
static int recognize(const struct import_input *in)
{
    size_t n = in->size < 65536 ? in->size : 65536;

    if (scan_starts(scan_of(in->data, n), "# callgrind format"))
        return 100;
    return has_line(in, n, "events:") && (has_line(in, n, "fn=") || has_line(in, n, "version:"))
               ? 80
               : 0;
}

const struct format format_callgrind = {
    .name = "callgrind",
    .extension = ".callgrind",
    .about = "callgrind (kcachegrind, callgrind_annotate)",
    .recognize = recognize,
    .import = import,
    .all_metrics = true,
    .write = callgrind_write,
};
