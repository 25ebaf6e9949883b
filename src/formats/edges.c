/* edges.c - see edges.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/edges.h"

#include <stdlib.h>
#include <string.h>

struct step { /* a frame of a stack, outermost first */
    uint32_t label, line, module;
};

struct builder {
    struct edges *g;
    const struct profile *p;
    VEC(struct step) step;
    VEC(size_t) seen_function, seen_call; /* last sample added, + 1 */
    size_t sample;
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

static void add_frame_steps(struct builder *b, uint32_t frame)
{
    struct edges *g = b->g;
    struct profile_chain names = g->labels.symbols.frame.v[frame - 1];
    struct profile_chain lines = b->p->chain.v[frame - 1];

    /* Innermost first: the whole stack is reversed at the end. */
    for (uint32_t i = names.n; i--;) {
        uint32_t symbol = g->labels.symbols.chain.v[names.first + i];
        uint32_t line = lines.n == names.n ? b->p->location.v[lines.first + i].line : 0;

        vec_push(&b->step, ((struct step){ an_labels_of(&g->labels, symbol), line,
                                           b->p->frame.v[frame - 1].module }));
    }
}

static void read_stack(struct builder *b, uint32_t stack)
{
    vec_clear(&b->step);
    for (uint32_t s = stack; s; s = b->p->stack.v[s - 1].parent)
        add_frame_steps(b, b->p->stack.v[s - 1].frame);
    for (size_t i = 0, j = b->step.n; i + 1 < j; i++) {
        struct step swap = b->step.v[--j];

        b->step.v[j] = b->step.v[i];
        b->step.v[i] = swap;
    }
    zero_to(&b->g->function, an_labels_count(&b->g->labels) * b->g->n_values);
    zero_to(&b->g->function_count, an_labels_count(&b->g->labels));
    zero_to(&b->g->module, an_labels_count(&b->g->labels));
    zero_to(&b->seen_function, an_labels_count(&b->g->labels));
}

static uint32_t self_at(struct edges *g, const struct step *s)
{
    uint64_t key = (uint64_t)s->label << 32 | s->line;
    uint32_t at = umap_find(&g->self_of, key);

    if (at)
        return at - 1;
    vec_push(&g->self, ((struct edges_self){ s->label, s->line }));
    zero_to(&g->self_value, g->self.n * g->n_values);
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
    vec_push(&g->call_count, 0);
    zero_to(&g->call_value, g->call.n * g->n_values);
    zero_to(&b->seen_call, g->call.n);
    umap_put(&g->call_of, key, (uint32_t)g->call.n);
    return (uint32_t)g->call.n - 1;
}

static void add_call(struct builder *b, size_t i, const struct profile_sample *m)
{
    uint32_t at = call_at(b, &b->step.v[i - 1], &b->step.v[i]);
    struct edges_value *v = &b->g->call_value.v[at * b->g->n_values + m->metric - 1];

    if (i + 1 == b->step.n)
        v->self += m->weight;
    if (b->seen_call.v[at] == b->sample)
        return;
    b->seen_call.v[at] = b->sample;
    v->total += m->weight;
    b->g->call_count.v[at] += m->count;
}

static void add_function(struct builder *b, const struct step *s, const struct profile_sample *m)
{
    struct edges *g = b->g;

    if (!g->module.v[s->label - 1])
        g->module.v[s->label - 1] = s->module;
    if (b->seen_function.v[s->label - 1] == b->sample)
        return;
    b->seen_function.v[s->label - 1] = b->sample;
    g->function.v[(s->label - 1) * g->n_values + m->metric - 1].total += m->weight;
    g->function_count.v[s->label - 1] += m->count;
}

static void add_sample(struct builder *b, const struct profile_sample *m)
{
    struct edges *g = b->g;
    const struct step *leaf;
    uint32_t self;

    b->sample++;
    read_stack(b, m->stack);
    if (!b->step.n)
        return;
    leaf = &b->step.v[b->step.n - 1];
    self = self_at(g, leaf);
    for (size_t i = 0; i < b->step.n; i++) {
        add_function(b, &b->step.v[i], m);
        if (i)
            add_call(b, i, m);
    }
    g->self_value.v[self * g->n_values + m->metric - 1] += m->weight;
    g->function.v[(leaf->label - 1) * g->n_values + m->metric - 1].self += m->weight;
}

void edges_build(struct edges *g, const struct profile *p)
{
    struct builder b = { .g = g, .p = p };

    memset(g, 0, sizeof *g);
    an_labels_init(&g->labels, p);
    g->n_values = p->metric.n;
    for (size_t i = 0; i < p->sample.n; i++)
        add_sample(&b, &p->sample.v[i]);
    vec_release(&b.step);
    vec_release(&b.seen_function);
    vec_release(&b.seen_call);
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
