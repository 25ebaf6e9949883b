/* fmt_collapsed.c - export to collapsed ("folded") stacks.  collapsed_read.c imports them.
 *
 * The number on a line is a count of samples if all samples have the same weight, as in other
 * tools, otherwise the cost in the metric's unit.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analyze/an_tree.h"
#include "formats/collapsed.h"

/* ';' and line ends are separators, so replace them in names. */
static void put_name(struct out *o, const struct an_symbol *y)
{
    for (const char *s = y->name; *s; s++)
        out_char(o, *s == ';' ? ':' : *s == '\n' || *s == '\r' ? ' ' : *s);
    if (y->inlined)
        out_str(o, "_[i]");
    else if (y->kind == FRAME_KERNEL)
        out_str(o, "_[k]");
    else if (y->kind == FRAME_JIT)
        out_str(o, "_[j]");
}

static void put_stack(struct out *o, const struct an_symbols *s, const struct an_tree *t,
                      uint32_t node)
{
    VEC(uint32_t) up = { 0 };

    for (; node; node = t->trie.node.v[node].parent)
        vec_push(&up, t->trie.node.v[node].key);
    for (size_t i = up.n; i-- > 0;) {
        put_name(o, &s->symbol.v[up.v[i]]);
        if (i)
            out_char(o, ';');
    }
    vec_release(&up);
}

/* The weight of one sample if all samples of METRIC have the same weight.  1 for an exact metric
 * and for different weights, which are written in the metric's unit. */
static int64_t weight_of_one(const struct profile *p, uint32_t metric)
{
    int64_t one = 0;

    if (!metric || p->metric.v[metric - 1].flags & METRIC_EXACT)
        return 1;
    for (size_t i = 0; i < p->sample.n; i++) {
        const struct profile_sample *m = &p->sample.v[i];
        int64_t count = m->count > 0 && m->count <= INT64_MAX ? (int64_t)m->count : 1;

        if (m->metric != metric || !m->weight)
            continue;
        if (!one)
            one = m->weight / count;
        if (one <= 0 || m->weight % one || m->weight / one != count)
            return 1;
    }
    return one ? one : 1;
}

static int collapsed_write(const struct an_view *v, const struct export_options *opt, struct out *o,
                           struct err *e)
{
    const struct profile *p = v->profile;
    struct an_symbols s;
    struct an_tree t;
    uint32_t *rank, *order;
    int64_t *self, one;

    one = v->waiting ? 1 : weight_of_one(p, v->metric);
    an_symbols_init(&s, p);
    an_tree_build(&t, &s, NULL);
    self = an_tree_self(&t, v, NULL);
    rank = an_tree_ranks(&s);
    order = an_tree_order(&t, rank);
    for (size_t i = 1; i < t.trie.node.n && !o->failed; i++) {
        if (self[order[i]] <= 0)
            continue;
        put_stack(o, &s, &t, order[i]);
        out_char(o, ' ');
        out_i64(o, self[order[i]] / one);
        out_char(o, '\n');
    }
    free(order);
    free(rank);
    free(self);
    an_tree_release(&t);
    an_symbols_release(&s);
    return 0;
}

const struct format format_collapsed = {
    .name = "collapsed",
    .extension = ".collapsed",
    .about = "collapsed stacks (flamegraph.pl, inferno)",
    .recognize = collapsed_recognize,
    .import = collapsed_import,
    .write = collapsed_write,
};
