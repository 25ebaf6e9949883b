/* view_data.c - see view_data.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/view_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

const char *const view_column_names[VIEW_COLUMNS] = {
    [VIEW_STRINGS] = "strings",
    [VIEW_SYMBOL_KIND] = "symbol.kind",
    [VIEW_SYMBOL_MODULE] = "symbol.module",
    [VIEW_SYMBOL_FILE] = "symbol.file",
    [VIEW_SYMBOL_LINE] = "symbol.line",
    [VIEW_NODE_UP] = "node.up",
    [VIEW_NODE_SYMBOL] = "node.symbol",
    [VIEW_WEIGHT_NODE] = "weight.node",
    [VIEW_WEIGHT_VALUE] = "weight.value",
    [VIEW_WEIGHT_COUNT] = "weight.count",
};

struct build {
    struct view_data *v;
    const struct profile *p;
    struct an_symbols symbols;
    struct an_tree tree;
    uint32_t *order;    /* nodes depth-first */
    uint32_t *position; /* node to its place in order */
    uint32_t *number;   /* symbol to its number in the page, + 1; 0: in no stack */
    struct umap strings; /* profile string or module to its number in the page */
};

/* --- symbols ---------------------------------------------------------------------------- */

static void put_string(struct view_data *v, const char *s)
{
    struct buf *b = &v->column[VIEW_STRINGS];
    size_t n = strlen(s);

    buf_reserve(b, n + 1);
    for (size_t i = 0; i < n; i++)
        buf_u8(b, s[i] == '\n' ? ' ' : (unsigned char)s[i]);
    buf_u8(b, '\n');
    v->n_strings++;
}

/* The number of string S in the page; KEY identifies it. */
static uint64_t string_number(struct build *b, uint64_t key, const char *s)
{
    uint32_t at;

    if (!*s)
        return 0;
    at = umap_find(&b->strings, key);
    if (!at) {
        put_string(b->v, s);
        at = (uint32_t)b->v->n_strings - 1;
        umap_put(&b->strings, key, at);
    }
    return at;
}

struct used_symbol {
    uint32_t symbol, nodes;
};

static int by_nodes_down(const void *a, const void *b)
{
    const struct used_symbol *x = a, *y = b;

    if (x->nodes != y->nodes)
        return x->nodes < y->nodes ? 1 : -1;
    return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

static void put_symbol(struct build *b, const struct an_symbol *y)
{
    struct view_data *v = b->v;
    const struct function *f = y->function ? &b->p->function.v[y->function - 1] : NULL;
    const char *module = an_module_name(b->p, y->module);
    uint64_t module_key = (uint64_t)1 << 40 | y->module;

    buf_u8(&v->column[VIEW_SYMBOL_KIND], (uint8_t)(y->kind | (y->inlined ? 0x80 : 0)));
    buf_uleb(&v->column[VIEW_SYMBOL_MODULE], string_number(b, module_key, module));
    buf_uleb(&v->column[VIEW_SYMBOL_FILE],
             f ? string_number(b, f->file, profile_string(b->p, f->file)) : 0);
    buf_uleb(&v->column[VIEW_SYMBOL_LINE], f ? f->line : 0);
}

/* The most used symbol gets the smallest number, so that most upper bytes are 0.  Strings:
 * number 0 is empty, symbol I has string I + 1, modules and files follow. */
static void number_symbols(struct build *b)
{
    size_t n = b->symbols.symbol.n, used = 0;
    struct used_symbol *u = mem_zalloc(n * sizeof *u);

    for (uint32_t i = 0; i < n; i++)
        u[i].symbol = i;
    for (size_t i = 0; i < b->tree.trie.node.n; i++)
        u[b->tree.trie.node.v[i].key].nodes++;
    qsort(u, n, sizeof *u, by_nodes_down);
    put_string(b->v, "");
    for (; used < n && u[used].nodes; used++) {
        b->number[u[used].symbol] = (uint32_t)used;
        put_string(b->v, b->symbols.symbol.v[u[used].symbol].name);
    }
    for (size_t i = 0; i < used; i++)
        put_symbol(b, &b->symbols.symbol.v[u[i].symbol]);
    b->v->n_symbols = used;
    free(u);
}

/* --- nodes ------------------------------------------------------------------------------ */

static unsigned bytes_of(uint64_t largest)
{
    unsigned bytes = 1;

    while (bytes < 4 && largest >> (8 * bytes))
        bytes++;
    return bytes;
}

/* One pass in depth-first order; PATH is the path from the root to the previous node. */
static void put_nodes(struct build *b)
{
    struct buf *symbol = &b->v->column[VIEW_NODE_SYMBOL];
    size_t n = b->v->n_nodes;
    unsigned bytes = b->v->symbol_bytes = bytes_of(b->v->n_symbols);
    VEC(uint32_t) path = { 0 };

    buf_reserve(symbol, n * bytes);
    symbol->n = n * bytes;
    buf_reserve(&b->v->column[VIEW_NODE_UP], n);
    for (size_t i = 0; i < n; i++) {
        uint32_t at = b->order[i];
        struct trie_node node = b->tree.trie.node.v[at];
        uint32_t number = b->number[node.key];
        size_t depth = path.n;

        b->position[at] = (uint32_t)i;
        for (unsigned k = 0; k < bytes; k++)
            symbol->data[k * n + i] = (unsigned char)(number >> (8 * k));
        while (path.n && path.v[path.n - 1] != node.parent)
            path.n--;
        if (i)
            buf_uleb(&b->v->column[VIEW_NODE_UP], depth - path.n);
        vec_push(&path, at);
    }
    vec_release(&path);
}

/* --- weights ---------------------------------------------------------------------------- */

struct sum { /* of the samples of a group at a node */
    uint32_t position;
    int64_t weight;
    uint64_t count;
};

struct group { /* samples of a metric, a thread and a set of tags */
    uint64_t key;
    size_t n;
};

struct grouped { /* samples in order of their group */
    VEC(struct group) group; /* only those with samples, sorted by key */
    uint32_t *sample;
    size_t *first; /* by group: index of its first sample; one more at the end */
};

static uint64_t group_of(const struct build *b, const struct profile_sample *m)
{
    return ((m->metric - 1) * (uint64_t)(b->p->thread.n + 1) + m->thread) *
               (b->v->tags.shown.n + 1) +
           b->v->tags.number[m->tags];
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = ((const struct group *)a)->key, y = ((const struct group *)b)->key;

    return x < y ? -1 : x > y;
}

/* Count the samples of each group; OF gets the number of the group of each sample. */
static void find_groups(const struct build *b, struct grouped *g, uint32_t *of)
{
    struct umap known = { 0 };
    uint64_t last = UINT64_MAX;
    uint32_t at = 0;

    for (size_t i = 0; i < b->p->sample.n; i++) {
        uint64_t key = group_of(b, &b->p->sample.v[i]);

        if (key != last)
            at = umap_find(&known, key);
        if (!at) {
            vec_push(&g->group, ((struct group){ .key = key }));
            umap_put(&known, key, at = (uint32_t)g->group.n);
        }
        last = key;
        g->group.v[at - 1].n++;
        of[i] = at - 1;
    }
    umap_release(&known);
}

static struct grouped group_samples(const struct build *b)
{
    const struct profile *p = b->p;
    struct grouped g = { .sample = mem_alloc(p->sample.n * sizeof *g.sample) };
    uint32_t *of = mem_alloc(p->sample.n * sizeof *of);
    uint64_t *key;
    size_t *at, n;

    find_groups(b, &g, of);
    n = g.group.n;
    key = mem_alloc(n * sizeof *key); /* in the order of first samples */
    at = mem_alloc(n * sizeof *at);   /* in the same order: where the next sample goes */
    g.first = mem_zalloc((n + 1) * sizeof *g.first);
    for (size_t i = 0; i < n; i++)
        key[i] = g.group.v[i].key;
    if (n)
        qsort(g.group.v, n, sizeof *g.group.v, by_key);
    for (size_t i = 0; i < n; i++)
        g.first[i + 1] = g.first[i] + g.group.v[i].n;
    for (size_t i = 0; i < n; i++)
        at[i] = g.first[search(0, n, k, g.group.v[k].key < key[i])];
    for (size_t i = 0; i < p->sample.n; i++)
        g.sample[at[of[i]]++] = (uint32_t)i;
    free(key);
    free(at);
    free(of);
    return g;
}

static int by_position(const void *a, const void *b)
{
    uint32_t x = ((const struct sum *)a)->position, y = ((const struct sum *)b)->position;

    return x < y ? -1 : x > y;
}

static uint32_t position_of(const struct build *b, const struct profile_sample *m)
{
    return m->stack ? b->position[b->tree.node_of_stack.v[m->stack - 1]] : 0;
}

/* Sum the samples by node into SUM, which has room for N; returns the number of nodes.  PLACE (by
 * position, all 0 before and after) is the index of a node in SUM, + 1. */
static uint32_t sum_group(const struct build *b, const uint32_t *sample, size_t n, uint32_t *place,
                          struct sum *sum)
{
    uint32_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const struct profile_sample *m = &b->p->sample.v[sample[i]];
        uint32_t at = position_of(b, m);
        struct sum *s;

        if (!place[at]) {
            sum[used] = (struct sum){ .position = at };
            place[at] = ++used;
        }
        s = &sum[place[at] - 1];
        s->weight += m->weight;
        s->count += m->count;
    }
    for (uint32_t i = 0; i < used; i++)
        place[sum[i].position] = 0;
    return used;
}

static void put_group(struct build *b, const uint32_t *sample, size_t n, uint32_t *place,
                      struct sum *sum)
{
    const struct profile_sample *first = &b->p->sample.v[sample[0]];
    uint32_t used = sum_group(b, sample, n, place, sum), before = 0;

    vec_push(&b->v->group, ((struct view_group){ first->metric, first->thread,
                                                 b->v->tags.number[first->tags], used }));
    qsort(sum, used, sizeof *sum, by_position);
    for (uint32_t i = 0; i < used; i++) {
        buf_uleb(&b->v->column[VIEW_WEIGHT_NODE], sum[i].position - before);
        buf_zig(&b->v->column[VIEW_WEIGHT_VALUE], sum[i].weight);
        buf_uleb(&b->v->column[VIEW_WEIGHT_COUNT], sum[i].count);
        before = sum[i].position;
    }
}

static void put_weights(struct build *b)
{
    struct grouped g = group_samples(b);
    uint32_t *place = mem_zalloc(b->v->n_nodes * sizeof *place);
    struct sum *sum = mem_alloc(b->p->sample.n * sizeof *sum);

    for (size_t i = 0; i < g.group.n; i++)
        put_group(b, g.sample + g.first[i], g.group.v[i].n, place, sum);
    vec_release(&g.group);
    free(place);
    free(sum);
    free(g.first);
    free(g.sample);
}

void view_data_init(struct view_data *v, const struct profile *p)
{
    struct build b = { .v = v, .p = p };
    uint32_t *rank;
    size_t n;

    *v = (struct view_data){ 0 };
    view_tags_init(&v->tags, p);
    an_symbols_init(&b.symbols, p);
    an_tree_build(&b.tree, &b.symbols, NULL);
    n = b.tree.trie.node.n;
    v->n_nodes = n;
    rank = an_tree_ranks(&b.symbols);
    b.order = an_tree_order(&b.tree, rank);
    free(rank);
    b.number = mem_zalloc(b.symbols.symbol.n * sizeof *b.number);
    number_symbols(&b);
    b.position = mem_alloc(n * sizeof *b.position);
    put_nodes(&b);
    trie_release(&b.tree.trie);
    free(b.order);
    put_weights(&b);
    free(b.position);
    free(b.number);
    umap_release(&b.strings);
    vec_release(&b.tree.node_of_stack);
    an_symbols_release(&b.symbols);
}

void view_data_release(struct view_data *v)
{
    for (int i = 0; i < VIEW_COLUMNS; i++)
        buf_release(&v->column[i]);
    vec_release(&v->group);
    view_tags_release(&v->tags);
}
