/* firefox_tables.c - see firefox_tables.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/firefox_tables.h"

#include <stdlib.h>
#include <string.h>

enum category { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_SCRIPT, CATEGORY_IDLE };

void firefox_tables_init(struct firefox_tables *t, const struct an_symbols *symbols)
{
    memset(t, 0, sizeof *t);
    t->symbols = symbols;
    intern_init(&t->strings, &t->nowhere);
    trie_init(&t->stacks);
}

void firefox_tables_release(struct firefox_tables *t)
{
    intern_release(&t->strings);
    trie_release(&t->stacks);
    vec_release(&t->frame);
    index_release(&t->frames);
    vec_release(&t->func);
    vec_release(&t->resource);
    umap_release(&t->func_of);
    umap_release(&t->resource_of);
    umap_release(&t->node_of_stack);
}

uint64_t firefox_string(struct firefox_tables *t, const char *s)
{
    return intern_string(&t->strings, s, strlen(s)) - 1;
}

static uint32_t func_of(struct firefox_tables *t, uint32_t symbol)
{
    uint32_t at = umap_find(&t->func_of, symbol);

    if (at)
        return at - 1;
    vec_push(&t->func, symbol);
    umap_put(&t->func_of, symbol, (uint32_t)t->func.n);
    return (uint32_t)t->func.n - 1;
}

static uint32_t frame_row(struct firefox_tables *t, struct firefox_frame f)
{
    uint64_t h = hash_pair(hash_pair(f.symbol, f.line), hash_pair(f.address, f.depth * 2 + f.idle));

    for (uint32_t at = index_first(&t->frames, h), id; (id = index_id(&t->frames, h, &at));)
        if (memcmp(&t->frame.v[id - 1], &f, sizeof f) == 0)
            return id - 1;
    vec_push(&t->frame, f);
    index_add(&t->frames, h, (uint32_t)t->frame.n);
    func_of(t, f.symbol);
    return (uint32_t)t->frame.n - 1;
}

static uint32_t add_frame(struct firefox_tables *t, uint32_t node, uint32_t frame, bool idle)
{
    const struct profile *p = t->symbols->profile;
    struct profile_chain c = t->symbols->frame.v[frame - 1], at = p->chain.v[frame - 1];
    const struct frame *f = &p->frame.v[frame - 1];

    for (uint32_t i = 0; i < c.n; i++) {
        struct firefox_frame row;

        memset(&row, 0, sizeof row);
        row.symbol = t->symbols->chain.v[c.first + i];
        row.line = at.n == c.n ? p->location.v[at.first + i].line : 0;
        row.depth = i;
        row.module = f->module;
        row.idle = idle && f->kind == FRAME_NOTE;
        row.address = f->address ? f->address - !!(f->flags & FRAME_RETURN) : 0;
        node = trie_child(&t->stacks, node, frame_row(t, row));
    }
    return node;
}

/* Stacks share their callers: add each stack once. */
uint32_t firefox_stack(struct firefox_tables *t, uint32_t stack, bool waiting)
{
    const struct profile *p = t->symbols->profile;
    VEC(uint32_t) path = { 0 };
    uint32_t node = 0;

    for (; stack && !(node = umap_find(&t->node_of_stack, stack));
         stack = p->stack.v[stack - 1].parent)
        vec_push(&path, stack);
    for (size_t i = path.n; i--;) {
        node = add_frame(t, node, p->stack.v[path.v[i] - 1].frame, waiting && i == 0);
        umap_put(&t->node_of_stack, path.v[i], node);
    }
    vec_release(&path);
    return node;
}

/* --- writing ---------------------------------------------------------------------------- */

static void put_or_null(struct json *j, uint64_t x)
{
    if (x)
        json_u64(j, x);
    else
        json_null(j);
}

/* The profiler draws idle frames differently: use that category for waits. */
static enum category category_of(const struct firefox_tables *t, const struct firefox_frame *f)
{
    if (f->idle)
        return CATEGORY_IDLE;
    switch (t->symbols->symbol.v[f->symbol].kind) {
    case FRAME_KERNEL:
        return CATEGORY_KERNEL;
    case FRAME_PYTHON:
    case FRAME_SCRIPT:
    case FRAME_JIT:
        return CATEGORY_SCRIPT;
    case FRAME_NATIVE:
        return CATEGORY_USER;
    default:
        return CATEGORY_OTHER;
    }
}

static void put_frame_table(struct firefox_tables *t, struct json *j)
{
    const struct firefox_frame *f = t->frame.v;
    size_t n = t->frame.n;

    json_key(j, "frameTable");
    json_object(j);
    json_put_u64(j, "length", n);
    firefox_column(j, "address", n,
                   json_i64(j, f[i].address && f[i].module ? (int64_t)f[i].address : -1));
    firefox_column(j, "inlineDepth", n, json_u64(j, f[i].depth));
    firefox_column(j, "category", n, json_u64(j, category_of(t, &f[i])));
    firefox_column(j, "subcategory", n, json_u64(j, 0));
    firefox_column(j, "func", n, json_u64(j, func_of(t, f[i].symbol)));
    firefox_column(j, "nativeSymbol", n, json_null(j));
    firefox_column(j, "innerWindowID", n, json_null(j));
    firefox_column(j, "line", n, put_or_null(j, f[i].line));
    firefox_column(j, "column", n, json_null(j));
    json_end_object(j);
}

static int64_t resource_of(struct firefox_tables *t, uint32_t symbol)
{
    uint32_t module = t->symbols->symbol.v[symbol].module, at;

    if (!module)
        return -1;
    at = umap_find(&t->resource_of, module);
    if (!at) {
        vec_push(&t->resource, module);
        at = (uint32_t)t->resource.n;
        umap_put(&t->resource_of, module, at);
    }
    return at - 1;
}

static const struct function *function_of(const struct firefox_tables *t, uint32_t symbol)
{
    static const struct function none;
    uint32_t id = t->symbols->symbol.v[symbol].function;

    return id ? &t->symbols->profile->function.v[id - 1] : &none;
}

static void put_file(struct firefox_tables *t, struct json *j, uint32_t symbol)
{
    const char *file = profile_string(t->symbols->profile, function_of(t, symbol)->file);

    if (*file)
        json_u64(j, firefox_string(t, file));
    else
        json_null(j);
}

static void put_func_table(struct firefox_tables *t, struct json *j)
{
    const struct an_symbol *y = t->symbols->symbol.v;
    const uint32_t *func = t->func.v;
    size_t n = t->func.n;

    json_key(j, "funcTable");
    json_object(j);
    json_put_u64(j, "length", n);
    firefox_column(j, "name", n, json_u64(j, firefox_string(t, y[func[i]].name)));
    firefox_column(j, "isJS", n, json_bool(j, false));
    firefox_column(j, "relevantForJS", n, json_bool(j, false));
    firefox_column(j, "resource", n, json_i64(j, resource_of(t, func[i])));
    firefox_column(j, "fileName", n, put_file(t, j, func[i]));
    firefox_column(j, "lineNumber", n, put_or_null(j, function_of(t, func[i])->line));
    firefox_column(j, "columnNumber", n, json_null(j));
    json_end_object(j);
}

static void put_resource_table(struct firefox_tables *t, struct json *j)
{
    const struct profile *p = t->symbols->profile;
    const uint32_t *module = t->resource.v;
    size_t n = t->resource.n;

    json_key(j, "resourceTable");
    json_object(j);
    json_put_u64(j, "length", n);
    firefox_column(j, "lib", n, json_u64(j, module[i] - 1));
    firefox_column(j, "name", n, json_u64(j, firefox_string(t, an_module_name(p, module[i]))));
    firefox_column(j, "host", n, json_null(j));
    firefox_column(j, "type", n, json_u64(j, 1));
    json_end_object(j);
}

static void put_prefix(struct json *j, uint32_t parent)
{
    if (parent)
        json_u64(j, parent - 1);
    else
        json_null(j);
}

static void put_stack_table(struct firefox_tables *t, struct json *j)
{
    const struct trie_node *v = t->stacks.node.v + 1;
    size_t n = t->stacks.node.n - 1;

    json_key(j, "stackTable");
    json_object(j);
    json_put_u64(j, "length", n);
    firefox_column(j, "prefix", n, put_prefix(j, v[i].parent));
    firefox_column(j, "frame", n, json_u64(j, v[i].key));
    json_end_object(j);
}

static void put_native_symbols(struct json *j)
{
    static const char *const columns[] = { "address", "functionSize", "libIndex", "name" };

    json_key(j, "nativeSymbols");
    json_object(j);
    json_put_u64(j, "length", 0);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        json_key(j, columns[i]);
        json_array(j);
        json_end_array(j);
    }
    json_end_object(j);
}

void firefox_tables_put(struct firefox_tables *t, struct json *j)
{
    const struct intern *s = &t->strings;

    put_stack_table(t, j);
    put_frame_table(t, j);
    put_func_table(t, j);
    put_resource_table(t, j);
    put_native_symbols(j);
    firefox_column(j, "stringArray", s->string.n,
                   json_strn(j, s->string.v[i].s, s->string.v[i].n));
}

void firefox_categories_put(struct json *j)
{
    static const struct { const char *name, *color; } categories[] = {
        [CATEGORY_OTHER] = { "Other", "gray" },     [CATEGORY_USER] = { "User", "yellow" },
        [CATEGORY_KERNEL] = { "Kernel", "orange" }, [CATEGORY_SCRIPT] = { "Script", "blue" },
        [CATEGORY_IDLE] = { "Idle", "transparent" },
    };

    json_key(j, "categories");
    json_array(j);
    for (size_t i = 0; i < ARRAY_LEN(categories); i++) {
        json_object(j);
        json_put_str(j, "name", categories[i].name);
        json_put_str(j, "color", categories[i].color);
        json_key(j, "subcategories");
        json_array(j);
        json_str(j, "Other");
        json_end_array(j);
        json_end_object(j);
    }
    json_end_array(j);
}
