/* profile_load.c - the sink that fills a profile.
 *
 * The data may come from an untrusted file.  This sink checks every id once, so that code that
 * reads a profile need not.  It ignores all calls after the first error.
 *
 * These ids may be 0 (none): strings other than the key of a tag; the process of a thread; the
 * module of a frame or function; thread, stack and tags of a sample or span; process and tags of
 * a counter; the parent of a stack or tag set.  All other ids must be defined.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "profile/limits.h"
#include "profile/profile.h"

/* No sum over the samples of a metric can overflow: analyses add without checks. */
struct used { /* of a metric */
    uint64_t weight; /* sum of absolute weights */
    uint64_t count;
};

struct loader { /* profile must be first: profile_free() frees both */
    struct profile p;
    struct sink sink;
    struct err first;
    struct used used[LIMIT_METRICS];
    uint64_t n_metrics; /* defined; the profile has at most LIMIT_METRICS */
    uint64_t n_deep;    /* stacks that were deeper than LIMIT_DEPTH */
    uint64_t n_dropped; /* samples of other metrics */
    uint64_t n_long;    /* chains that were longer than LIMIT_CHAIN */
    bool has_inlined;   /* a chain has several functions */
};

static struct loader *loader_of(struct sink *s)
{
    return (struct loader *)((char *)s - offsetof(struct loader, sink));
}

static bool no_error(const struct loader *l)
{
    return l->first.code == ERR_NONE;
}

/* Is ID 0 or defined? */
static bool known(struct loader *l, const char *what, uint32_t id, size_t n)
{
    if (id <= n)
        return true;
    err_set(&l->first, ERR_FORMAT, "%s %u is used but only %zu are defined", what, id, n);
    return false;
}

static bool defined(struct loader *l, const char *what, uint32_t id, size_t n)
{
    if (id)
        return known(l, what, id, n);
    err_set(&l->first, ERR_FORMAT, "a required %s is missing", what);
    return false;
}

static bool string_ok(struct loader *l, uint32_t id)
{
    return known(l, "string", id, l->p.string.n);
}

static bool in_range(struct loader *l, const char *what, uint64_t x, uint64_t max)
{
    if (x <= max)
        return true;
    err_set(&l->first, ERR_FORMAT, "invalid %s %llu", what, (unsigned long long)x);
    return false;
}

/* Ids have 32 bits, which limits the size of a table. */
static bool has_room(struct loader *l, const char *what, size_t n)
{
    if (n < UINT32_MAX - 1)
        return no_error(l);
    err_set(&l->first, ERR_LIMIT, "too many %s: the limit is 4 billion", what);
    return false;
}

static void add_meta(struct profile *p, const char *key, const char *value)
{
    size_t n = strlen(key);

    vec_push(&p->meta, ((struct profile_meta){ arena_strndup(&p->arena, key, n), value }));
    index_add(&p->meta_of, hash_bytes(key, n), (uint32_t)p->meta.n);
}

static void load_meta(struct sink *s, const char *key, const char *value)
{
    struct profile *p = &loader_of(s)->p;
    struct profile_meta *known;
    const char *copy;

    if (!has_room(loader_of(s), "meta", p->meta.n))
        return;
    copy = arena_strndup(&p->arena, value, strlen(value));
    if (strcmp(key, "file.damage") == 0)
        p->damage = copy;
    if (strcmp(key, "file.cut") == 0)
        p->cut = copy;
    if (strcmp(key, "file.missing_bytes") == 0)
        p->missing_bytes = strtoull(copy, NULL, 10);
    known = profile_find_meta(p, key);
    if (known)
        known->value = copy; /* the last value wins */
    else
        add_meta(p, key, copy);
}

/* Names come from binaries and files in any encoding; a profile contains only UTF-8. */
static void load_string(struct sink *s, const char *text, size_t n)
{
    struct loader *l = loader_of(s);
    struct buf repaired = { 0 };

    if (!has_room(l, "strings", l->p.string.n) || !in_range(l, "string size", n, INT32_MAX / 3))
        return;
    if (!utf8_is_valid(text, n)) {
        buf_add_repaired(&repaired, text, n);
        text = (const char *)repaired.data;
        n = repaired.n;
    }
    vec_push(&l->p.string,
             ((struct profile_text){ arena_strndup(&l->p.arena, text, n), (uint32_t)n }));
    buf_release(&repaired);
}

static void load_metric(struct sink *s, const struct metric *m)
{
    struct loader *l = loader_of(s);

    if (!has_room(l, "metrics", l->n_metrics) || !string_ok(l, m->name) ||
        !string_ok(l, m->unit) || !string_ok(l, m->about))
        return;
    if (l->n_metrics++ < LIMIT_METRICS)
        vec_push(&l->p.metric, *m);
}

static bool process_ok(struct loader *l, const struct process *p)
{
    return string_ok(l, p->name) && string_ok(l, p->command);
}

static bool thread_ok(struct loader *l, const struct thread *t)
{
    return known(l, "process", t->process, l->p.process.n) && string_ok(l, t->name);
}

static void load_process(struct sink *s, const struct process *p)
{
    struct loader *l = loader_of(s);

    if (has_room(l, "processes", l->p.process.n) && process_ok(l, p))
        vec_push(&l->p.process, *p);
}

static void load_thread(struct sink *s, const struct thread *t)
{
    struct loader *l = loader_of(s);

    if (has_room(l, "threads", l->p.thread.n) && thread_ok(l, t))
        vec_push(&l->p.thread, *t);
}

/* A field of an update that is 0 keeps the old value. */
#define keep_new(old, new) ((new) ? (void)((old) = (new)) : (void)0)

static void load_update_process(struct sink *s, uint32_t id, const struct process *p)
{
    struct loader *l = loader_of(s);

    struct process *old;

    if (!no_error(l) || !defined(l, "process", id, l->p.process.n) || !process_ok(l, p))
        return;
    old = &l->p.process.v[id - 1];
    keep_new(old->name, p->name);
    keep_new(old->command, p->command);
    keep_new(old->pid, p->pid);
    keep_new(old->parent_pid, p->parent_pid);
    keep_new(old->start_ns, p->start_ns);
    keep_new(old->end_ns, p->end_ns);
}

static void load_update_thread(struct sink *s, uint32_t id, const struct thread *t)
{
    struct loader *l = loader_of(s);

    struct thread *old;

    if (!no_error(l) || !defined(l, "thread", id, l->p.thread.n) || !thread_ok(l, t))
        return;
    old = &l->p.thread.v[id - 1];
    keep_new(old->process, t->process);
    keep_new(old->name, t->name);
    keep_new(old->tid, t->tid);
    keep_new(old->start_ns, t->start_ns);
    keep_new(old->end_ns, t->end_ns);
}

static bool module_facts_ok(struct loader *l, const struct module *m)
{
    return string_ok(l, m->symbols) && string_ok(l, m->problem) && string_ok(l, m->advice);
}

static void load_update_module(struct sink *s, uint32_t id, const struct module *m)
{
    struct loader *l = loader_of(s);
    struct module *old;

    if (!no_error(l) || !defined(l, "module", id, l->p.module.n) || !module_facts_ok(l, m))
        return;
    old = &l->p.module.v[id - 1];
    keep_new(old->symbols, m->symbols);
    keep_new(old->problem, m->problem);
    keep_new(old->advice, m->advice);
}

static void load_module(struct sink *s, const struct module *m)
{
    struct loader *l = loader_of(s);

    if (has_room(l, "modules", l->p.module.n) && string_ok(l, m->path) && module_facts_ok(l, m) &&
        in_range(l, "module kind", m->kind, MODULE_NONE) &&
        in_range(l, "build id size", m->build_id_size, sizeof m->build_id))
        vec_push(&l->p.module, *m);
}

static void load_frame(struct sink *s, const struct frame *f)
{
    struct loader *l = loader_of(s);

    if (!has_room(l, "frames", l->p.frame.n) || !known(l, "module", f->module, l->p.module.n) ||
        !in_range(l, "frame kind", f->kind, FRAME_NOTE))
        return;
    vec_push(&l->p.frame, *f);
    vec_push(&l->p.chain, ((struct profile_chain){ 0, 0 }));
}

static void load_stack(struct sink *s, uint32_t parent, uint32_t frame)
{
    struct loader *l = loader_of(s);
    struct profile *p = &l->p;
    uint16_t depth = 1;

    if (!has_room(l, "stacks", p->stack.n) || !known(l, "stack", parent, p->stack.n) ||
        !defined(l, "frame", frame, p->frame.n))
        return;
    if (parent && p->depth.v[parent - 1] == LIMIT_DEPTH) {
        parent = p->stack.v[parent - 1].parent; /* FRAME replaces the deepest one */
        l->n_deep++;
    }
    if (parent)
        depth += p->depth.v[parent - 1];
    vec_push(&p->stack, ((struct profile_node){ parent, frame }));
    vec_push(&p->depth, depth);
}

static void load_tag(struct sink *s, const struct tag *t)
{
    struct loader *l = loader_of(s);

    if (has_room(l, "tag sets", l->p.tag.n) && known(l, "tag set", t->parent, l->p.tag.n) &&
        defined(l, "string", t->key, l->p.string.n) && string_ok(l, t->text) &&
        string_ok(l, t->unit))
        vec_push(&l->p.tag, *t);
}

static bool tags_ok(struct loader *l, uint32_t tags)
{
    return known(l, "tag set", tags, l->p.tag.n);
}

/* Return the part of X that keeps *SUM within 63 bits, and add it. */
static uint64_t bounded(uint64_t *sum, uint64_t x)
{
    uint64_t room = INT64_MAX - *sum;

    x = x < room ? x : room;
    *sum += x;
    return x;
}

static int64_t bounded_weight(uint64_t *sum, int64_t weight)
{
    if (weight < 0)
        return -(int64_t)bounded(sum, -(uint64_t)weight);
    return (int64_t)bounded(sum, (uint64_t)weight);
}

/* Set the time of the next sample.  Samples before the first one with a time have none. */
static void add_time(struct profile *p, struct profile_time t)
{
    while (p->time.n < p->sample.n)
        vec_push(&p->time, ((struct profile_time){ 0, 0 }));
    vec_push(&p->time, t);
}

static void load_sample(struct sink *s, const struct sample *m)
{
    struct loader *l = loader_of(s);
    struct used *u;

    if (!no_error(l) || !known(l, "thread", m->thread, l->p.thread.n) ||
        !known(l, "stack", m->stack, l->p.stack.n) || !tags_ok(l, m->tags) ||
        !defined(l, "metric", m->metric, l->n_metrics))
        return;
    if (m->metric > LIMIT_METRICS) {
        l->n_dropped++;
        return;
    }
    u = &l->used[m->metric - 1];
    if (l->p.time.n || m->start_ns || m->duration_ns)
        add_time(&l->p, (struct profile_time){ m->start_ns, m->duration_ns });
    vec_push(&l->p.sample,
             ((struct profile_sample){ bounded_weight(&u->weight, m->weight),
                                       bounded(&u->count, m->count), m->thread, m->stack,
                                       m->metric, m->tags, m->cpu }));
}

static void load_span(struct sink *s, const struct span *x)
{
    struct loader *l = loader_of(s);

    if (no_error(l) && known(l, "thread", x->thread, l->p.thread.n) && string_ok(l, x->name) &&
        known(l, "stack", x->stack, l->p.stack.n) && string_ok(l, x->detail) &&
        tags_ok(l, x->tags))
        vec_push(&l->p.span, *x);
}

static void load_counter(struct sink *s, const struct counter *c)
{
    struct loader *l = loader_of(s);

    if (no_error(l) && known(l, "process", c->process, l->p.process.n) &&
        string_ok(l, c->name) && string_ok(l, c->unit) && tags_ok(l, c->tags))
        vec_push(&l->p.counter, *c);
}

static void load_function(struct sink *s, const struct function *f)
{
    struct loader *l = loader_of(s);

    if (has_room(l, "functions", l->p.function.n) && string_ok(l, f->name) &&
        string_ok(l, f->linkage_name) && string_ok(l, f->file) &&
        known(l, "module", f->module, l->p.module.n))
        vec_push(&l->p.function, *f);
}

/* Copy CHAIN into the profile; false when it is invalid.  A chain that is too long keeps its
 * outermost functions and the innermost, which has the self cost. */
static inline bool take_chain(struct loader *l, const struct location *chain, size_t n,
                              struct profile_chain *out)
{
    size_t first = l->p.location.n, kept = n < LIMIT_CHAIN ? n : LIMIT_CHAIN;

    if (!has_room(l, "locations", first + kept))
        return false;
    vec_reserve(&l->p.location, first + kept);
    for (size_t i = 0; i < n; i++) {
        if (!defined(l, "function", chain[i].function, l->p.function.n))
            return false;
        l->p.location.v[first + (i < kept ? i : kept - 1)] = chain[i];
    }
    l->p.location.n += kept;
    l->n_long += kept < n;
    l->has_inlined |= kept > 1;
    *out = (struct profile_chain){ (uint32_t)first, (uint32_t)kept };
    return true;
}

static void load_resolve(struct sink *s, uint32_t frame, const struct location *chain, size_t n)
{
    struct loader *l = loader_of(s);
    struct profile_chain own;

    if (no_error(l) && defined(l, "frame", frame, l->p.frame.n) && take_chain(l, chain, n, &own))
        l->p.chain.v[frame - 1] = own;
}

static void load_line(struct sink *s, const struct line_row *row, const struct location *chain,
                      size_t n)
{
    struct loader *l = loader_of(s);
    struct profile_row r = { .at = *row };

    if (no_error(l) && defined(l, "module", row->module, l->p.module.n) &&
        take_chain(l, chain, n, &r.chain))
        vec_push(&l->p.row, r);
}

static void load_source(struct sink *s, const struct source_text *t)
{
    struct loader *l = loader_of(s);
    struct source_text copy = *t;

    if (!no_error(l) || !defined(l, "string", t->file, l->p.string.n))
        return;
    copy.text = arena_strndup(&l->p.arena, t->text, t->size);
    vec_push(&l->p.source, copy);
}

static void load_code(struct sink *s, const struct code_bytes *c)
{
    struct loader *l = loader_of(s);
    struct code_bytes copy = *c;
    unsigned char *bytes;

    if (!no_error(l) || !defined(l, "module", c->module, l->p.module.n))
        return;
    bytes = arena_alloc(&l->p.arena, c->size);
    if (c->size)
        memcpy(bytes, c->bytes, c->size);
    copy.bytes = bytes;
    vec_push(&l->p.code, copy);
}

/* --- limits ----------------------------------------------------------------------------- */

/* The longest chain for which all stacks together have at most limit_functions() functions. */
static uint32_t longest_allowed(const struct profile *p)
{
    uint64_t stacks[LIMIT_CHAIN + 1] = { 0 }, all = p->stack.n, longer = 0;
    uint32_t most = 1;

    for (size_t i = 0; i < p->stack.n; i++)
        stacks[p->chain.v[p->stack.v[i].frame - 1].n]++;
    for (uint32_t n = 2; n <= LIMIT_CHAIN; n++)
        longer += stacks[n];
    while (most < LIMIT_CHAIN && all + longer <= limit_functions(p->stack.n)) {
        all += longer;
        longer -= stacks[++most];
    }
    return most;
}

static void shorten_chains(struct loader *l, uint32_t most)
{
    struct profile *p = &l->p;

    for (size_t i = 0; i < p->chain.n; i++) {
        struct profile_chain *c = &p->chain.v[i];

        if (c->n <= most)
            continue;
        p->location.v[c->first + most - 1] = p->location.v[c->first + c->n - 1];
        c->n = most;
        l->n_long++;
    }
}

static void start_item(struct buf *text, uint64_t n)
{
    buf_printf(text, "%s%" PRIu64 " ", text->n ? "; " : "", n);
}

static void describe_cut(struct loader *l, uint32_t longest)
{
    struct buf text = { 0 };

    buf_str(&text, l->p.cut); /* by an earlier reader */
    if (l->n_deep) {
        start_item(&text, l->n_deep);
        buf_printf(&text, "stacks of more than %d frames lack the frames in the middle",
                   LIMIT_DEPTH);
    }
    if (l->n_long) {
        start_item(&text, l->n_long);
        buf_printf(&text, "frames of more than %u inlined functions lack some of them", longest);
    }
    if (l->n_dropped) {
        start_item(&text, l->n_dropped);
        buf_printf(&text, "samples of metrics after the first %d are missing", LIMIT_METRICS);
    }
    load_meta(&l->sink, "file.cut", buf_text(&text));
    buf_release(&text);
}

static void apply_limits(struct loader *l)
{
    uint32_t longest = LIMIT_CHAIN;

    if (l->has_inlined)
        longest = longest_allowed(&l->p);
    if (longest < LIMIT_CHAIN)
        shorten_chains(l, longest);
    if (l->n_deep || l->n_long || l->n_dropped)
        describe_cut(l, longest);
}

static int load_end(struct sink *s, struct err *e)
{
    struct loader *l = loader_of(s);

    if (no_error(l))
        apply_limits(l);
    if (no_error(l))
        return 0;
    err_set(e, l->first.code, "%s", l->first.msg);
    return -1;
}

struct profile *profile_new(void)
{
    struct loader *l = mem_zalloc(sizeof *l);

    l->p.damage = l->p.cut = "";
    l->sink = (struct sink){
        .meta = load_meta,
        .string = load_string,
        .metric = load_metric,
        .process = load_process,
        .thread = load_thread,
        .update_process = load_update_process,
        .update_thread = load_update_thread,
        .update_module = load_update_module,
        .module = load_module,
        .frame = load_frame,
        .stack = load_stack,
        .tag = load_tag,
        .sample = load_sample,
        .span = load_span,
        .counter = load_counter,
        .function = load_function,
        .resolve = load_resolve,
        .line = load_line,
        .source = load_source,
        .code = load_code,
        .end = load_end,
    };
    return &l->p;
}

struct sink *profile_sink(struct profile *p)
{
    return &((struct loader *)p)->sink;
}
