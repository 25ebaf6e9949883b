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
#include "profile/profile.h"

struct loader { /* profile must be first: profile_free() frees both */
    struct profile p;
    struct sink sink;
    struct err first;
    uint64_t *used; /* by metric: sum of its absolute weights; in the arena */
    size_t n_used;
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

static void load_meta(struct sink *s, const char *key, const char *value)
{
    struct profile *p = &loader_of(s)->p;
    const char *copy;

    if (!has_room(loader_of(s), "meta", p->meta.n))
        return;
    copy = arena_strndup(&p->arena, value, strlen(value));
    if (strcmp(key, "file.damage") == 0)
        p->damage = copy;
    if (strcmp(key, "file.missing_bytes") == 0)
        p->missing_bytes = strtoull(copy, NULL, 10);
    for (size_t i = 0; i < p->meta.n; i++)
        if (strcmp(p->meta.v[i].key, key) == 0) { /* the last value wins */
            p->meta.v[i].value = copy;
            return;
        }
    vec_push(&p->meta,
             ((struct profile_meta){ arena_strndup(&p->arena, key, strlen(key)), copy }));
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

    if (has_room(l, "metrics", l->p.metric.n) && string_ok(l, m->name) &&
        string_ok(l, m->unit) && string_ok(l, m->about))
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

    if (has_room(l, "stacks", l->p.stack.n) && known(l, "stack", parent, l->p.stack.n) &&
        defined(l, "frame", frame, l->p.frame.n))
        vec_push(&l->p.stack, ((struct profile_node){ parent, frame }));
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

static void add_used(struct loader *l)
{
    uint64_t *more = arena_zalloc(&l->p.arena, 2 * l->p.metric.n * sizeof *more);

    if (l->n_used)
        memcpy(more, l->used, l->n_used * sizeof *more);
    l->used = more;
    l->n_used = 2 * l->p.metric.n;
}

/* Limit WEIGHT so that no sum over samples of METRIC can overflow: analyses add without checks. */
static int64_t bounded(struct loader *l, uint32_t metric, int64_t weight)
{
    uint64_t size = weight < 0 ? -(uint64_t)weight : (uint64_t)weight, room;

    if (l->n_used < metric)
        add_used(l);
    room = INT64_MAX - l->used[metric - 1];
    size = size < room ? size : room;
    l->used[metric - 1] += size;
    return weight < 0 ? -(int64_t)size : (int64_t)size;
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

    if (!no_error(l) || !known(l, "thread", m->thread, l->p.thread.n) ||
        !known(l, "stack", m->stack, l->p.stack.n) || !tags_ok(l, m->tags) ||
        !defined(l, "metric", m->metric, l->p.metric.n))
        return;
    if (l->p.time.n || m->start_ns || m->duration_ns)
        add_time(&l->p, (struct profile_time){ m->start_ns, m->duration_ns });
    vec_push(&l->p.sample,
             ((struct profile_sample){ bounded(l, m->metric, m->weight), m->count, m->thread,
                                       m->stack, m->metric, m->tags, m->cpu }));
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

/* Copy CHAIN into the profile; false when it is invalid. */
static inline bool take_chain(struct loader *l, const struct location *chain, size_t n,
                              struct profile_chain *out)
{
    size_t first = l->p.location.n;

    if (!has_room(l, "locations", first + n))
        return false;
    vec_reserve(&l->p.location, first + n);
    for (size_t i = 0; i < n; i++) {
        if (!defined(l, "function", chain[i].function, l->p.function.n))
            return false;
        l->p.location.v[first + i] = chain[i];
    }
    l->p.location.n += n;
    *out = (struct profile_chain){ (uint32_t)first, (uint32_t)n };
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

static int load_end(struct sink *s, struct err *e)
{
    const struct loader *l = loader_of(s);

    if (no_error(l))
        return 0;
    err_set(e, l->first.code, "%s", l->first.msg);
    return -1;
}

struct profile *profile_new(void)
{
    struct loader *l = mem_zalloc(sizeof *l);

    l->p.damage = "";
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
