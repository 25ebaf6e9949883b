/* rule_zones.h - figures of zone rows that several rules use.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RULES_RULE_ZONES_H
#define FATHOM_RULES_RULE_ZONES_H

#include "rules/rules.h"

/* Shorter calls vary with the clock itself, which has two speeds. */
enum { RULE_LEAST_NS = 1000 };

static inline double rule_share_of(const struct zone_rows *r, double ns)
{
    return r->all_ns > 0 ? ns / r->all_ns : 0;
}

static inline double rule_at_most(double x, double limit)
{
    return x < limit ? x : limit;
}

/* A zone or operation with timed calls. */
static inline bool rule_is_work(const struct zone_row *w)
{
    return (w->kind == LIVE_ZONE || w->kind == LIVE_OP) && w->count > w->untimed;
}

/* The cost of one begin and end. */
static inline double rule_zone_cost_ns(const struct zone_rows *r, const struct zone_row *w)
{
    return (double)r->view.head.cost[w->precise].pair * r->ns_per_tick;
}

/* The median, but at least the cost of a zone: shorter times cannot be measured. */
static inline double rule_usual_ns(const struct zone_rows *r, const struct zone_row *w)
{
    double least = rule_zone_cost_ns(r, w);

    return w->p50 > least ? w->p50 : least;
}

/* Least squares y = a + b x from running sums; false when x hardly varies. */
struct rule_line {
    double a, b;
};
static inline bool rule_fit(double n, double x, double y, double xx, double xy,
                            struct rule_line *l)
{
    double spread = n * xx - x * x;

    if (n < 3 || spread <= 1e-6 * n * xx)
        return false;
    l->b = (n * xy - x * y) / spread;
    l->a = (y - l->b * x) / n;
    return true;
}

#endif
