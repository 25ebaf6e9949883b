/* an_list.c - see an_list.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_list.h"

#include <stdlib.h>
#include <string.h>

struct candidate {
    uint32_t node, parent, depth, siblings;
    bool last;
    int64_t total;
    const char *name;
};

static int lightest_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->total != y->total)
        return x->total < y->total ? -1 : 1;
    return strcmp(y->name, x->name);
}

struct candidates {
    VEC(struct candidate) c;
};

/* Push the children of NODE that get a line, the largest last. */
static void push_children(struct an_list *l, struct candidates *pile, const struct an_tree *t,
                          const struct an_symbols *s, const int64_t *total, int64_t least,
                          struct candidate from)
{
    size_t before = pile->c.n, n;

    for (uint32_t c = trie_first(&t->trie, from.node); c; c = t->trie.node.v[c].next) {
        struct candidate made = { .node = c, .parent = from.parent, .depth = from.depth,
                                  .total = total[c],
                                  .name = s->symbol.v[t->trie.node.v[c].key].name };

        if (total[c] && total[c] >= least)
            vec_push(&pile->c, made);
        else if (total[c])
            vec_push(&l->hidden, ((struct an_hidden){ from.parent, total[c] }));
    }
    n = pile->c.n - before;
    if (n > 1)
        qsort(pile->c.v + before, n, sizeof *pile->c.v, lightest_first);
    for (size_t i = 0; i < n; i++) {
        pile->c.v[before + i].siblings = (uint32_t)n;
        pile->c.v[before + i].last = i == 0;
    }
}

static int64_t *totals(const struct an_tree *t, const int64_t *self)
{
    int64_t *total = mem_alloc(t->trie.node.n * sizeof *total);

    memcpy(total, self, t->trie.node.n * sizeof *total);
    an_tree_total(t, total);
    return total;
}

void an_list_build(struct an_list *l, const struct an_tree *t, const struct an_symbols *s,
                   const int64_t *self, const int64_t *wait, int64_t least)
{
    int64_t *total = totals(t, self), *waits = wait ? totals(t, wait) : NULL;
    struct candidates pile = { 0 };

    *l = (struct an_list){ 0 };
    push_children(l, &pile, t, s, total, least, (struct candidate){ .parent = UINT32_MAX });
    while (pile.c.n) {
        struct candidate c = pile.c.v[--pile.c.n];

        vec_push(&l->line, ((struct an_line){ c.node, c.depth, c.parent, c.siblings, c.last,
                                              self[c.node], c.total,
                                              waits ? waits[c.node] : 0 }));
        push_children(l, &pile, t, s, total, least,
                      (struct candidate){ .node = c.node, .depth = c.depth + 1,
                                          .parent = (uint32_t)l->line.n - 1 });
    }
    vec_release(&pile.c);
    free(total);
    free(waits);
}

void an_list_release(struct an_list *l)
{
    vec_release(&l->line);
    vec_release(&l->hidden);
}

/* By symbol: does it match NAME? */
static unsigned char *pick_symbols(const struct an_symbols *s, const char *name)
{
    unsigned char *pick = mem_zalloc(s->symbol.n);
    bool any = false;

    for (size_t i = 1; i < s->symbol.n; i++)
        any |= pick[i] = strcmp(s->symbol.v[i].name, name) == 0;
    for (size_t i = 1; !any && i < s->symbol.n; i++)
        pick[i] = strstr(s->symbol.v[i].name, name) != NULL;
    return pick;
}

/* Index in the chain of the frame of the outermost picked symbol, or -1. */
static int picked_at(const struct an_symbols *s, uint32_t frame, const unsigned char *pick)
{
    struct profile_chain c = s->frame.v[frame - 1];

    for (uint32_t k = 0; k < c.n; k++)
        if (pick[s->chain.v[c.first + k]])
            return (int)k;
    return -1;
}

/* Total weight by stack id, all of it or only waiting; [0] is unused. */
static int64_t *stack_totals(const struct an_view *v, bool waiting)
{
    const struct profile *p = v->profile;
    int64_t *total = mem_zalloc((p->stack.n + 1) * sizeof *total);

    for (size_t i = 0; i < p->sample.n; i++) {
        uint32_t stack;
        unsigned kind;

        if (an_view_takes(v, &p->sample.v[i], &stack, &kind) && (kind || !waiting))
            total[stack] += p->sample.v[i].weight;
    }
    for (size_t id = p->stack.n; id > 0; id--)
        total[p->stack.v[id - 1].parent] += total[id];
    return total;
}

/* Add the path from symbol AT of the frame of STACK to the root, at most REACH functions if that is
 * not 0. */
static uint32_t add_path(struct trie *t, const struct an_symbols *s, uint32_t stack, int at,
                         uint32_t reach)
{
    const struct profile *p = s->profile;
    uint32_t node = 0, left = reach;

    for (; stack; stack = p->stack.v[stack - 1].parent) {
        struct profile_chain c = s->frame.v[p->stack.v[stack - 1].frame - 1];
        int k = at >= 0 ? at : (int)c.n - 1;

        for (at = -1; k >= 0; k--) {
            node = trie_child(t, node, s->chain.v[c.first + (uint32_t)k]);
            if (reach && --left == 0)
                return node;
        }
    }
    return node;
}

/* The outermost calls of the picked functions. */
struct picked {
    int *at;         /* by stack id: index in the chain of its frame, or -1 */
    uint32_t *depth; /* by stack id: functions from there to the root, 0 if it is not picked */
};

static struct picked pick_stacks(const struct an_symbols *s, const unsigned char *pick,
                                 const int64_t *total)
{
    const struct profile *p = s->profile;
    size_t n = p->stack.n + 1;
    struct picked x = { mem_zalloc(n * sizeof *x.at), mem_zalloc(n * sizeof *x.depth) };
    unsigned char *within = mem_zalloc(n);
    uint32_t *functions = mem_zalloc(n * sizeof *functions); /* of the stack and its callers */

    for (uint32_t id = 1; id <= p->stack.n; id++) {
        struct profile_node node = p->stack.v[id - 1];

        functions[id] = functions[node.parent] + s->frame.v[node.frame - 1].n;
        x.at[id] = picked_at(s, node.frame, pick);
        within[id] = within[node.parent] || x.at[id] >= 0;
        if (!within[node.parent] && x.at[id] >= 0 && total[id])
            x.depth[id] = functions[node.parent] + (uint32_t)x.at[id] + 1;
    }
    free(within);
    free(functions);
    return x;
}

int an_callers_build(struct an_tree *out, int64_t **self, int64_t **wait,
                     const struct an_symbols *s, const struct an_view *v, const char *name,
                     struct err *e)
{
    const struct profile *p = s->profile;
    unsigned char *pick = pick_symbols(s, name);
    int64_t *total = stack_totals(v, false), *waiting = stack_totals(v, true);
    struct picked picked = pick_stacks(s, pick, total);
    VEC(int64_t) weight = { 0 }, waits = { 0 };

    *out = (struct an_tree){ .reach = an_tree_reach(picked.depth, p->stack.n + 1) };
    trie_init(&out->trie);
    vec_push(&weight, 0);
    vec_push(&waits, 0);
    for (uint32_t id = 1; id <= p->stack.n; id++) {
        uint32_t node;

        if (!picked.depth[id])
            continue;
        node = add_path(&out->trie, s, id, picked.at[id], out->reach);
        while (weight.n < out->trie.node.n) {
            vec_push(&weight, 0);
            vec_push(&waits, 0);
        }
        weight.v[node] += total[id];
        waits.v[node] += waiting[id];
    }
    *self = weight.v;
    *wait = waits.v;
    free(pick);
    free(picked.at);
    free(picked.depth);
    free(total);
    free(waiting);
    if (weight.n == 1)
        return err_set(e, ERR_MISSING, "no function \"%s\" in any stack", name);
    return 0;
}
