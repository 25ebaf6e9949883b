/* an_report.c - see an_report.h.  Select the rows for all printers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/sat.h"

static const double TREE_MIN_PCT = 0.5;

bool an_report_has_tree(const struct an_report *r)
{
    return r->query->form != AN_REPORT_FLAT;
}

bool an_report_has_groups(const struct an_report *r)
{
    const struct an_levels *l = &r->query->levels;

    return l->n > 1 || (l->n == 1 && l->by[0] >= AN_BY_THREAD);
}

bool an_report_has_waits(const struct an_report *r)
{
    return r->view->waiting != 0;
}

static bool is_small(const struct an_report *r, int64_t weight, double min_pct)
{
    return an_share_pct(weight, &r->all) < min_pct;
}

static void count_hidden(struct an_report *r, int64_t weight)
{
    r->hidden_rows++;
    r->hidden_weight += weight;
}

/* --- flat ------------------------------------------------------------------------------- */

static void limit_flat(struct an_report *r, bool is_shown)
{
    struct an_flat *f = &r->flat;
    size_t kept = 0;

    for (size_t i = 0; i < f->row.n; i++)
        if (kept < r->query->rows && !is_small(r, f->row.v[i].total, r->query->min_pct))
            f->row.v[kept++] = f->row.v[i];
        else if (is_shown)
            count_hidden(r, f->row.v[i].self);
    f->row.n = kept;
}

static void build_flat(struct an_report *r)
{
    const struct an_levels *l = &r->query->levels;
    bool is_shown = !an_report_has_groups(r) && !an_report_has_tree(r);

    an_flat_build(&r->flat, &r->symbols, r->view, l->n && is_shown ? l->by[0] : AN_BY_FUNCTION);
    an_flat_sort(&r->flat, r->p, r->query->sort);
    limit_flat(r, is_shown);
}

/* --- groups ----------------------------------------------------------------------------- */

/* A group follows its enclosing group, which weighs at least as much and so is kept as well.
 * A hidden group counts as part of the outermost hidden group. */
static void build_groups(struct an_report *r)
{
    struct an_groups *g = &r->groups;
    uint32_t *as, kept = 0;

    an_groups_build(g, &r->symbols, r->view, &r->query->levels);
    as = mem_alloc(g->group.n * sizeof *as + 1);
    for (size_t i = 0; i < g->group.n; i++) {
        struct an_group *x = &g->group.v[i];
        bool top = x->parent == UINT32_MAX;

        as[i] = UINT32_MAX;
        if (!top && as[x->parent] == UINT32_MAX) {
            r->hidden_rows++;
            continue;
        }
        if (is_small(r, x->weight, r->min_pct) || kept >= r->query->rows) {
            count_hidden(r, x->weight);
            continue;
        }
        x->parent = top ? UINT32_MAX : as[x->parent];
        g->group.v[kept] = *x;
        as[i] = kept++;
    }
    g->group.n = kept;
    free(as);
}

/* --- trees ------------------------------------------------------------------------------ */

static void build_upright(struct an_report *r, int64_t **self, int64_t **wait)
{
    an_tree_build(&r->trees, &r->symbols, NULL);
    *self = an_tree_self(&r->trees, r->view, NULL);
    if (an_report_has_waits(r))
        *wait = an_tree_waits(&r->trees, r->view, &r->node_kinds);
}

static void invert(struct an_report *r, int64_t **self, int64_t **wait)
{
    struct an_tree upright = r->trees;
    int64_t *upright_self = *self, *upright_wait = *wait;

    an_tree_invert(&upright, upright_self, &r->trees, self);
    if (upright_wait)
        *wait = an_tree_invert_more(&upright, upright_wait, &r->trees);
    an_tree_release(&upright);
    free(upright_self);
    free(upright_wait);
    free(r->node_kinds); /* they belong to leaves, which are now at the top */
    r->node_kinds = NULL;
}

/* Hiding a line hides its subtree, so count only branches of shown lines. */
static void limit_tree(struct an_report *r)
{
    struct an_list *l = &r->list;
    size_t shown = l->line.n < r->query->rows ? l->line.n : (size_t)r->query->rows;

    for (size_t i = shown; i < l->line.n; i++)
        if (l->line.v[i].parent == UINT32_MAX || l->line.v[i].parent < shown)
            count_hidden(r, l->line.v[i].total);
    for (size_t i = 0; i < l->hidden.n; i++)
        if (l->hidden.v[i].parent == UINT32_MAX || l->hidden.v[i].parent < shown)
            count_hidden(r, l->hidden.v[i].total);
    l->line.n = shown;
}

static int build_tree(struct an_report *r, struct err *e)
{
    int64_t *self = NULL, *wait = NULL;
    double least = r->min_pct / 100 * (double)r->all.weight;
    int rc = 0;

    if (r->query->form == AN_REPORT_CALLERS)
        rc = an_callers_build(&r->trees, &self, &wait, &r->symbols, r->view, r->query->callers, e);
    else
        build_upright(r, &self, &wait);
    if (r->query->form == AN_REPORT_INVERTED)
        invert(r, &self, &wait);
    if (rc == 0) {
        an_list_build(&r->list, &r->trees, &r->symbols, self, wait, sat_of(least));
        limit_tree(r);
    }
    free(self);
    free(wait);
    return rc;
}

int an_report_build(struct an_report *r, struct an_view *v, const struct an_report_query *q,
                    struct err *e)
{
    *r = (struct an_report){ .query = q, .view = v, .p = v->profile };
    result_init(&r->result);
    if (an_levels_check(&q->levels, r->p, e) < 0)
        return -1;
    for (size_t i = 0; i < q->levels.n; i++)
        v->all_threads |= q->levels.by[i] == AN_BY_THREAD;
    v->all_threads |= q->idle;
    r->all = an_sum_of(v);
    r->exact = an_view_is_exact(v) || an_report_has_waits(r);
    r->unit = an_view_unit(v);
    r->min_pct = q->min_pct >= 0 ? q->min_pct : an_report_has_tree(r) ? TREE_MIN_PCT : 0;
    if (an_report_has_waits(r))
        an_threads_build(&r->threads, v);
    an_symbols_init(&r->symbols, r->p);
    build_flat(r);
    if (an_report_has_groups(r))
        build_groups(r);
    if (an_report_has_tree(r) && build_tree(r, e) < 0)
        return -1;
    an_report_head(r);
    an_report_tables(r);
    return 0;
}

void an_report_release(struct an_report *r)
{
    result_release(&r->result);
    an_flat_release(&r->flat);
    an_groups_release(&r->groups);
    an_list_release(&r->list);
    an_tree_release(&r->trees);
    an_symbols_release(&r->symbols);
    an_threads_release(&r->threads);
    free(r->node_kinds);
}
