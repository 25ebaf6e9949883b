/* an_group.c - see an_group.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_tags.h"

static const char *const by_names[] = {
    [AN_BY_FUNCTION] = "function", [AN_BY_LINE] = "line",       [AN_BY_MODULE] = "module",
    [AN_BY_THREAD] = "thread",     [AN_BY_PROCESS] = "process", [AN_BY_COMMAND] = "command",
};
static const char tag_prefix[] = "tag:";

const char *an_level_name(const struct an_levels *l, size_t level, char text[AN_TAG_KEY + 8])
{
    if (l->by[level] != AN_BY_TAG)
        return by_names[l->by[level]];
    snprintf(text, AN_TAG_KEY + 8, "%s%s", tag_prefix, l->key[level]);
    return text;
}

static bool find_level(struct an_levels *l, const char *word, size_t n)
{
    size_t prefix = strlen(tag_prefix);

    for (size_t i = 0; i < ARRAY_LEN(by_names); i++)
        if (strlen(by_names[i]) == n && memcmp(by_names[i], word, n) == 0) {
            l->by[l->n] = (enum an_by)i;
            return true;
        }
    if (n <= prefix || n - prefix >= AN_TAG_KEY || memcmp(word, tag_prefix, prefix) != 0)
        return false;
    l->by[l->n] = AN_BY_TAG;
    memcpy(l->key[l->n], word + prefix, n - prefix);
    return true;
}

static int parse_level(struct an_levels *l, const char *word, size_t n, struct err *e)
{
    if (l->n == AN_GROUP_LEVELS)
        return err_set(e, ERR_USAGE, "--by: more than %d levels", AN_GROUP_LEVELS);
    if (find_level(l, word, n)) {
        l->n++;
        return 0;
    }
    err_set(e, ERR_USAGE, "--by: unknown group \"%.*s\"", (int)n, word);
    err_hint(e, "use command, process, thread, module, function, line or tag:KEY, separated by "
                "commas");
    return -1;
}

int an_levels_check(const struct an_levels *l, const struct profile *p, struct err *e)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->by[i] == AN_BY_TAG && an_tags_check(p, l->key[i], e) < 0)
            return -1;
    return 0;
}

int an_levels_parse(struct an_levels *l, const char *text, struct err *e)
{
    *l = (struct an_levels){ 0 };
    for (;;) {
        size_t n = strcspn(text, ",");

        if (parse_level(l, text, n, e) < 0)
            return -1;
        if (!text[n])
            return 0;
        text += n + 1;
    }
}

/* The innermost frame of each stack. */
struct leaf {
    uint32_t symbol, module, line;
};

static struct leaf leaf_of(const struct an_symbols *s, uint32_t stack)
{
    const struct profile *p = s->profile;
    uint32_t frame = stack ? p->stack.v[stack - 1].frame : 0;
    struct profile_chain symbols, places;
    struct leaf l = { 0 };

    if (!frame)
        return l;
    symbols = s->frame.v[frame - 1];
    places = p->chain.v[frame - 1];
    l.symbol = s->chain.v[symbols.first + symbols.n - 1];
    l.line = places.n ? p->location.v[places.first + places.n - 1].line : 0;
    l.module = p->frame.v[frame - 1].module;
    if (!l.module)
        l.module = s->symbol.v[l.symbol].module;
    return l;
}

/* Map each distinct item to a key, and each key to the text to print. */
struct keys {
    struct umap seen;
    VEC(struct an_group) item; /* name, function, line */
    const struct an_symbols *s;
    const struct an_view *v;
    const struct an_levels *levels;
    uint32_t *pair[AN_GROUP_LEVELS]; /* by tag set, of levels by tag */
    struct an_groups *g;
};

static const char *named_id(struct keys *k, const char *name, int64_t id)
{
    char text[320];
    int n = id ? snprintf(text, sizeof text, "%s (%" PRId64 ")", *name ? name : "?", id)
               : snprintf(text, sizeof text, "%s", *name ? name : "?");

    return arena_strndup(&k->g->arena, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

/* Return the process of a sample, NULL when it has none. */
static const struct process *process_of(const struct profile *p, const struct profile_sample *m)
{
    uint32_t process = m->thread ? p->thread.v[m->thread - 1].process : 0;

    return process ? &p->process.v[process - 1] : NULL;
}

static const char *process_name(struct keys *k, const struct process *x, bool with_id)
{
    const char *name = x ? profile_string(k->s->profile, x->name) : "";

    if (!x)
        return "[no process]";
    return with_id ? named_id(k, name, x->pid) : *name ? name : "?";
}

/* Return the pair of M with the key of LEVEL, NULL when it has none. */
static const struct tag *tag_of(const struct keys *k, size_t level, const struct profile_sample *m)
{
    uint32_t pair = k->pair[level][m->tags];

    return pair ? &k->s->profile->tag.v[pair - 1] : NULL;
}

static const char *tag_name(struct keys *k, const struct tag *t)
{
    struct buf text = { 0 };
    const char *copy;

    if (!t)
        return "[no tag]";
    an_tag_value(k->s->profile, t, &text);
    copy = arena_strndup(&k->g->arena, buf_text(&text), text.n);
    buf_release(&text);
    return copy;
}

static struct an_group describe(struct keys *k, size_t level, const struct profile_sample *m,
                                const struct leaf *l)
{
    const struct profile *p = k->s->profile;
    enum an_by by = k->levels->by[level];
    const struct thread *t = m->thread ? &p->thread.v[m->thread - 1] : NULL;
    const struct an_symbol *y = &k->s->symbol.v[l->symbol];
    const char *module = an_module_name(p, l->module);

    switch (by) {
    case AN_BY_THREAD:
        return (struct an_group){
            .name = t ? named_id(k, profile_string(p, t->name), t->tid) : "[no thread]",
            .idle = k->v->idle && k->v->idle[m->thread] };
    case AN_BY_PROCESS:
    case AN_BY_COMMAND:
        return (struct an_group){
            .name = process_name(k, process_of(p, m), by == AN_BY_PROCESS) };
    case AN_BY_TAG:
        return (struct an_group){ .name = tag_name(k, tag_of(k, level, m)) };
    case AN_BY_MODULE:
        return (struct an_group){ .name = *module ? module : "[unknown]" };
    case AN_BY_LINE:
        return (struct an_group){ .name = l->symbol ? y->name : "[no stack]",
                                  .function = y->function, .line = l->line };
    default:
        return (struct an_group){ .name = l->symbol ? y->name : "[no stack]",
                                  .function = y->function };
    }
}

static uint64_t tag_identity(const struct tag *t)
{
    return t ? hash_pair((uint64_t)t->text << 32 | t->unit, (uint64_t)t->value) | 1 : 0;
}

static uint64_t identity(const struct keys *k, size_t level, const struct profile_sample *m,
                         const struct leaf *l)
{
    const struct profile *p = k->s->profile;
    const struct an_symbol *y = &k->s->symbol.v[l->symbol];
    /* inlined and ordinary calls of a function are one group */
    uint64_t function = y->function ? y->function : 1ull << 33 | l->symbol;

    switch (k->levels->by[level]) {
    case AN_BY_TAG: return tag_identity(tag_of(k, level, m));
    case AN_BY_THREAD: return m->thread;
    case AN_BY_PROCESS: return m->thread ? p->thread.v[m->thread - 1].process : 0;
    case AN_BY_COMMAND: return process_of(p, m) ? process_of(p, m)->name + 1ull : 0;
    case AN_BY_MODULE: return l->module;
    case AN_BY_LINE: return hash_pair(function, l->line);
    default: return function;
    }
}

static uint32_t key_of(struct keys *k, size_t level, const struct profile_sample *m,
                       const struct leaf *l)
{
    uint64_t id = hash_pair(identity(k, level, m, l), (uint64_t)level + 1);
    uint32_t key = umap_find(&k->seen, id);

    if (!key) {
        vec_push(&k->item, describe(k, level, m, l));
        key = (uint32_t)k->item.n;
        umap_put(&k->seen, id, key);
    }
    return key;
}

struct cost {
    int64_t weight, wait;
    uint64_t samples;
    int64_t *kind;
};
struct costs {
    VEC(struct cost) node; /* by node of the trie */
};

static void add_cost(struct cost *c, const struct profile_sample *m, unsigned kind, struct arena *a)
{
    c->weight += m->weight;
    c->samples += m->count;
    if (!kind)
        return;
    c->wait += m->weight;
    if (!c->kind)
        c->kind = arena_zalloc(a, AN_KINDS * sizeof *c->kind);
    c->kind[kind] += m->weight;
}

static void add_sample(struct keys *k, struct trie *t, struct costs *costs,
                       const struct profile_sample *m, unsigned kind, uint32_t stack)
{
    struct leaf l = leaf_of(k->s, stack);
    uint32_t at = 0;

    for (size_t i = 0; i < k->levels->n; i++) {
        at = trie_child(t, at, key_of(k, i, m, &l));
        while (costs->node.n < t->node.n)
            vec_push(&costs->node, ((struct cost){ 0 }));
        add_cost(&costs->node.v[at], m, kind, &k->g->arena);
    }
}

struct ready { /* a node of the trie to be added */
    uint32_t node, depth, parent;
    struct cost cost;
    const char *name;
    bool idle;
};

static int lightest_first(const void *a, const void *b)
{
    const struct ready *x = a, *y = b;

    if (x->idle != y->idle)
        return x->idle ? -1 : 1;
    if (x->cost.weight != y->cost.weight)
        return x->cost.weight < y->cost.weight ? -1 : 1;
    return strcmp(y->name, x->name);
}

static void list_groups(struct an_groups *g, const struct keys *k, const struct trie *t,
                        const struct costs *costs)
{
    VEC(struct ready) wait = { 0 };

    vec_push(&wait, ((struct ready){ .parent = UINT32_MAX }));
    while (wait.n) {
        struct ready r = wait.v[--wait.n];
        uint32_t self = UINT32_MAX;
        size_t before = wait.n;

        if (r.node) {
            struct an_group made = k->item.v[t->node.v[r.node].key - 1];

            made.depth = r.depth - 1;
            made.parent = r.parent;
            made.weight = r.cost.weight;
            made.samples = r.cost.samples;
            made.wait = r.cost.wait;
            made.kind = r.cost.kind;
            self = (uint32_t)g->group.n;
            vec_push(&g->group, made);
        }
        for (uint32_t c = trie_first(t, r.node); c; c = t->node.v[c].next)
            vec_push(&wait, ((struct ready){ c, r.depth + 1, self, costs->node.v[c],
                                             k->item.v[t->node.v[c].key - 1].name,
                                             k->item.v[t->node.v[c].key - 1].idle }));
        if (wait.n - before > 1)
            qsort(wait.v + before, wait.n - before, sizeof *wait.v, lightest_first);
    }
    vec_release(&wait);
}

void an_groups_build(struct an_groups *g, const struct an_symbols *s, const struct an_view *v,
                     const struct an_levels *levels)
{
    const struct profile *p = s->profile;
    struct keys k = { .s = s, .v = v, .levels = levels, .g = g };
    struct costs costs = { 0 };
    struct trie t = { 0 };

    *g = (struct an_groups){ .all = an_sum_of(v) };
    for (size_t i = 0; i < levels->n; i++)
        k.pair[i] = levels->by[i] == AN_BY_TAG ? an_tags_with(p, levels->key[i]) : NULL;
    trie_init(&t);
    vec_push(&costs.node, ((struct cost){ 0 }));
    for (size_t i = 0; i < p->sample.n; i++) {
        uint32_t stack;
        unsigned kind;

        if (an_view_takes(v, &p->sample.v[i], &stack, &kind))
            add_sample(&k, &t, &costs, &p->sample.v[i], kind, stack);
    }
    list_groups(g, &k, &t, &costs);
    trie_release(&t);
    vec_release(&costs.node);
    vec_release(&k.item);
    umap_release(&k.seen);
    for (size_t i = 0; i < levels->n; i++)
        free(k.pair[i]);
}

void an_groups_release(struct an_groups *g)
{
    vec_release(&g->group);
    arena_release(&g->arena);
}
