/* profile_merge.c - see profile_merge.h.  profile_merge_meta.c merges meta and clocks.
 *
 * Walk each part once in the order of its tables, and translate its ids to those of the merged
 * profile.  SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile_merge.h"

#include <stdlib.h>
#include <string.h>

#include "profile/intern.h"

/* Every callback of the sink must be merged here; otherwise its data would be lost. */
_Static_assert(sizeof(struct sink) == 21 * sizeof(void (*)(void)), "merge the new call");

struct merged_frame {
    struct frame frame;
    struct profile_chain chain; /* range of locations; n = 0 when unresolved */
};

struct merge {
    struct sink *out;
    struct intern in; /* all but frames, which also differ by their names */
    VEC(struct metric) metric;
    VEC(struct merged_frame) frame;
    VEC(struct location) location;
    struct index frames;          /* by place and names */
    struct index places;          /* by place: the first frame there */
    struct index build_ids;       /* of modules that have one */
    struct umap identified;       /* path and kind: index in with_id, + 1 */
    VEC(const struct module *) with_id; /* of the parts; NULL: build ids of this path differ */
    struct umap sources;          /* file */
    struct umap rows;             /* module and address */
    struct umap codes;            /* module and address: index in code, + 1 */
    VEC(struct code_bytes) code;   /* modules translated, bytes in a part */
};

struct locations {
    VEC(struct location) v;
};

struct part { /* maps ids of a part to ids of the merged profile; [0] is 0 */
    const struct profile *p;
    int64_t shift;
    uint32_t *string, *metric, *process, *thread, *module, *function, *frame, *stack, *tag;
    uint32_t own_thread; /* for samples of a part without threads, 0 otherwise */
};

static uint32_t *new_ids(size_t n)
{
    return mem_zalloc((n + 1) * sizeof(uint32_t));
}

/* 0 is an unknown time and stays 0. */
static uint64_t shifted(const struct part *t, uint64_t time_ns)
{
    if (!time_ns)
        return 0;
    if (t->shift < 0 && time_ns <= -(uint64_t)t->shift)
        return 1;
    return time_ns + (uint64_t)t->shift;
}

static void map_strings(struct merge *m, struct part *t)
{
    t->string = new_ids(t->p->string.n);
    for (size_t i = 0; i < t->p->string.n; i++)
        t->string[i + 1] = intern_string(&m->in, t->p->string.v[i].s, t->p->string.v[i].n);
}

/* The merged metric is exact only if it is exact in every part.  Periods that differ become 0. */
static uint32_t join_metric(struct merge *m, const struct metric *x)
{
    const uint32_t what = METRIC_OFF_CPU | METRIC_LIVE | METRIC_WHOLE;

    for (uint32_t i = 0; i < m->metric.n; i++) {
        struct metric *o = &m->metric.v[i];

        if (o->name != x->name || o->unit != x->unit || (o->flags & what) != (x->flags & what))
            continue;
        o->flags &= x->flags;
        o->period = o->period == x->period ? o->period : 0;
        o->about = o->about ? o->about : x->about;
        return i + 1;
    }
    vec_push(&m->metric, *x);
    return (uint32_t)m->metric.n;
}

static void map_metrics(struct merge *m, struct part *t)
{
    t->metric = new_ids(t->p->metric.n);
    for (size_t i = 0; i < t->p->metric.n; i++) {
        struct metric x = t->p->metric.v[i];

        x.name = t->string[x.name];
        x.unit = t->string[x.unit];
        x.about = t->string[x.about];
        t->metric[i + 1] = join_metric(m, &x);
    }
}

static void map_processes(struct merge *m, struct part *t)
{
    t->process = new_ids(t->p->process.n);
    for (size_t i = 0; i < t->p->process.n; i++) {
        struct process x = t->p->process.v[i];

        x.name = t->string[x.name];
        x.command = t->string[x.command];
        x.start_ns = shifted(t, x.start_ns);
        x.end_ns = shifted(t, x.end_ns);
        t->process[i + 1] = intern_process(&m->in, &x);
    }
}

/* Add a process and a thread for a part without threads. */
static void add_own_thread(struct merge *m, struct part *t, const char *path)
{
    const char *slash = strrchr(path, '/');
    uint32_t name = intern_cstr(&m->in, slash ? slash + 1 : path);

    t->own_thread = intern_thread(&m->in, &(struct thread){
        .process = intern_process(&m->in, &(struct process){ .name = name }), .name = name });
}

static void map_threads(struct merge *m, struct part *t, const char *path)
{
    t->thread = new_ids(t->p->thread.n);
    for (size_t i = 0; i < t->p->thread.n; i++) {
        struct thread x = t->p->thread.v[i];

        x.process = t->process[x.process];
        x.name = t->string[x.name];
        x.start_ns = shifted(t, x.start_ns);
        x.end_ns = shifted(t, x.end_ns);
        t->thread[i + 1] = intern_thread(&m->in, &x);
    }
    if (!t->p->thread.n && path)
        add_own_thread(m, t, path);
}

static bool same_build_id(const struct module *x, const struct module *y)
{
    return x->build_id_size == y->build_id_size &&
           memcmp(x->build_id, y->build_id, x->build_id_size) == 0;
}

static uint64_t path_key(const struct part *t, const struct module *x)
{
    return (uint64_t)t->string[x->path] << 8 | x->kind;
}

static void note_build_ids(struct merge *m, const struct part *t)
{
    for (size_t i = 0; i < t->p->module.n; i++) {
        const struct module *x = &t->p->module.v[i];
        uint32_t at = x->path && x->build_id_size ? umap_find(&m->identified, path_key(t, x)) : 0;

        if (at && m->with_id.v[at - 1] && !same_build_id(m->with_id.v[at - 1], x))
            m->with_id.v[at - 1] = NULL;
        if (at || !x->path || !x->build_id_size)
            continue;
        vec_push(&m->with_id, x);
        umap_put(&m->identified, path_key(t, x), (uint32_t)m->with_id.n);
    }
}

/* Module X of T, with the build id of the modules at its path in other parts.  If these differ, it
 * may be any of them, and keeps none. */
static struct module identified(const struct merge *m, const struct part *t, struct module x)
{
    uint32_t at = x.build_id_size ? 0 : umap_find(&m->identified, path_key(t, &x));
    const struct module *like = at ? m->with_id.v[at - 1] : NULL;

    if (like) {
        memcpy(x.build_id, like->build_id, sizeof x.build_id);
        x.build_id_size = like->build_id_size;
    }
    return x;
}

static uint64_t hash_build_id(const struct module *x)
{
    return hash_pair(x->kind, hash_bytes(x->build_id, x->build_id_size));
}

/* Prefer the build id: containers and copies change the path. */
static uint32_t find_module(const struct merge *m, const struct module *x)
{
    uint64_t h = hash_build_id(x);

    if (!x->build_id_size)
        return 0;
    for (uint32_t at = index_first(&m->build_ids, h), id;
         (id = index_id(&m->build_ids, h, &at));) {
        const struct module *o = &m->in.module.v[id - 1];

        if (o->kind == x->kind && same_build_id(o, x))
            return id;
    }
    return 0;
}

/* The last part that has symbols, problem or advice of a module wins. */
static uint32_t join_module(struct merge *m, const struct module *x)
{
    size_t known = m->in.module.n;
    uint32_t id = find_module(m, x);

    if (!id)
        id = intern_module(&m->in, x);
    if (id > known && x->build_id_size)
        index_add(&m->build_ids, hash_build_id(x), id);
    if (id <= known && (x->symbols || x->problem || x->advice))
        sink_update_module(m->out, id, x);
    return id;
}

static void map_modules(struct merge *m, struct part *t)
{
    t->module = new_ids(t->p->module.n);
    for (size_t i = 0; i < t->p->module.n; i++) {
        struct module x = identified(m, t, t->p->module.v[i]);

        x.path = t->string[x.path];
        x.symbols = t->string[x.symbols];
        x.problem = t->string[x.problem];
        x.advice = t->string[x.advice];
        t->module[i + 1] = join_module(m, &x);
    }
}

static void map_functions(struct merge *m, struct part *t)
{
    t->function = new_ids(t->p->function.n);
    for (size_t i = 0; i < t->p->function.n; i++) {
        struct function x = t->p->function.v[i];

        x.name = t->string[x.name];
        x.linkage_name = t->string[x.linkage_name];
        x.file = t->string[x.file];
        x.module = t->module[x.module];
        t->function[i + 1] = intern_function(&m->in, &x);
    }
}

/* --- frames ----------------------------------------------------------------------------- */

static bool has_place(const struct frame *f)
{
    return f->module && f->address;
}

static uint64_t hash_place(const struct frame *f)
{
    return hash_pair(f->address, (uint64_t)f->module << 32 | (uint64_t)f->kind << 16 | f->flags);
}

static uint64_t hash_of(const struct frame *f, const struct location *chain, uint32_t n)
{
    return hash_pair(hash_place(f), n ? hash_bytes(chain, n * sizeof *chain) : 0);
}

static bool same_place(const struct frame *a, const struct frame *b)
{
    return a->address == b->address && a->module == b->module && a->kind == b->kind &&
           a->flags == b->flags;
}

static bool same_chain(const struct merge *m, const struct merged_frame *o,
                       const struct location *chain, uint32_t n)
{
    return o->chain.n == n &&
           (!n || memcmp(&m->location.v[o->chain.first], chain, n * sizeof *chain) == 0);
}

static void name_frame(struct merge *m, uint32_t id, const struct location *chain, uint32_t n)
{
    struct merged_frame *f = &m->frame.v[id - 1];

    index_add(&m->frames, hash_of(&f->frame, chain, n), id);
    if (!n)
        return;
    f->chain = (struct profile_chain){ (uint32_t)m->location.n, n };
    for (uint32_t i = 0; i < n; i++)
        vec_push(&m->location, chain[i]);
    sink_resolve(m->out, id, chain, n);
}

static uint32_t find_frame(const struct merge *m, const struct frame *f,
                           const struct location *chain, uint32_t n)
{
    uint64_t h = hash_of(f, chain, n);

    for (uint32_t at = index_first(&m->frames, h), id; (id = index_id(&m->frames, h, &at));)
        if (same_place(&m->frame.v[id - 1].frame, f) &&
            same_chain(m, &m->frame.v[id - 1], chain, n))
            return id;
    return 0;
}

/* A frame at the place of F that differs from it only in that one of the two has no names.  It can
 * only be the first frame there: later ones have names. */
static uint32_t find_loose(const struct merge *m, const struct frame *f, uint32_t n)
{
    uint64_t h = hash_place(f);

    for (uint32_t at = index_first(&m->places, h), id; (id = index_id(&m->places, h, &at));)
        if (same_place(&m->frame.v[id - 1].frame, f) && (!n || !m->frame.v[id - 1].chain.n))
            return id;
    return 0;
}

/* Frames are equal if address and names are.  A frame without names takes those of a frame of
 * another part at the same address. */
static uint32_t join_frame(struct merge *m, const struct frame *f, const struct location *chain,
                           uint32_t n)
{
    uint32_t id = find_frame(m, f, chain, n), loose;

    if (id)
        return id;
    loose = has_place(f) ? find_loose(m, f, n) : 0;
    if (loose) {
        if (n)
            name_frame(m, loose, chain, n);
        return loose;
    }
    vec_push(&m->frame, ((struct merged_frame){ .frame = *f }));
    id = (uint32_t)m->frame.n;
    if (has_place(f) && !find_loose(m, f, 0))
        index_add(&m->places, hash_place(f), id);
    sink_frame(m->out, f);
    name_frame(m, id, chain, n);
    return id;
}

/* Translate the chain C of a part to ids of the merged profile, into OUT. */
static void map_chain(const struct part *t, struct profile_chain c, struct locations *out)
{
    out->v.n = 0;
    for (uint32_t k = 0; k < c.n; k++) {
        struct location x = t->p->location.v[c.first + k];

        vec_push(&out->v, ((struct location){ t->function[x.function], x.line }));
    }
}

static void map_frames(struct merge *m, struct part *t)
{
    struct locations chain = { 0 };

    t->frame = new_ids(t->p->frame.n);
    for (size_t i = 0; i < t->p->frame.n; i++) {
        struct frame f = t->p->frame.v[i];

        f.module = t->module[f.module];
        map_chain(t, t->p->chain.v[i], &chain);
        t->frame[i + 1] = join_frame(m, &f, chain.v.v, (uint32_t)chain.v.n);
    }
    vec_release(&chain.v);
}

static void map_stacks(struct merge *m, struct part *t)
{
    t->stack = new_ids(t->p->stack.n);
    for (size_t i = 0; i < t->p->stack.n; i++) {
        struct profile_node x = t->p->stack.v[i];

        t->stack[i + 1] = intern_stack(&m->in, t->stack[x.parent], t->frame[x.frame]);
    }
}

static void map_tags(struct merge *m, struct part *t)
{
    t->tag = new_ids(t->p->tag.n);
    for (size_t i = 0; i < t->p->tag.n; i++) {
        struct tag x = t->p->tag.v[i];

        x.parent = t->tag[x.parent];
        x.key = t->string[x.key];
        x.text = t->string[x.text];
        x.unit = t->string[x.unit];
        t->tag[i + 1] = intern_tag_of(&m->in, &x);
    }
}

/* --- samples, spans, counters, lines, sources and code ---------------------------------- */

static void send_samples(struct merge *m, const struct part *t)
{
    for (size_t i = 0; i < t->p->sample.n; i++) {
        struct sample x = profile_sample(t->p, i);

        x.start_ns = shifted(t, x.start_ns);
        x.thread = x.thread ? t->thread[x.thread] : t->own_thread;
        x.stack = t->stack[x.stack];
        x.tags = t->tag[x.tags];
        x.metric = t->metric[x.metric];
        sink_sample(m->out, &x);
    }
}

static void send_spans(struct merge *m, const struct part *t)
{
    for (size_t i = 0; i < t->p->span.n; i++) {
        struct span x = t->p->span.v[i];

        x.start_ns = shifted(t, x.start_ns);
        x.thread = x.thread ? t->thread[x.thread] : t->own_thread;
        x.name = t->string[x.name];
        x.stack = t->stack[x.stack];
        x.detail = t->string[x.detail];
        x.tags = t->tag[x.tags];
        sink_span(m->out, &x);
    }
}

static void send_counters(struct merge *m, const struct part *t)
{
    for (size_t i = 0; i < t->p->counter.n; i++) {
        struct counter x = t->p->counter.v[i];

        x.time_ns = shifted(t, x.time_ns);
        x.process = t->process[x.process];
        x.name = t->string[x.name];
        x.unit = t->string[x.unit];
        x.tags = t->tag[x.tags];
        sink_counter(m->out, &x);
    }
}

/* Of several rows at one address, send the first. */
static void send_rows(struct merge *m, const struct part *t)
{
    struct locations chain = { 0 };

    for (size_t i = 0; i < t->p->row.n; i++) {
        struct line_row x = t->p->row.v[i].at;

        x.module = t->module[x.module];
        if (umap_find(&m->rows, hash_pair(x.module, x.address)))
            continue;
        umap_put(&m->rows, hash_pair(x.module, x.address), 1);
        map_chain(t, t->p->row.v[i].chain, &chain);
        sink_line(m->out, &x, chain.v.v, chain.v.n);
    }
    vec_release(&chain.v);
}

/* A profile has one text per file: that of the first part. */
static void send_sources(struct merge *m, const struct part *t)
{
    for (size_t i = 0; i < t->p->source.n; i++) {
        struct source_text x = t->p->source.v[i];

        x.file = t->string[x.file];
        if (umap_find(&m->sources, x.file))
            continue;
        umap_put(&m->sources, x.file, 1);
        sink_source(m->out, &x);
    }
}

/* Of several pieces of code at one address, keep the longest. */
static void keep_code(struct merge *m, const struct part *t)
{
    for (size_t i = 0; i < t->p->code.n; i++) {
        struct code_bytes x = t->p->code.v[i];
        uint32_t at;

        x.module = t->module[x.module];
        at = umap_find(&m->codes, hash_pair(x.module, x.address));
        if (!at) {
            vec_push(&m->code, x);
            umap_put(&m->codes, hash_pair(x.module, x.address), (uint32_t)m->code.n);
        } else if (x.size > m->code.v[at - 1].size) {
            m->code.v[at - 1] = x;
        }
    }
}

static void define(struct merge *m, struct part *t, const char *path)
{
    map_processes(m, t);
    map_threads(m, t, path);
    map_modules(m, t);
    map_functions(m, t);
    map_frames(m, t);
    map_stacks(m, t);
    map_tags(m, t);
}

static void send(struct merge *m, const struct part *t)
{
    send_samples(m, t);
    send_spans(m, t);
    send_counters(m, t);
    send_rows(m, t);
    send_sources(m, t);
    keep_code(m, t);
}

static void part_release(struct part *t)
{
    free(t->string);
    free(t->metric);
    free(t->process);
    free(t->thread);
    free(t->module);
    free(t->function);
    free(t->frame);
    free(t->stack);
    free(t->tag);
}

static void merge_release(struct merge *m)
{
    intern_release(&m->in);
    vec_release(&m->metric);
    vec_release(&m->frame);
    vec_release(&m->location);
    vec_release(&m->code);
    vec_release(&m->with_id);
    umap_release(&m->identified);
    index_release(&m->frames);
    index_release(&m->places);
    index_release(&m->build_ids);
    umap_release(&m->sources);
    umap_release(&m->rows);
    umap_release(&m->codes);
}

void profile_merge(const struct profile_part *part, size_t n, struct sink *out)
{
    struct merge m = { .out = out };
    struct part *t = mem_zalloc(n * sizeof *t);
    int64_t *shift = profile_merge_shifts(part, n);

    intern_init(&m.in, out);
    profile_merge_meta(part, n, shift, out);
    for (size_t i = 0; i < n; i++) {
        t[i] = (struct part){ .p = part[i].profile, .shift = shift[i] };
        map_strings(&m, &t[i]);
        map_metrics(&m, &t[i]);
        note_build_ids(&m, &t[i]);
    }
    for (size_t i = 0; i < m.metric.n; i++)
        intern_metric(&m.in, &m.metric.v[i]);
    for (size_t i = 0; i < n; i++) {
        define(&m, &t[i], n > 1 ? part[i].name : NULL);
        send(&m, &t[i]);
        part_release(&t[i]);
    }
    for (size_t i = 0; i < m.code.n; i++)
        sink_code(out, &m.code.v[i]);
    merge_release(&m);
    free(shift);
    free(t);
}
