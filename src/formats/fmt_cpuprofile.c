/* fmt_cpuprofile.c - import V8's .cpuprofile (Node, Chrome's developer tools): a tree of
 * nodes, and the node of each sample with the microseconds since the previous one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "formats/formats.h"
#include "formats/json_input.h"

struct node {
    uint64_t id;
    uint32_t frame, parent; /* parent: index + 1 */
    uint32_t first, n;      /* children's ids in the pool */
    uint32_t stack;         /* id, 0 until used */
    uint64_t hits;
};

struct reader {
    struct json_reader r;
    struct sink *out;
    struct intern in;
    VEC(struct node) node;
    VEC(uint64_t) pool, sample;
    VEC(int64_t) delta;
    struct umap at; /* id -> index + 1 */
    int64_t start_us, end_us;
    VEC(uint32_t) path; /* scratch */
};

static uint32_t read_call_frame(struct reader *x)
{
    struct json_reader *r = &x->r;
    struct function f = { 0 };
    int64_t line = -1;

    if (!json_input_object(r))
        return 0;
    while (json_next_key(r)) {
        if (json_text_is(r, "functionName"))
            f.name = json_input_string(r, &x->in);
        else if (json_text_is(r, "url"))
            f.file = json_input_string(r, &x->in);
        else if (json_text_is(r, "lineNumber"))
            line = json_read_i64(r, -1);
        else
            json_skip(r);
    }
    if (!f.name)
        f.name = intern_cstr(&x->in, "(anonymous)");
    f.line = line >= 0 && line < INT32_MAX ? (uint32_t)line + 1 : 0; /* V8 counts from 0 */
    return intern_named_frame(&x->in, f.file ? FRAME_SCRIPT : FRAME_NATIVE,
                              intern_function(&x->in, &f), 0);
}

static void read_ids(struct reader *x, struct node *n)
{
    n->first = (uint32_t)x->pool.n;
    if (!json_input_array(&x->r))
        return;
    while (json_input_next_number(&x->r))
        vec_push(&x->pool, x->r.number >= 0 && x->r.number < 9e15 ? (uint64_t)x->r.number : 0);
    n->n = (uint32_t)x->pool.n - n->first;
}

static void read_node(struct reader *x)
{
    struct json_reader *r = &x->r;
    struct node n = { 0 };

    while (json_next_key(r)) {
        if (json_text_is(r, "id"))
            n.id = (uint64_t)json_read_i64(r, 0);
        else if (json_text_is(r, "callFrame"))
            n.frame = read_call_frame(x);
        else if (json_text_is(r, "hitCount"))
            n.hits = (uint64_t)json_read_i64(r, 0);
        else if (json_text_is(r, "children"))
            read_ids(x, &n);
        else
            json_skip(r);
    }
    vec_push(&x->node, n);
    umap_put(&x->at, n.id, (uint32_t)x->node.n);
}

static void read_nodes(void *with)
{
    struct reader *x = with;

    if (!json_input_array(&x->r))
        return;
    while (json_input_next_object(&x->r))
        read_node(x);
}

/* Bound X so that sums cannot overflow. */
static double bounded(double x)
{
    return x > -9e12 && x < 9e12 ? x : 0;
}

static void read_samples(void *with)
{
    struct reader *x = with;

    if (!json_input_array(&x->r))
        return;
    while (json_input_next_number(&x->r))
        vec_push(&x->sample, x->r.number >= 0 ? (uint64_t)bounded(x->r.number) : 0);
}

static void read_deltas(void *with)
{
    struct reader *x = with;

    if (!json_input_array(&x->r))
        return;
    while (json_input_next_number(&x->r))
        vec_push(&x->delta, (int64_t)bounded(x->r.number));
}

static void read_start(void *with)
{
    struct reader *x = with;

    x->start_us = json_read_i64(&x->r, 0);
}

static void read_end(void *with)
{
    struct reader *x = with;

    x->end_us = json_read_i64(&x->r, 0);
}

static const struct json_member members[] = {
    { "nodes", read_nodes },     { "samples", read_samples }, { "timeDeltas", read_deltas },
    { "startTime", read_start }, { "endTime", read_end },     { 0 },
};

static void link_parents(struct reader *x)
{
    for (uint32_t i = 0; i < x->node.n; i++)
        for (uint32_t k = 0; k < x->node.v[i].n; k++) {
            uint32_t child = umap_find(&x->at, x->pool.v[x->node.v[i].first + k]);

            if (child && child != i + 1 && !x->node.v[child - 1].parent)
                x->node.v[child - 1].parent = i + 1;
        }
}

/* Parents may form a cycle in a malformed file: no path is longer than the number of nodes. */
static uint32_t stack_of(struct reader *x, uint32_t at)
{
    vec_clear(&x->path);
    while (at && !x->node.v[at - 1].stack && x->path.n <= x->node.n) {
        vec_push(&x->path, at);
        at = x->node.v[at - 1].parent;
    }
    while (x->path.n) {
        struct node *n = &x->node.v[x->path.v[--x->path.n] - 1];

        n->stack = n->frame ? intern_stack(&x->in, at ? x->node.v[at - 1].stack : 0, n->frame) : 0;
        at = (uint32_t)(n - x->node.v) + 1;
    }
    return at ? x->node.v[at - 1].stack : 0;
}

/* Sample I lasts until the next one, the last until the end. */
static int64_t weight_us(const struct reader *x, size_t i, int64_t now)
{
    if (i + 1 < x->delta.n)
        return x->delta.v[i + 1];
    return x->end_us > now ? x->end_us - now : 1;
}

static void write_samples(struct reader *x, struct sample m)
{
    int64_t now = x->start_us;

    for (size_t i = 0; i < x->sample.n; i++) {
        int64_t us;

        now += i < x->delta.n ? x->delta.v[i] : 0;
        us = weight_us(x, i, now);
        m.stack = stack_of(x, umap_find(&x->at, x->sample.v[i]));
        m.weight = us > 0 && us < INT64_MAX / 1000 ? us * 1000 : 0;
        m.start_ns = now > 0 && now < INT64_MAX / 1000 ? (uint64_t)now * 1000 : 0;
        m.duration_ns = (uint64_t)m.weight;
        if (m.weight)
            sink_sample(x->out, &m);
    }
}

static void write_hits(struct reader *x, struct sample m)
{
    for (uint32_t i = 0; i < x->node.n; i++) {
        m.stack = stack_of(x, i + 1);
        m.count = x->node.v[i].hits;
        m.weight = (int64_t)m.count;
        if (m.weight > 0)
            sink_sample(x->out, &m);
    }
}

static void write_profile(struct reader *x)
{
    struct sample m = { .cpu = -1, .count = 1 };
    bool timed = x->sample.n > 0;
    struct metric metric = { .name = intern_cstr(&x->in, timed ? "cpu" : "samples"),
                             .unit = intern_cstr(&x->in, timed ? "ns" : "samples") };
    uint32_t name = intern_cstr(&x->in, "JavaScript");
    uint32_t process = intern_process(&x->in, &(struct process){ .name = name });

    m.metric = intern_metric(&x->in, &metric);
    m.thread = intern_thread(&x->in, &(struct thread){ .process = process, .name = name });
    link_parents(x);
    sink_meta(x->out, "producer", "V8");
    if (timed)
        write_samples(x, m);
    else
        write_hits(x, m);
}

static int import(const struct import_input *in, struct sink *out, struct err *e)
{
    struct reader x = { .out = out };
    int rc;

    intern_init(&x.in, out);
    rc = json_input_read(&x.r, in, members, &x, e);
    if (rc == 0 && !x.node.n)
        rc = err_set(e, ERR_FORMAT, "the cpuprofile has no nodes");
    for (size_t i = 0; rc == 0 && i < x.sample.n; i++)
        if (!umap_find(&x.at, x.sample.v[i]))
            rc = err_set(e, ERR_FORMAT, "sample %zu refers to a missing node %llu",
                         i + 1, (unsigned long long)x.sample.v[i]);
    if (rc == 0)
        write_profile(&x);
    vec_release(&x.node);
    vec_release(&x.pool);
    vec_release(&x.sample);
    vec_release(&x.delta);
    vec_release(&x.path);
    umap_release(&x.at);
    intern_release(&x.in);
    return sink_end(out, e) < 0 || rc < 0 ? -1 : 0;
}

static int recognize(const struct import_input *in)
{
    size_t n = in->size < 4096 ? in->size : 4096;

    if (!n || in->data[0] != '{' || !memmem(in->data, n, "\"callFrame\"", 11))
        return 0;
    return json_input_has_keys(in, (const char *const[]){ "nodes", NULL }) ? 90 : 0;
}

const struct format format_cpuprofile = {
    .name = "cpuprofile",
    .about = "CPU profiles of V8 (Node, Chrome)",
    .recognize = recognize,
    .import = import,
};
