/* callgraph.c - see callgraph.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/callgraph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sat.h"

enum { MAX_DEPTH = 128, MAX_NODES = 1 << 18 };
static const double smallest_share = 1e-4;

void callgraph_init(struct callgraph *g, struct intern *in, enum frame_kind kind)
{
    memset(g, 0, sizeof *g);
    g->in = in;
    g->kind = kind;
}

void callgraph_release(struct callgraph *g)
{
    vec_release(&g->function);
    vec_release(&g->line);
    vec_release(&g->value);
    vec_release(&g->edge_self);
    vec_release(&g->edge);
    umap_release(&g->function_of);
    umap_release(&g->line_of);
    umap_release(&g->edge_of);
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

static uint32_t add_line(struct callgraph *g, uint32_t function, uint32_t line)
{
    struct callgraph_function *f = &g->function.v[function];
    size_t from = g->value.n;

    vec_push(&g->line, ((struct callgraph_line){ .line = line }));
    vec_reserve(&g->value, from + g->n_values);
    memset(g->value.v + from, 0, g->n_values * sizeof *g->value.v);
    g->value.n = from + g->n_values;
    if (f->last_line)
        g->line.v[f->last_line - 1].next = (uint32_t)g->line.n;
    else
        f->first_line = (uint32_t)g->line.n;
    f->last_line = (uint32_t)g->line.n;
    return (uint32_t)g->line.n;
}

static void put_lines(struct callgraph *g, uint32_t function, struct umap *table)
{
    for (uint32_t i = g->function.v[function].first_line; i; i = g->line.v[i - 1].next)
        umap_put(table, (uint64_t)function << 32 | g->line.v[i - 1].line, i);
}

/* Most functions are visited once, and their lines fit in a small table of their own, which
 * stays in the cache; only those visited again go to the table of all. */
static void visit(struct callgraph *g, uint32_t function)
{
    struct callgraph_function *f = &g->function.v[function];

    g->at = function + 1;
    g->ascending = true;
    if (f->indexed || !f->first_line)
        return;
    f->indexed = true;
    put_lines(g, function, &g->line_of);
}

/* While the lines of a function come in order, the last one is all there is to compare with. */
static bool comes_in_order(struct callgraph *g, const struct callgraph_function *f, uint32_t line)
{
    if (f->indexed || !g->ascending)
        return false;
    if (!f->last_line || line >= g->line.v[f->last_line - 1].line)
        return true;
    g->ascending = false;
    umap_clear(&g->here);
    put_lines(g, g->at - 1, &g->here);
    return false;
}

static uint32_t line_of(struct callgraph *g, uint32_t function, uint32_t line)
{
    uint64_t key = (uint64_t)function << 32 | line;
    const struct callgraph_function *f = &g->function.v[function];
    struct umap *table;
    uint32_t at;

    if (g->at != function + 1)
        visit(g, function);
    if (comes_in_order(g, f, line))
        return f->last_line && g->line.v[f->last_line - 1].line == line
                   ? f->last_line
                   : add_line(g, function, line);
    table = f->indexed ? &g->line_of : &g->here;
    at = umap_find(table, key);
    if (!at) {
        at = add_line(g, function, line);
        umap_put(table, key, at);
    }
    return at;
}

void callgraph_cost(struct callgraph *g, uint32_t function, uint32_t line, const int64_t *values)
{
    uint32_t at = line_of(g, function, line); /* may move the values */
    int64_t *to = g->value.v + (at - 1) * g->n_values;

    g->function.v[function].self += (double)values[0];
    for (size_t i = 0; i < g->n_values; i++)
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

void callgraph_call(struct callgraph *g, uint32_t caller, uint32_t callee, uint32_t line,
                    double cost, const int64_t *self)
{
    uint64_t key = (uint64_t)caller << 32 | callee;
    uint32_t at = umap_find(&g->edge_of, key);

    if (!at) {
        vec_push(&g->edge, ((struct callgraph_edge){ .caller = caller, .callee = callee,
                                                     .line = line,
                                                     .next = g->function.v[caller].first_out }));
        at = (uint32_t)g->edge.n;
        g->function.v[caller].first_out = at;
        umap_put(&g->edge_of, key, at);
    }
    g->edge.v[at - 1].cost += cost;
    if (self)
        add_self(g, &g->edge.v[at - 1], self);
}

/* What goes in and out of each function by calls; returns what all cost themselves. */
static double sum_up(struct callgraph *g)
{
    double all = 0;

    for (size_t i = 0; i < g->function.n; i++)
        all += g->function.v[i].self;
    for (size_t i = 0; i < g->edge.n; i++) {
        const struct callgraph_edge *e = &g->edge.v[i];
        struct callgraph_function *callee = &g->function.v[e->callee];

        if (e->caller == e->callee)
            continue;
        g->function.v[e->caller].out += e->cost;
        callee->in += e->cost;
        if (!callee->caller || e->cost > g->edge.v[callee->caller - 1].cost)
            callee->caller = (uint32_t)i + 1;
    }
    return all;
}

static uint32_t new_frame(struct callgraph *g, uint32_t function, uint32_t line)
{
    struct sink *out = g->in->out;
    struct location at = { g->function.v[function].function, line };
    struct frame f = { .kind = g->kind, .module = g->in->function.v[at.function - 1].module };

    g->n_frames++;
    if (out->frame)
        out->frame(out, &f);
    if (out->resolve)
        out->resolve(out, g->n_frames, &at, 1);
    return g->n_frames;
}

static uint32_t new_stack(struct callgraph *g, uint32_t below, uint32_t frame)
{
    if (g->in->out->stack)
        g->in->out->stack(g->in->out, below, frame);
    return ++g->n_stacks;
}

/* The caller of edge E, on the stack BELOW. */
static uint32_t call_stack(struct callgraph *g, uint32_t below, struct callgraph_edge *e)
{
    if (!e->frame)
        e->frame = new_frame(g, e->caller, e->line);
    return new_stack(g, below, e->frame);
}

static uint32_t line_stack(struct callgraph *g, uint32_t function, uint32_t line, uint32_t below)
{
    struct callgraph_function *f = &g->function.v[function];

    if (f->given_line != line + 1) {
        f->given_line = line + 1;
        f->frame = new_frame(g, function, g->line.v[line].line);
    } else if (f->below == below) {
        return f->stack;
    }
    f->below = below;
    return f->stack = new_stack(g, below, f->frame);
}

/* A part of the cost of one of FUNCTION's lines, to the stack below which it was called. */
static void give_line(struct callgraph *g, uint32_t function, uint32_t line, uint32_t below,
                      const int64_t *part)
{
    struct sample m = { .cpu = -1, .count = 1 };

    m.stack = line_stack(g, function, line, below);
    for (size_t i = 0; i < g->n_values; i++) {
        m.metric = g->metric[i];
        m.weight = part[i];
        g->value.v[line * g->n_values + i] -= part[i];
        if (m.weight && g->in->out->sample)
            g->in->out->sample(g->in->out, &m);
    }
}

/* Lines are used up one after the other, so that nodes and lines both come out whole without
 * a stack for every pair.  The first value decides, the others follow in proportion. */
static void take_lines(struct callgraph *g, uint32_t function, uint32_t below, int64_t want)
{
    for (uint32_t at = g->function.v[function].first_line; at && want > 0;
         at = g->line.v[at - 1].next) {
        const int64_t *rest = g->value.v + (at - 1) * g->n_values;
        int64_t part[CALLGRAPH_MAX_VALUES];

        if (rest[0] <= 0)
            continue;
        part[0] = rest[0] < want ? rest[0] : want;
        for (size_t i = 1; i < g->n_values; i++)
            part[i] = part[0] == rest[0]
                          ? rest[i]
                          : sat_of((double)rest[i] * (double)part[0] / (double)rest[0]);
        want -= part[0];
        give_line(g, function, at - 1, below, part);
    }
}

/* A function known by one line only, and what each way to it costs: every value on its own. */
static void take_one(struct callgraph *g, uint32_t function, uint32_t below, const double *want)
{
    uint32_t line = g->function.v[function].first_line - 1;
    int64_t part[CALLGRAPH_MAX_VALUES];

    for (size_t i = 0; i < g->n_values; i++) {
        int64_t rest = g->value.v[line * g->n_values + i];

        part[i] = want[i] >= (double)rest ? rest : sat_of(want[i]);
    }
    give_line(g, function, line, below, part);
}

static void give_rest(struct callgraph *g, uint32_t function, uint32_t below)
{
    for (uint32_t at = g->function.v[function].first_line; at; at = g->line.v[at - 1].next) {
        int64_t part[CALLGRAPH_MAX_VALUES];
        bool any = false;

        for (size_t i = 0; i < g->n_values; i++) {
            part[i] = g->value.v[(at - 1) * g->n_values + i];
            any |= part[i] != 0;
        }
        if (any)
            give_line(g, function, at - 1, below, part);
    }
}

struct node { /* a way from a root to a function */
    uint32_t function, below, parent, depth, edge; /* parent: index + 1; edge: index + 1 */
    double cost;                                   /* in all, along this way */
};

struct walk {
    struct callgraph *g;
    VEC(struct node) node;
    double least;
};

static bool is_on_way(const struct walk *w, uint32_t at, uint32_t function)
{
    for (; at; at = w->node.v[at - 1].parent)
        if (w->node.v[at - 1].function == function)
            return true;
    return false;
}

static void give_self(struct walk *w, const struct node *n)
{
    struct callgraph *g = w->g;
    struct callgraph_function *f = &g->function.v[n->function];
    const struct callgraph_edge *e = n->edge ? &g->edge.v[n->edge - 1] : NULL;
    double whole = f->self + f->out, want[CALLGRAPH_MAX_VALUES];

    if (!f->reached || n->cost > f->best) {
        f->best = n->cost;
        f->best_stack = n->below;
        f->reached = true;
    }
    if (!f->first_line)
        return;
    if (e && e->has_self && f->first_line == f->last_line) {
        for (size_t i = 0; i < g->n_values; i++)
            want[i] = e->cost > 0 ? (double)g->edge_self.v[e->self + i] * (n->cost / e->cost) : 0;
        take_one(g, n->function, n->below, want);
    } else if (whole > 0 && n->cost >= whole) { /* the only way to it */
        give_rest(g, n->function, n->below);
        f->given = true;
    } else if (whole > 0) {
        take_lines(g, n->function, n->below, sat_of(f->self * (n->cost / whole)));
    }
}

static void follow(struct walk *w, uint32_t at)
{
    struct node n = w->node.v[at - 1];
    struct callgraph *g = w->g;
    const struct callgraph_function *f = &g->function.v[n.function];
    double whole = f->self + f->out;

    give_self(w, &n);
    if (n.depth >= MAX_DEPTH || whole <= 0)
        return;
    for (uint32_t i = f->first_out; i; i = g->edge.v[i - 1].next) {
        struct callgraph_edge *e = &g->edge.v[i - 1];
        double cost = e->cost * (n.cost / whole);

        if (cost < w->least || w->node.n >= MAX_NODES || is_on_way(w, at, e->callee))
            continue;
        vec_push(&w->node, ((struct node){ e->callee, call_stack(g, n.below, e), at, n.depth + 1,
                                           i, cost }));
    }
}

/* A stack for a function no way has reached: up its costliest callers. */
static uint32_t likely_way(struct callgraph *g, uint32_t function)
{
    uint32_t edges[MAX_DEPTH], n = 0, below = 0;

    while (n < MAX_DEPTH && g->function.v[function].caller) {
        uint32_t e = g->function.v[function].caller;

        if (g->function.v[function].reached)
            break;
        edges[n++] = e;
        function = g->edge.v[e - 1].caller;
        for (uint32_t i = 0; i + 1 < n; i++) /* round in a circle: stop */
            if (edges[i] == e)
                return below;
    }
    below = g->function.v[function].reached ? g->function.v[function].best_stack : 0;
    while (n--)
        below = call_stack(g, below, &g->edge.v[edges[n] - 1]);
    return below;
}

void callgraph_give(struct callgraph *g)
{
    struct walk w = { .g = g };

    w.least = smallest_share * sum_up(g);
    for (uint32_t i = 0; i < g->function.n; i++) {
        const struct callgraph_function *f = &g->function.v[i];
        double from_outside = f->self + f->out - f->in;

        if (!f->caller || from_outside > w.least)
            vec_push(&w.node, ((struct node){ .function = i, .cost = from_outside }));
    }
    for (size_t i = 0; i < w.node.n; i++)
        follow(&w, (uint32_t)i + 1);
    vec_release(&w.node);
    for (uint32_t i = 0; i < g->function.n; i++)
        if (!g->function.v[i].given)
            give_rest(g, i, g->function.v[i].reached ? g->function.v[i].best_stack
                                                     : likely_way(g, i));
}
