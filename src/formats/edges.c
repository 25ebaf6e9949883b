/* edges.c - see edges.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/edges.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/an_walk.h"
#include "profile/limits.h"

struct step { /* a function of a stack */
    uint32_t label, line, module;
};

struct builder {
    struct edges *g;
    const struct profile *p;
    VEC(uint32_t) up;            /* scratch: stacks from a leaf to its callers */
    VEC(struct step) path;       /* of the stack that is visited, outermost first */
    VEC(uint32_t) path_call;     /* by position in the path: the call that leads there, + 1 */
    uint32_t *on_path_function;  /* by label - 1: how often it is on the path */
    uint32_t *on_path_call;      /* by call */
    uint32_t metric;             /* of this walk; 0 counts samples */
};

#define zero_to(x, count)                                                                  \
    do {                                                                                   \
        size_t count_ = (count);                                                           \
        vec_reserve((x), count_);                                                          \
        if (count_ > (x)->n) {                                                             \
            memset((x)->v + (x)->n, 0, (count_ - (x)->n) * sizeof *(x)->v);                \
            (x)->n = count_;                                                               \
        }                                                                                  \
    } while (0)

static struct step step_of(struct builder *b, uint32_t frame, uint32_t i)
{
    struct edges *g = b->g;
    struct profile_chain names = g->labels.symbols.frame.v[frame - 1];
    struct profile_chain lines = b->p->chain.v[frame - 1];
    uint32_t symbol = g->labels.symbols.chain.v[names.first + i];

    return (struct step){ an_labels_of(&g->labels, symbol),
                          lines.n == names.n ? b->p->location.v[lines.first + i].line : 0,
                          b->p->frame.v[frame - 1].module };
}

static uint32_t steps_in(const struct builder *b, uint32_t frame)
{
    return b->g->labels.symbols.frame.v[frame - 1].n;
}

static struct step last_step(struct builder *b, uint32_t stack)
{
    uint32_t frame = b->p->stack.v[stack - 1].frame;

    return step_of(b, frame, steps_in(b, frame) - 1);
}

/* --- definitions, in the order of the samples ------------------------------------------- */

static uint32_t self_at(struct edges *g, const struct step *s)
{
    uint64_t key = (uint64_t)s->label << 32 | s->line;
    uint32_t at = umap_find(&g->self_of, key);

    if (at)
        return at - 1;
    vec_push(&g->self, ((struct edges_self){ s->label, s->line }));
    umap_put(&g->self_of, key, (uint32_t)g->self.n);
    return (uint32_t)g->self.n - 1;
}

/* All calls from one function to another are one call, at the first line seen. */
static uint32_t call_at(struct builder *b, const struct step *from, const struct step *to)
{
    struct edges *g = b->g;
    uint64_t key = (uint64_t)from->label << 32 | to->label;
    uint32_t at = umap_find(&g->call_of, key);

    if (at)
        return at - 1;
    vec_push(&g->call, ((struct edges_call){ from->label, to->label, from->line }));
    umap_put(&g->call_of, key, (uint32_t)g->call.n);
    return (uint32_t)g->call.n - 1;
}

static void define_stack(struct builder *b, uint32_t stack)
{
    uint32_t parent = b->p->stack.v[stack - 1].parent, frame = b->p->stack.v[stack - 1].frame;
    struct step from = parent ? last_step(b, parent) : (struct step){ 0 };

    for (uint32_t i = 0; i < steps_in(b, frame); i++) {
        struct step to = step_of(b, frame, i);

        zero_to(&b->g->module, an_labels_count(&b->g->labels));
        if (!b->g->module.v[to.label - 1])
            b->g->module.v[to.label - 1] = to.module;
        if (from.label)
            call_at(b, &from, &to);
        from = to;
    }
}

static void define_all(struct builder *b)
{
    const struct profile *p = b->p;
    unsigned char *known = mem_zalloc(p->stack.n + 1);

    known[0] = 1;
    for (size_t i = 0; i < p->sample.n; i++) {
        uint32_t stack = p->sample.v[i].stack;
        struct step leaf;

        if (!stack)
            continue;
        for (uint32_t s = stack; !known[s]; s = p->stack.v[s - 1].parent) {
            known[s] = 1;
            vec_push(&b->up, s);
        }
        while (b->up.n)
            define_stack(b, b->up.v[--b->up.n]);
        leaf = last_step(b, stack);
        self_at(b->g, &leaf);
    }
    free(known);
}

/* --- sums ------------------------------------------------------------------------------- */

static void enter_step(struct builder *b, const struct step *to, int64_t total)
{
    struct edges *g = b->g;
    struct step *from = b->path.n ? &b->path.v[b->path.n - 1] : NULL;
    uint32_t call = from ? call_at(b, from, to) + 1 : 0;
    bool new_call = call && b->on_path_call[call - 1]++ == 0;

    if (b->on_path_function[to->label - 1]++ == 0) {
        if (b->metric)
            g->function.v[(to->label - 1) * g->n_values + b->metric - 1].total += total;
        else
            g->function_count.v[to->label - 1] += (uint64_t)total;
    }
    if (new_call && b->metric)
        g->call_value.v[(call - 1) * g->n_values + b->metric - 1].total += total;
    else if (new_call)
        g->call_count.v[call - 1] += (uint64_t)total;
    vec_push(&b->path, *to);
    vec_push(&b->path_call, call);
}

static void enter(void *with, uint32_t stack, int64_t total)
{
    struct builder *b = with;
    uint32_t frame = b->p->stack.v[stack - 1].frame;

    for (uint32_t i = 0; i < steps_in(b, frame); i++) {
        struct step to = step_of(b, frame, i);

        enter_step(b, &to, total);
    }
}

static void leave(void *with, uint32_t stack)
{
    struct builder *b = with;

    for (uint32_t i = steps_in(b, b->p->stack.v[stack - 1].frame); i--;) {
        uint32_t call = b->path_call.v[--b->path_call.n];

        b->on_path_function[b->path.v[--b->path.n].label - 1]--;
        if (call)
            b->on_path_call[call - 1]--;
    }
}

/* The call that ends in the innermost function of STACK, + 1; 0 if nothing calls it. */
static uint32_t call_of_leaf(struct builder *b, uint32_t stack, const struct step *leaf)
{
    const struct profile_node *n = &b->p->stack.v[stack - 1];
    uint32_t steps = steps_in(b, n->frame);
    struct step from;

    if (steps < 2 && !n->parent)
        return 0;
    from = steps > 1 ? step_of(b, n->frame, steps - 2) : last_step(b, n->parent);
    return call_at(b, &from, leaf) + 1;
}

static void add_self(struct builder *b, const struct profile_sample *m)
{
    struct edges *g = b->g;
    struct step leaf = last_step(b, m->stack);
    uint32_t call = call_of_leaf(b, m->stack, &leaf);
    size_t k = m->metric - 1;

    g->self_value.v[self_at(g, &leaf) * g->n_values + k] += m->weight;
    g->function.v[(leaf.label - 1) * g->n_values + k].self += m->weight;
    if (call)
        g->call_value.v[(call - 1) * g->n_values + k].self += m->weight;
}

/* Sum what leads to each function and call, of one metric or of the counts of all.  A count that
 * exceeds 63 bits is cut. */
static void add_totals(struct builder *b, struct an_walk *w)
{
    const struct profile *p = b->p;
    bool any = false;
    int64_t room = INT64_MAX;

    for (size_t i = 0; i < p->sample.n; i++) {
        const struct profile_sample *m = &p->sample.v[i];
        int64_t x = m->weight;

        if (!m->stack || (b->metric && m->metric != b->metric))
            continue;
        if (!b->metric) {
            x = m->count < (uint64_t)room ? (int64_t)m->count : room;
            room -= x;
        }
        an_walk_add(w, m->stack, x);
        any = true;
    }
    if (any)
        an_walk_run(w, enter, leave, b);
}

static int make_room(struct edges *g, struct err *e)
{
    size_t labels = an_labels_count(&g->labels);

    if ((labels + g->call.n + g->self.n) * g->n_values > LIMIT_CELLS) {
        err_set(e, ERR_LIMIT, "the profile has too many metrics (%zu) for its %zu calls",
                g->n_values, g->call.n);
        err_hint(e, "choose one with -m");
        return -1;
    }
    zero_to(&g->module, labels);
    zero_to(&g->function, labels * g->n_values);
    zero_to(&g->function_count, labels);
    zero_to(&g->self_value, g->self.n * g->n_values);
    zero_to(&g->call_value, g->call.n * g->n_values);
    zero_to(&g->call_count, g->call.n);
    return 0;
}

static void add_up(struct builder *b)
{
    struct an_walk w;

    b->on_path_function = mem_zalloc((b->g->function_count.n + 1) * sizeof *b->on_path_function);
    b->on_path_call = mem_zalloc((b->g->call.n + 1) * sizeof *b->on_path_call);
    for (size_t i = 0; i < b->p->sample.n; i++)
        if (b->p->sample.v[i].stack)
            add_self(b, &b->p->sample.v[i]);
    an_walk_init(&w, b->p);
    for (b->metric = 0; b->metric <= b->g->n_values; b->metric++)
        add_totals(b, &w);
    an_walk_release(&w);
    free(b->on_path_function);
    free(b->on_path_call);
}

int edges_build(struct edges *g, const struct profile *p, struct err *e)
{
    struct builder b = { .g = g, .p = p };
    int rc;

    memset(g, 0, sizeof *g);
    an_labels_init(&g->labels, p);
    g->n_values = p->metric.n;
    define_all(&b);
    rc = make_room(g, e);
    if (rc == 0)
        add_up(&b);
    vec_release(&b.up);
    vec_release(&b.path);
    vec_release(&b.path_call);
    return rc;
}

void edges_release(struct edges *g)
{
    an_labels_release(&g->labels);
    vec_release(&g->self);
    vec_release(&g->call);
    vec_release(&g->self_value);
    vec_release(&g->call_value);
    vec_release(&g->call_count);
    vec_release(&g->function);
    vec_release(&g->function_count);
    vec_release(&g->module);
    umap_release(&g->self_of);
    umap_release(&g->call_of);
}

struct named { /* a label with its sort keys */
    struct an_label l;
    uint32_t id;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int c = strcmp(x->l.name, y->l.name);

    c = c ? c : strcmp(x->l.file, y->l.file);
    return c ? c : x->l.line != y->l.line ? (x->l.line < y->l.line ? -1 : 1) : 0;
}

uint32_t *edges_order(const struct edges *g)
{
    uint32_t n = an_labels_count(&g->labels);
    struct named *v = mem_alloc((n + 1) * sizeof *v);
    uint32_t *order = mem_alloc((n + 1) * sizeof *order);

    for (uint32_t i = 0; i < n; i++)
        v[i] = (struct named){ an_labels_get(&g->labels, i + 1), i + 1 };
    qsort(v, n, sizeof *v, by_name);
    for (uint32_t i = 0; i < n; i++)
        order[i] = v[i].id;
    free(v);
    return order;
}

struct placed { /* a call with the positions of caller and callee in the order */
    uint32_t caller, callee, id;
};

static int by_ends(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    return x->callee < y->callee ? -1 : x->callee > y->callee;
}

uint32_t *edges_call_order(const struct edges *g, const uint32_t *labels)
{
    uint32_t n = an_labels_count(&g->labels);
    uint32_t *rank = mem_alloc((n + 1) * sizeof *rank);
    uint32_t *order = mem_alloc((g->call.n + 1) * sizeof *order);
    struct placed *v = mem_alloc((g->call.n + 1) * sizeof *v);

    for (uint32_t i = 0; i < n; i++)
        rank[labels[i] - 1] = i;
    for (uint32_t i = 0; i < g->call.n; i++)
        v[i] = (struct placed){ rank[g->call.v[i].caller - 1], rank[g->call.v[i].callee - 1], i };
    qsort(v, g->call.n, sizeof *v, by_ends);
    for (uint32_t i = 0; i < g->call.n; i++)
        order[i] = v[i].id;
    free(v);
    free(rank);
    return order;
}
