/* callgraph.c - see callgraph.h: add functions, lines and calls. callgraph_write.c writes
 * them as stacks.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/callgraph.h"

#include <stdlib.h>
#include <string.h>

#include "base/sat.h"

void callgraph_init(struct callgraph *g, struct intern *in, enum frame_kind kind)
{
    memset(g, 0, sizeof *g);
    g->in = in;
    g->kind = kind;
}

void callgraph_release(struct callgraph *g)
{
    vec_release(&g->function);
    vec_release(&g->part);
    vec_release(&g->run);
    vec_release(&g->line);
    vec_release(&g->value);
    vec_release(&g->edge_self);
    vec_release(&g->edge);
    umap_release(&g->function_of);
    umap_release(&g->part_of);
    umap_release(&g->line_of);
    umap_release(&g->stack_of);
    index_release(&g->edge_of);
    umap_release(&g->here);
}

uint32_t callgraph_function(struct callgraph *g, uint32_t function)
{
    uint32_t at = umap_find(&g->function_of, function);

    if (at)
        return at - 1;
    vec_push(&g->function, ((struct callgraph_function){ .function = function }));
    umap_put(&g->function_of, function, (uint32_t)g->function.n);
    return (uint32_t)g->function.n - 1;
}

uint32_t callgraph_part(struct callgraph *g, uint32_t function, uint32_t inlined)
{
    uint64_t key = (uint64_t)function << 32 | inlined;
    uint32_t at = umap_find(&g->part_of, key);

    if (at)
        return at - 1;
    vec_push(&g->part, ((struct callgraph_part){ .function = function, .inlined = inlined,
                                                 .next = g->function.v[function].first_part }));
    g->function.v[function].first_part = (uint32_t)g->part.n;
    umap_put(&g->part_of, key, (uint32_t)g->part.n);
    return (uint32_t)g->part.n - 1;
}

static uint32_t add_line(struct callgraph *g, struct callgraph_part *p, uint32_t line)
{
    uint32_t at = (uint32_t)g->line.n;

    vec_push(&g->line, line);
    if (p->last_run && g->run.v[p->last_run - 1].end == at) {
        g->run.v[p->last_run - 1].end++;
        return at;
    }
    vec_push(&g->run, ((struct callgraph_run){ at, at + 1, 0 }));
    if (p->last_run)
        g->run.v[p->last_run - 1].next = (uint32_t)g->run.n;
    else
        p->first_run = (uint32_t)g->run.n;
    p->last_run = (uint32_t)g->run.n;
    return at;
}

static void put_lines(struct callgraph *g, uint32_t part, struct umap *table)
{
    for (uint32_t r = g->part.v[part].first_run; r; r = g->run.v[r - 1].next)
        for (uint32_t i = g->run.v[r - 1].first; i < g->run.v[r - 1].end; i++)
            umap_put(table, (uint64_t)part << 32 | g->line.v[i], i + 1);
}

/* Most parts are visited once, and their lines fit in a small table that stays in the cache.  Only
 * the lines of parts that are visited again go to the global table. */
static void visit(struct callgraph *g, uint32_t part)
{
    struct callgraph_part *p = &g->part.v[part];

    g->at = part + 1;
    g->ascending = true;
    if (p->indexed || !p->first_run)
        return;
    p->indexed = true;
    put_lines(g, part, &g->line_of);
}

static uint32_t look_up_line(struct callgraph *g, uint32_t part, uint32_t line)
{
    struct callgraph_part *p = &g->part.v[part];
    struct umap *table = p->indexed ? &g->line_of : &g->here;
    uint64_t key = (uint64_t)part << 32 | line;
    uint32_t at;

    if (!p->indexed && g->ascending) {
        g->ascending = false;
        umap_clear(&g->here);
        put_lines(g, part, &g->here);
    }
    at = umap_find(table, key);
    if (at)
        return at - 1;
    at = add_line(g, p, line);
    umap_put(table, key, at + 1);
    return at;
}

/* While the lines of a part arrive in ascending order, compare only with the last one.  It is also
 * the last line of the graph, because no other part has added any since. */
static uint32_t line_of(struct callgraph *g, uint32_t part, uint32_t line)
{
    struct callgraph_part *p = &g->part.v[part];

    if (g->at != part + 1)
        visit(g, part);
    if (p->indexed || !g->ascending)
        return look_up_line(g, part, line);
    if (!p->last_run || line > g->line.v[g->line.n - 1])
        return add_line(g, p, line);
    return line == g->line.v[g->line.n - 1] ? (uint32_t)g->line.n - 1
                                            : look_up_line(g, part, line);
}

void callgraph_cost(struct callgraph *g, uint32_t part, uint32_t line, const int64_t *values)
{
    size_t n = g->n_values, at = line_of(g, part, line) * n;
    int64_t *to;

    g->function.v[g->part.v[part].function].self += (double)values[0];
    if (at == g->value.n) {
        vec_reserve(&g->value, at + n);
        g->value.n += n;
        to = g->value.v + at;
        for (size_t i = 0; i < n; i++)
            to[i] = values[i];
        return;
    }
    to = g->value.v + at;
    for (size_t i = 0; i < n; i++)
        to[i] = sat_add(to[i], values[i]);
}

static void add_self(struct callgraph *g, struct callgraph_edge *e, const int64_t *self)
{
    if (!e->has_self) {
        e->has_self = true;
        e->self = g->edge_self.n;
        vec_reserve(&g->edge_self, e->self + g->n_values);
        memset(g->edge_self.v + e->self, 0, g->n_values * sizeof *g->edge_self.v);
        g->edge_self.n += g->n_values;
    }
    for (size_t i = 0; i < g->n_values; i++)
        g->edge_self.v[e->self + i] = sat_add(g->edge_self.v[e->self + i], self[i]);
}

static struct callgraph_edge *edge_at(struct callgraph *g, uint32_t part, uint32_t line,
                                      uint32_t callee)
{
    uint64_t h = hash_pair((uint64_t)part << 32 | line, callee);
    struct callgraph_function *caller = &g->function.v[g->part.v[part].function];

    for (uint32_t at = index_first(&g->edge_of, h), id; (id = index_id(&g->edge_of, h, &at));) {
        struct callgraph_edge *e = &g->edge.v[id - 1];

        if (e->part == part && e->line == line && e->callee == callee)
            return e;
    }
    vec_push(&g->edge, ((struct callgraph_edge){ .part = part, .callee = callee, .line = line,
                                                 .next_out = caller->first_out,
                                                 .next_in = g->function.v[callee].first_in }));
    index_add(&g->edge_of, h, (uint32_t)g->edge.n);
    caller->first_out = g->function.v[callee].first_in = (uint32_t)g->edge.n;
    return &g->edge.v[g->edge.n - 1];
}

void callgraph_call(struct callgraph *g, uint32_t part, uint32_t line, uint32_t callee,
                    double cost, const int64_t *self)
{
    struct callgraph_edge *e = edge_at(g, part, line, callee);

    e->cost += cost;
    if (self)
        add_self(g, e, self);
}
