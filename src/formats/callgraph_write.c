/* callgraph_write.c - write a call graph (callgraph.h) as stacks.  First follow the paths from the
 * roots and divide the cost in proportion, down to a smallest share.  Then move the cost that a
 * function has left up the calls that have cost left, to a path with a call that was not followed.
 * The cost of a call is written once, so the sums of calls stay correct.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/sat.h"
#include "formats/callgraph.h"

enum { MAX_DEPTH = 128, MAX_NODES = 1 << 18, MAX_TRIES = 64 };
static const double smallest_share = 1e-4;

static uint32_t caller_of(const struct callgraph *g, const struct callgraph_edge *e)
{
    return g->part.v[e->part].function;
}

/* Sum the cost of calls into and out of each function; returns the sum of all self cost. */
static double sum_up(struct callgraph *g)
{
    double all = 0;

    for (size_t i = 0; i < g->function.n; i++) {
        g->function.v[i].rest = g->function.v[i].self;
        all += g->function.v[i].self;
    }
    for (size_t i = 0; i < g->edge.n; i++) {
        struct callgraph_edge *e = &g->edge.v[i];
        struct callgraph_function *callee = &g->function.v[e->callee];

        if (caller_of(g, e) == e->callee)
            continue;
        e->left = e->cost;
        g->function.v[caller_of(g, e)].out += e->cost;
        callee->in += e->cost;
        if (!callee->caller || e->cost > g->edge.v[callee->caller - 1].cost)
            callee->caller = (uint32_t)i + 1;
    }
    return all;
}

static uint32_t new_frame(struct callgraph *g, uint32_t part, uint32_t line)
{
    struct sink *out = g->in->out;
    const struct callgraph_part *p = &g->part.v[part];
    uint32_t function = g->function.v[p->function].function;
    struct location at[2] = { { function, p->inlined ? 0 : line }, { p->inlined, line } };
    struct frame f = { .kind = (uint16_t)g->kind,
                       .module = g->in->function.v[function - 1].module };

    g->n_frames++;
    sink_frame(out, &f);
    sink_resolve(out, g->n_frames, at, p->inlined ? 2 : 1);
    return g->n_frames;
}

static uint32_t new_stack(struct callgraph *g, uint32_t below, uint32_t frame)
{
    sink_stack(g->in->out, below, frame);
    return ++g->n_stacks;
}

/* The stack of edge E's caller, called from the stack BELOW. */
static uint32_t call_stack(struct callgraph *g, uint32_t below, struct callgraph_edge *e)
{
    uint64_t key;
    uint32_t stack;

    if (!e->frame)
        e->frame = new_frame(g, e->part, e->line);
    key = (uint64_t)below << 32 | e->frame;
    stack = umap_find(&g->stack_of, key);
    if (!stack)
        umap_put(&g->stack_of, key, stack = new_stack(g, below, e->frame));
    return stack;
}

static uint32_t line_stack(struct callgraph *g, uint32_t part, uint32_t line, uint32_t below)
{
    struct callgraph_part *p = &g->part.v[part];

    if (p->last_line != line + 1) {
        p->last_line = line + 1;
        p->frame = new_frame(g, part, g->line.v[line]);
    } else if (p->below == below) {
        return p->stack;
    }
    p->below = below;
    return p->stack = new_stack(g, below, p->frame);
}

/* Write COST of LINE of PART, which the stack BELOW called. */
static void write_line(struct callgraph *g, uint32_t part, uint32_t line, uint32_t below,
                       const int64_t *cost)
{
    struct sample m = { .cpu = -1, .count = 1 };
    struct sink *out = g->in->out;

    m.stack = line_stack(g, part, line, below);
    for (size_t i = 0; i < g->n_values; i++) {
        m.metric = g->metric[i];
        m.weight = cost[i];
        if (m.weight)
            sink_sample(out, &m);
    }
}

/* A walk over the lines of a function, part by part and run by run. */
struct lines {
    uint32_t part, run, line; /* index + 1, index + 1, index */
};

static bool next_line(const struct callgraph *g, struct lines *l)
{
    if (!l->part)
        return false;
    if (l->run && ++l->line < g->run.v[l->run - 1].end)
        return true;
    l->run = l->run ? g->run.v[l->run - 1].next : g->part.v[l->part - 1].first_run;
    while (!l->run) {
        l->part = g->part.v[l->part - 1].next;
        if (!l->part)
            return false;
        l->run = g->part.v[l->part - 1].first_run;
    }
    l->line = g->run.v[l->run - 1].first;
    return true;
}

static struct lines lines_of(const struct callgraph *g, uint32_t function)
{
    return (struct lines){ .part = g->function.v[function].first_part };
}

/* Use up one line after the other, so that the sums of nodes and lines are both exact without a
 * stack for every pair.  WANT is of the first value; the others follow in proportion. */
static void take_lines(struct callgraph *g, uint32_t function, uint32_t below, int64_t want)
{
    struct lines l = lines_of(g, function);

    while (want > 0 && next_line(g, &l)) {
        int64_t *rest = g->value.v + l.line * g->n_values, cost[CALLGRAPH_MAX_VALUES];

        if (rest[0] <= 0)
            continue;
        cost[0] = rest[0] < want ? rest[0] : want;
        for (size_t i = 1; i < g->n_values; i++)
            cost[i] = cost[0] == rest[0]
                          ? rest[i]
                          : sat_of((double)rest[i] * (double)cost[0] / (double)rest[0]);
        for (size_t i = 0; i < g->n_values; i++)
            rest[i] -= cost[i];
        want -= cost[0];
        g->function.v[function].rest -= (double)cost[0];
        write_line(g, l.part - 1, l.line, below, cost);
    }
}

/* Find the only line of FUNCTION, as in a profile without lines. */
static bool has_one_line(const struct callgraph *g, uint32_t function, struct lines *l)
{
    struct lines more;

    *l = lines_of(g, function);
    if (!next_line(g, l))
        return false;
    more = *l;
    return !next_line(g, &more);
}

/* For a function with one line whose cost along each path is known: each value separately. */
static void take_one(struct callgraph *g, const struct lines *l, uint32_t below,
                     const double *want)
{
    int64_t *rest = g->value.v + l->line * g->n_values, cost[CALLGRAPH_MAX_VALUES];

    for (size_t i = 0; i < g->n_values; i++) {
        cost[i] = want[i] >= (double)rest[i] ? rest[i] : sat_of(want[i]);
        rest[i] -= cost[i];
    }
    g->function.v[g->part.v[l->part - 1].function].rest -= (double)cost[0];
    write_line(g, l->part - 1, l->line, below, cost);
}

static void write_rest(struct callgraph *g, uint32_t function, uint32_t below)
{
    struct lines l = lines_of(g, function);

    while (next_line(g, &l)) {
        int64_t *rest = g->value.v + l.line * g->n_values;
        bool any = false;

        for (size_t i = 0; i < g->n_values; i++)
            any |= rest[i] != 0;
        if (any)
            write_line(g, l.part - 1, l.line, below, rest);
    }
    g->function.v[function].rest = 0;
    g->function.v[function].written = true; /* the values are no longer used */
}

struct node { /* a path from a root to a function */
    uint32_t function, below, parent, depth, edge; /* parent: index + 1; edge: index + 1 */
    uint32_t next; /* node of the same function, index + 1 */
    double cost;   /* total along this path */
    double owed;   /* the part of it in calls that were not followed */
};

struct walk {
    struct callgraph *g;
    VEC(struct node) node;
    double least;
};

static void add_node(struct walk *w, struct node n)
{
    struct callgraph_function *f = &w->g->function.v[n.function];

    n.next = f->first_node;
    vec_push(&w->node, n);
    f->first_node = (uint32_t)w->node.n;
}

static bool is_on_path(const struct walk *w, uint32_t at, uint32_t function)
{
    for (; at; at = w->node.v[at - 1].parent)
        if (w->node.v[at - 1].function == function)
            return true;
    return false;
}

static void write_self(struct walk *w, const struct node *n, double whole)
{
    struct callgraph *g = w->g;
    struct callgraph_function *f = &g->function.v[n->function];
    const struct callgraph_edge *e = n->edge ? &g->edge.v[n->edge - 1] : NULL;
    double want[CALLGRAPH_MAX_VALUES];
    struct lines one;

    if (!f->reached || n->cost > f->best) {
        f->best = n->cost;
        f->best_stack = n->below;
        f->reached = true;
    }
    if (!f->first_part || f->written)
        return;
    if (e && e->has_self && has_one_line(g, n->function, &one)) {
        for (size_t i = 0; i < g->n_values; i++)
            want[i] = e->cost > 0 ? (double)g->edge_self.v[e->self + i] * (n->cost / e->cost) : 0;
        take_one(g, &one, n->below, want);
    } else if (whole > 0 && n->cost >= whole) { /* the only path to it */
        write_rest(g, n->function, n->below);
    } else if (whole > 0) {
        take_lines(g, n->function, n->below, sat_of(f->self * (n->cost / whole)));
    }
}

/* The cost of recursive calls.  They are not followed, so a recursion is shown once. */
static double cost_of_recursion(struct walk *w, uint32_t at, double share)
{
    struct callgraph *g = w->g;
    const struct callgraph_function *f = &g->function.v[w->node.v[at - 1].function];
    double cost = 0;

    for (uint32_t i = f->first_out; i; i = g->edge.v[i - 1].next_out) {
        struct callgraph_edge *e = &g->edge.v[i - 1];

        if (caller_of(g, e) == e->callee || e->cost * share < w->least ||
            !is_on_path(w, at, e->callee))
            continue;
        e->left = 0;
        cost += e->cost;
    }
    return cost;
}

static void follow_call(struct walk *w, uint32_t at, uint32_t edge, double cost)
{
    struct node n = w->node.v[at - 1];
    struct callgraph_edge *e = &w->g->edge.v[edge - 1];

    if (cost >= w->least && is_on_path(w, at, e->callee))
        return;
    if (cost < w->least || w->node.n >= MAX_NODES || n.depth >= MAX_DEPTH) {
        w->node.v[at - 1].owed += cost;
        return;
    }
    e->left -= cost;
    add_node(w, (struct node){ .function = e->callee, .below = call_stack(w->g, n.below, e),
                               .parent = at, .depth = n.depth + 1, .edge = edge, .cost = cost });
}

static void follow(struct walk *w, uint32_t at)
{
    struct node n = w->node.v[at - 1];
    struct callgraph *g = w->g;
    const struct callgraph_function *f = &g->function.v[n.function];
    double whole = f->self + f->out;

    if (whole > 0)
        whole -= cost_of_recursion(w, at, n.cost / whole);
    write_self(w, &n, whole);
    if (whole <= 0)
        return;
    for (uint32_t i = f->first_out; i; i = g->edge.v[i - 1].next_out)
        if (g->edge.v[i - 1].callee != n.function)
            follow_call(w, at, i, g->edge.v[i - 1].cost * (n.cost / whole));
}

struct climb { /* from a function up to a path */
    uint32_t edge[MAX_DEPTH], n; /* index + 1, innermost first */
    struct node *node;           /* of the path, or NULL */
    uint32_t function;           /* where the climb ended */
    double cost;                 /* that every call of the climb has left */
};

/* A path to FUNCTION with calls that were not followed. */
static struct node *owing(struct walk *w, uint32_t function)
{
    uint32_t *first = &w->g->function.v[function].first_node;

    while (*first && w->node.v[*first - 1].owed < 1)
        *first = w->node.v[*first - 1].next;
    return *first ? &w->node.v[*first - 1] : NULL;
}

static bool is_on_climb(const struct callgraph *g, const struct climb *c, uint32_t function)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (g->edge.v[c->edge[i] - 1].callee == function)
            return true;
    return function == c->function;
}

/* A call, with cost left, of the function that the climb has reached; index + 1 or 0. */
static uint32_t call_with_cost(struct callgraph *g, const struct climb *c)
{
    uint32_t *first = &g->function.v[c->function].first_in;

    while (*first && g->edge.v[*first - 1].left < 1)
        *first = g->edge.v[*first - 1].next_in;
    for (uint32_t i = *first, n = 0; i && n < MAX_TRIES; i = g->edge.v[i - 1].next_in, n++)
        if (g->edge.v[i - 1].left >= 1 && !is_on_climb(g, c, caller_of(g, &g->edge.v[i - 1])))
            return i;
    return 0;
}

static void climb(struct walk *w, uint32_t function, struct climb *c)
{
    struct callgraph *g = w->g;
    uint32_t edge;

    c->n = 0;
    c->function = function;
    c->cost = g->function.v[function].rest;
    while (!(c->node = owing(w, c->function)) && c->n < MAX_DEPTH &&
           (edge = call_with_cost(g, c))) {
        if (g->edge.v[edge - 1].left < c->cost)
            c->cost = g->edge.v[edge - 1].left;
        c->edge[c->n++] = edge;
        c->function = caller_of(g, &g->edge.v[edge - 1]);
    }
    if (c->node && c->node->owed < c->cost)
        c->cost = c->node->owed;
}

/* Return the stack of climb C and subtract its cost from the calls. */
static uint32_t take_climb(struct callgraph *g, struct climb *c)
{
    const struct callgraph_function *top = &g->function.v[c->function];
    uint32_t below = c->node ? c->node->below : top->reached ? top->best_stack : 0;

    if (c->node)
        c->node->owed -= c->cost;
    while (c->n--) {
        struct callgraph_edge *e = &g->edge.v[c->edge[c->n] - 1];

        e->left -= c->cost;
        below = call_stack(g, below, e);
    }
    return below;
}

/* Write the rest of FUNCTION up the calls that have cost left. */
static void write_climbs(struct walk *w, uint32_t function)
{
    struct callgraph *g = w->g;
    struct climb c;

    while (g->function.v[function].rest >= 1) {
        uint32_t below;

        climb(w, function, &c);
        if (!c.n && !c.node)
            return;
        below = take_climb(g, &c);
        if (c.cost >= g->function.v[function].rest)
            write_rest(g, function, below);
        else
            take_lines(g, function, below, sat_of(c.cost));
        if (g->function.v[function].written)
            return;
    }
}

/* A stack for a function that no path has reached: its most expensive callers. */
static uint32_t likely_path(struct callgraph *g, uint32_t function)
{
    uint32_t edges[MAX_DEPTH], n = 0, below = 0;

    while (n < MAX_DEPTH && g->function.v[function].caller) {
        uint32_t e = g->function.v[function].caller;

        if (g->function.v[function].reached)
            break;
        edges[n++] = e;
        function = caller_of(g, &g->edge.v[e - 1]);
        for (uint32_t i = 0; i + 1 < n; i++) /* a cycle */
            if (edges[i] == e)
                return below;
    }
    below = g->function.v[function].reached ? g->function.v[function].best_stack : 0;
    while (n--)
        below = call_stack(g, below, &g->edge.v[edges[n] - 1]);
    return below;
}

static void write_all_rest(struct walk *w)
{
    struct callgraph *g = w->g;

    for (uint32_t i = 0; i < g->function.n; i++)
        if (!g->function.v[i].written)
            write_climbs(w, i);
    for (uint32_t i = 0; i < g->function.n; i++)
        if (!g->function.v[i].written && g->function.v[i].first_part)
            write_rest(g, i, g->function.v[i].reached ? g->function.v[i].best_stack
                                                     : likely_path(g, i));
}

void callgraph_write(struct callgraph *g)
{
    struct walk w = { .g = g };

    w.least = smallest_share * sum_up(g);
    for (uint32_t i = 0; i < g->function.n; i++) {
        const struct callgraph_function *f = &g->function.v[i];
        double from_outside = f->self + f->out - f->in;

        if (!f->caller || from_outside > w.least)
            add_node(&w, (struct node){ .function = i, .cost = from_outside });
    }
    for (size_t i = 0; i < w.node.n; i++)
        follow(&w, (uint32_t)i + 1);
    write_all_rest(&w);
    vec_release(&w.node);
}
