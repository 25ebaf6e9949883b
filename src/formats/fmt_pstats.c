/* fmt_pstats.c - Python's saved profiles (cProfile, pstats): a marshalled dictionary
 *
 *     (file, line, name): (primitive calls, calls, self s, total s, callers)
 *     callers: {(file, line, name): (calls, primitive calls, self s, total s)}
 *
 * Import converts the call graph to stacks (callgraph.h).  Export writes one metric in place of
 * Python's seconds; the number of calls is the metric "calls", or else the number of samples.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/callgraph.h"
#include "formats/edges.h"
#include "formats/formats.h"
#include "formats/marshal.h"

enum { TIME, CALLS, VALUES };
enum { CALL_FIELDS = 4, FUNCTION_FIELDS = 5, KEY_FIELDS = 3, EMPTY_DICT = 2 };

struct reader {
    struct marshal_reader m;
    struct intern in;
    struct callgraph graph;
    bool bad;
    uint64_t functions;
};

/* Read (file, line, name) as a function of the graph: index + 1, or 0 when it is invalid. */
static uint32_t read_key(struct reader *r, const struct marshal_object *key)
{
    struct marshal_object part[KEY_FIELDS];
    struct function f = { 0 };
    uint32_t at;

    if (key->kind != MARSHAL_TUPLE || (!key->known && key->n != KEY_FIELDS))
        return 0;
    if (key->known)
        return key->known;
    for (int i = 0; i < KEY_FIELDS; i++)
        part[i] = marshal_next(&r->m);
    if (part[0].kind != MARSHAL_TEXT || part[1].kind != MARSHAL_NUMBER ||
        part[2].kind != MARSHAL_TEXT)
        return 0;
    f.file = part[0].n ? intern_string(&r->in, part[0].text, part[0].n) : 0;
    f.line = part[1].number >= 0 && part[1].number < INT32_MAX ? (uint32_t)part[1].number : 0;
    f.name = part[2].n ? intern_string(&r->in, part[2].text, part[2].n)
                       : intern_cstr(&r->in, "[unknown]");
    at = callgraph_function(&r->graph, intern_function(&r->in, &f)) + 1;
    marshal_remember(&r->m, key, at);
    return at;
}

static int64_t nanoseconds(double s)
{
    return s > 0 && s < 9e9 ? llround(s * 1e9) : 0;
}

static bool read_numbers(struct reader *r, double *x, int n)
{
    for (int i = 0; i < n; i++) {
        struct marshal_object o = marshal_next(&r->m);

        if (o.kind != MARSHAL_NUMBER)
            return false;
        x[i] = o.number;
    }
    return true;
}

static int64_t count_of(double x)
{
    return x > 0 && x < 9e18 ? (int64_t)x : 0;
}

/* Read the pairs of a dictionary of callers. */
static bool read_callers(struct reader *r, uint32_t callee)
{
    for (;;) {
        struct marshal_object key = marshal_next(&r->m), value;
        uint32_t caller;
        double x[CALL_FIELDS] = { 0 };
        int64_t self[VALUES];

        if (key.kind == MARSHAL_END)
            return true;
        caller = read_key(r, &key);
        value = caller ? marshal_next(&r->m) : (struct marshal_object){ 0 };
        if (value.kind == MARSHAL_NUMBER)
            x[0] = value.number; /* written by the old pure Python profiler: calls only */
        else if (value.kind != MARSHAL_TUPLE || value.n != CALL_FIELDS || value.known ||
                 !read_numbers(r, x, CALL_FIELDS))
            return false;
        self[TIME] = nanoseconds(x[2]);
        self[CALLS] = count_of(x[0]);
        callgraph_call(&r->graph, callgraph_part(&r->graph, caller - 1, 0), 0, callee - 1,
                       (double)nanoseconds(x[3]), self);
    }
}

static bool read_function(struct reader *r, const struct marshal_object *key)
{
    uint32_t at = read_key(r, key);
    struct marshal_object value = at ? marshal_next(&r->m) : (struct marshal_object){ 0 };
    double x[CALL_FIELDS];
    int64_t cost[VALUES];

    if (value.kind != MARSHAL_TUPLE || value.n != FUNCTION_FIELDS || value.known ||
        !read_numbers(r, x, CALL_FIELDS))
        return false;
    cost[TIME] = nanoseconds(x[2]);
    cost[CALLS] = count_of(x[1]);
    callgraph_cost(&r->graph, callgraph_part(&r->graph, at - 1, 0), 0, cost);
    r->functions++;
    return marshal_next(&r->m).kind == MARSHAL_DICT && read_callers(r, at);
}

static int read_file(struct reader *r, const struct import_input *in, struct err *e)
{
    struct marshal_object key;

    if (marshal_next(&r->m).kind != MARSHAL_DICT)
        return err_set(e, ERR_FORMAT, "not a saved Python profile");
    while ((key = marshal_next(&r->m)).kind != MARSHAL_END)
        if (key.kind == MARSHAL_BAD || !read_function(r, &key))
            return err_set(e, ERR_FORMAT, "a truncated or invalid Python profile, at byte %zu",
                           (size_t)(r->m.c.p - in->data));
    return r->functions ? 0 : err_set(e, ERR_FORMAT, "the Python profile has no functions");
}

static int import(const struct import_input *in, struct sink *out, struct err *e)
{
    struct reader r = { .m = { .c = cursor_of(in->data, in->size) } };
    int rc;

    intern_init(&r.in, out);
    callgraph_init(&r.graph, &r.in, FRAME_PYTHON);
    r.graph.n_values = VALUES;
    r.graph.metric[TIME] = intern_metric(&r.in, &(struct metric){
                                                    .name = intern_cstr(&r.in, "time"),
                                                    .unit = intern_cstr(&r.in, "ns"),
                                                    .flags = METRIC_EXACT });
    r.graph.metric[CALLS] = intern_metric(&r.in, &(struct metric){
                                                     .name = intern_cstr(&r.in, "calls"),
                                                     .unit = intern_cstr(&r.in, "calls"),
                                                     .flags = METRIC_EXACT });
    sink_meta(out, "producer", "cProfile");
    rc = read_file(&r, in, e);
    if (rc == 0)
        callgraph_write(&r.graph);
    callgraph_release(&r.graph);
    marshal_release(&r.m);
    intern_release(&r.in);
    return sink_end(out, e) < 0 || rc < 0 ? -1 : 0;
}

/* A dictionary whose first key is a triple, or an empty one, which import rejects. */
static int recognize(const struct import_input *in)
{
    struct cursor c = cursor_of(in->data, in->size);
    uint8_t dict = cur_u8(&c) & 0x7f, key = cur_u8(&c) & 0x7f;

    if (dict != '{' || c.failed || in->data[0] == ' ')
        return 0;
    if (key == '0')
        return in->size == 2 ? 50 : 0;
    return (key == ')' && cur_u8(&c) == KEY_FIELDS) || (key == '(' && cur_u32(&c) == KEY_FIELDS)
               ? 85
               : 0;
}

struct writer {
    struct edges g;
    struct buf b;
    uint32_t metric, calls; /* indexes; calls: index + 1, 0 none */
    double scale;
    VEC(uint32_t) first, next; /* calls by callee, index + 1 */
};

static void put_key(struct writer *w, uint32_t label)
{
    struct an_label l = an_labels_get(&w->g.labels, label);

    marshal_tuple(&w->b, KEY_FIELDS);
    marshal_text(&w->b, *l.file ? l.file : "~", *l.file ? strlen(l.file) : 1);
    marshal_int(&w->b, l.line);
    marshal_text(&w->b, l.name, strlen(l.name));
}

static void put_figures(struct writer *w, uint64_t calls, const struct edges_value *v)
{
    marshal_int(&w->b, calls);
    marshal_int(&w->b, calls);
    marshal_double(&w->b, (double)v->self / w->scale);
    marshal_double(&w->b, (double)v->total / w->scale);
}

static uint64_t calls_of(const struct writer *w, const struct edges_value *v, uint64_t samples)
{
    int64_t n = w->calls ? v[w->calls - 1].self : (int64_t)samples;

    return n > 0 ? (uint64_t)n : 0;
}

/* Whether V has a cost of this metric, not only of others in the profile. */
static bool counts(const struct writer *w, const struct edges_value *v)
{
    return v[w->metric].self || v[w->metric].total || (w->calls && v[w->calls - 1].self);
}

static void put_function(struct writer *w, uint32_t label)
{
    const struct edges_value *v = &w->g.function.v[(label - 1) * w->g.n_values];

    if (!counts(w, v))
        return;
    put_key(w, label);
    marshal_tuple(&w->b, FUNCTION_FIELDS);
    put_figures(w, calls_of(w, v, w->g.function_count.v[label - 1]), &v[w->metric]);
    marshal_dict(&w->b);
    for (uint32_t i = w->first.v[label - 1]; i; i = w->next.v[i - 1]) {
        const struct edges_value *c = &w->g.call_value.v[(i - 1) * w->g.n_values];

        if (!counts(w, c))
            continue;
        put_key(w, w->g.call.v[i - 1].caller);
        marshal_tuple(&w->b, CALL_FIELDS);
        put_figures(w, calls_of(w, c, w->g.call_count.v[i - 1]), &c[w->metric]);
    }
    marshal_dict_end(&w->b);
}

static void chain_callers(struct writer *w, const uint32_t *order)
{
    size_t n = an_labels_count(&w->g.labels);
    uint32_t *calls = edges_call_order(&w->g, order);

    vec_reserve(&w->first, n + 1);
    memset(w->first.v, 0, (n + 1) * sizeof *w->first.v);
    vec_reserve(&w->next, w->g.call.n + 1);
    for (size_t k = w->g.call.n; k--;) {
        uint32_t i = calls[k], callee = w->g.call.v[i].callee;

        w->next.v[i] = w->first.v[callee - 1];
        w->first.v[callee - 1] = i + 1;
    }
    free(calls);
}

static void put_graph(struct writer *w)
{
    uint32_t *order = edges_order(&w->g);

    chain_callers(w, order);
    marshal_dict(&w->b);
    for (uint32_t i = 0; i < an_labels_count(&w->g.labels); i++)
        put_function(w, order[i]);
    marshal_dict_end(&w->b);
    free(order);
}

static int pstats_write(const struct an_view *v, const struct export_options *o, struct out *out,
                        struct err *e)
{
    const struct profile *p = v->profile;
    uint32_t metric = export_metric(v, e);
    struct writer w = { .metric = metric - 1, .calls = profile_find_metric(p, "calls") };
    int rc;

    if (!metric)
        return -1;
    w.scale = strcmp(profile_string(p, p->metric.v[metric - 1].unit), "ns") == 0 ? 1e9 : 1;
    rc = edges_build(&w.g, p, e);
    if (rc == 0) {
        put_graph(&w);
        out_add(out, w.b.data, w.b.n);
        if (w.b.n <= EMPTY_DICT)
            rc = err_set(e, ERR_MISSING, "no function has a cost; pstats rejects empty files");
    }
    buf_release(&w.b);
    edges_release(&w.g);
    vec_release(&w.first);
    vec_release(&w.next);
    return rc;
}

const struct format format_pstats = {
    .name = "pstats",
    .extension = ".prof",
    .about = "Python's cProfile and pstats",
    .recognize = recognize,
    .import = import,
    .is_binary = true,
    .write = pstats_write,
};
