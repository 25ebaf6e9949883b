/* an_tree.c - see an_tree.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_tree.h"

#include <stdlib.h>
#include <string.h>

#include "profile/limits.h"

/* Find the stacks that lead to a kept sample.  A parent has a lower id than its children, so one
 * pass from the last stack to the first reaches every caller. */
static unsigned char *used_stacks(const struct profile *p, const unsigned char *keep)
{
    unsigned char *used = mem_zalloc(p->stack.n + 1);

    for (size_t i = 0; i < p->sample.n; i++)
        if (!keep || keep[i])
            used[p->sample.v[i].stack] = 1;
    for (size_t id = p->stack.n; id > 0; id--)
        if (used[id])
            used[p->stack.v[id - 1].parent] = 1;
    return used;
}

void an_tree_build(struct an_tree *t, const struct an_symbols *s, const unsigned char *keep)
{
    const struct profile *p = s->profile;
    unsigned char *used = used_stacks(p, keep);

    *t = (struct an_tree){ 0 };
    trie_init(&t->trie);
    vec_reserve(&t->node_of_stack, p->stack.n);
    t->node_of_stack.n = p->stack.n;
    for (uint32_t i = 0; i < p->stack.n; i++) {
        const struct profile_node *k = &p->stack.v[i];
        uint32_t node = k->parent ? t->node_of_stack.v[k->parent - 1] : 0;
        struct profile_chain c = { 0 };

        if (used[i + 1] && k->frame)
            c = s->frame.v[k->frame - 1];
        for (uint32_t j = 0; j < c.n; j++)
            node = trie_child(&t->trie, node, s->chain.v[c.first + j]);
        t->node_of_stack.v[i] = used[i + 1] ? node : 0;
    }
    free(used);
}

void an_tree_release(struct an_tree *t)
{
    trie_release(&t->trie);
    vec_release(&t->node_of_stack);
}

static uint32_t node_of(const struct an_tree *t, uint32_t stack)
{
    return stack ? t->node_of_stack.v[stack - 1] : 0;
}

int64_t *an_tree_self(const struct an_tree *t, const struct an_view *v, const unsigned char *keep)
{
    const struct profile *p = v->profile;
    int64_t *self = mem_zalloc(t->trie.node.n * sizeof *self);

    for (size_t i = 0; i < p->sample.n; i++) {
        uint32_t stack;
        unsigned kind;

        if (an_view_takes(v, &p->sample.v[i], &stack, &kind) && (!keep || keep[i])) {
            int64_t *to = &self[node_of(t, stack)];

            *to += p->sample.v[i].weight;
        }
    }
    return self;
}

int64_t *an_tree_waits(const struct an_tree *t, const struct an_view *v, int64_t **kinds)
{
    const struct profile *p = v->profile;
    int64_t *wait = mem_zalloc(t->trie.node.n * sizeof *wait);

    *kinds = mem_zalloc(t->trie.node.n * AN_KINDS * sizeof **kinds);
    for (size_t i = 0; i < p->sample.n; i++) {
        int64_t w = p->sample.v[i].weight;
        uint32_t stack;
        unsigned kind;

        if (!an_view_takes(v, &p->sample.v[i], &stack, &kind) || !kind)
            continue;
        wait[node_of(t, stack)] += w;
        (*kinds)[(size_t)node_of(t, stack) * AN_KINDS + kind] += w;
    }
    return wait;
}

void an_tree_total(const struct an_tree *t, int64_t *weight)
{
    for (size_t i = t->trie.node.n - 1; i > 0; i--) {
        int64_t *up = &weight[t->trie.node.v[i].parent];

        *up += weight[i];
    }
}

void an_tree_invert(const struct an_tree *t, const int64_t *self, struct an_tree *out,
                    int64_t **out_self)
{
    uint32_t *depth = mem_zalloc(t->trie.node.n * sizeof *depth);

    *out = (struct an_tree){ 0 };
    for (size_t i = 1; i < t->trie.node.n; i++)
        depth[i] = depth[t->trie.node.v[i].parent] + 1;
    for (size_t i = 1; i < t->trie.node.n; i++)
        depth[i] = self[i] ? depth[i] : 0;
    out->reach = an_tree_reach(depth, t->trie.node.n);
    free(depth);
    trie_init(&out->trie);
    *out_self = an_tree_invert_more(t, self, out);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Let all paths reach as far as the shortest one left; then the rest shares what is left. */
static uint32_t shared_reach(const uint32_t *depth, size_t n)
{
    uint32_t *sorted = mem_alloc(n * sizeof *sorted), reach;
    uint64_t left = LIMIT_CALLERS;
    size_t i = 0;

    memcpy(sorted, depth, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_number);
    while (i < n && sorted[i] <= left / (n - i))
        left -= sorted[i++];
    reach = i < n ? (uint32_t)(left / (n - i)) : 0;
    free(sorted);
    return i < n && !reach ? 1 : reach;
}

uint32_t an_tree_reach(const uint32_t *depth, size_t n)
{
    uint64_t all = 0;

    for (size_t i = 0; i < n; i++)
        all += depth[i];
    return all > LIMIT_CALLERS ? shared_reach(depth, n) : 0;
}

int64_t *an_tree_invert_more(const struct an_tree *t, const int64_t *self, struct an_tree *out)
{
    VEC(int64_t) w = { 0 };

    vec_push(&w, self[0]);
    while (w.n < out->trie.node.n)
        vec_push(&w, 0);
    for (uint32_t i = 1; i < t->trie.node.n; i++) {
        uint32_t at = 0, left;

        if (!self[i])
            continue;
        left = out->reach;
        for (uint32_t up = i; up; up = t->trie.node.v[up].parent) {
            at = trie_child(&out->trie, at, t->trie.node.v[up].key);
            if (out->reach && --left == 0)
                break;
        }
        while (w.n < out->trie.node.n)
            vec_push(&w, 0);
        w.v[at] += self[i];
    }
    return w.v;
}

struct ranked {
    const struct an_symbol *symbol;
    uint32_t id;
};

static int by_name(const void *a, const void *b)
{
    const struct an_symbol *x = ((const struct ranked *)a)->symbol;
    const struct an_symbol *y = ((const struct ranked *)b)->symbol;
    int by = strcmp(x->name, y->name);

    if (by)
        return by;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->inlined != y->inlined)
        return x->inlined ? 1 : -1;
    return x < y ? -1 : x > y;
}

uint32_t *an_tree_ranks(const struct an_symbols *s)
{
    size_t n = s->symbol.n;
    struct ranked *r = mem_alloc(n * sizeof *r);
    uint32_t *rank = mem_alloc(n * sizeof *rank);

    for (uint32_t i = 0; i < n; i++)
        r[i] = (struct ranked){ &s->symbol.v[i], i };
    qsort(r, n, sizeof *r, by_name);
    for (uint32_t i = 0; i < n; i++)
        rank[r[i].id] = i;
    free(r);
    return rank;
}

struct sibling {
    uint32_t rank, node;
};

static int by_rank_backwards(const void *a, const void *b)
{
    uint32_t x = ((const struct sibling *)a)->rank, y = ((const struct sibling *)b)->rank;

    return x < y ? 1 : x > y ? -1 : 0;
}

uint32_t *an_tree_order(const struct an_tree *t, const uint32_t *rank)
{
    const struct trie_node *node = t->trie.node.v;
    uint32_t *order = mem_alloc(t->trie.node.n * sizeof *order);
    VEC(struct sibling) stack = { 0 };
    size_t n = 0;

    vec_push(&stack, ((struct sibling){ 0 }));
    while (stack.n) {
        uint32_t at = stack.v[--stack.n].node;
        size_t before = stack.n;

        order[n++] = at;
        for (uint32_t c = trie_first(&t->trie, at); c; c = node[c].next)
            vec_push(&stack, ((struct sibling){ rank[node[c].key], c }));
        if (stack.n - before > 1)
            qsort(stack.v + before, stack.n - before, sizeof *stack.v, by_rank_backwards);
    }
    vec_release(&stack);
    return order;
}
