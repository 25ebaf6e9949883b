/* rule_batch.c - many similar calls, each of which pays a fixed cost.
 * SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule_zones.h"
#include "text/human.h"

enum { LEAST_CALLS = 10 };                /* per call of the parent: fewer are not a loop */
static const double MOST_VARIANCE = 0.0625; /* of size over its mean squared: CV below 0.25 */
static const double LEAST_GAIN = 0.02;

static double parent_calls(const struct zone_rows *r, const struct zone_row *w)
{
    uint32_t up = w->parent;

    while (up != LIVE_NO_NODE && r->row[up].kind == LIVE_CONTEXT)
        up = r->row[up].parent;
    if (up == LIVE_NO_NODE || r->row[up].kind == LIVE_ROOT || r->row[up].count == 0)
        return 1;
    return (double)r->row[up].count;
}

/* Whether the parent spends most of its time in these calls. */
static bool has_gaps(const struct zone_rows *r, const struct zone_row *w)
{
    uint32_t up = w->parent;

    return up != LIVE_NO_NODE && r->row[up].kind <= LIVE_OP && r->row[up].total > 2 * w->total;
}

/* Find calls of similar size with a fit t = a + b size that has a fixed part a; false if none. */
static bool fit_fixed(const struct zone_row *w, struct rule_line *l)
{
    double mean = w->x / w->n, variance = w->xx / w->n - mean * mean;

    return variance <= MOST_VARIANCE * mean * mean &&
           rule_fit(w->n, w->x, w->y, w->xx, w->xy, l) && l->a > 0 && l->b >= 0;
}

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_rows *r = f->zones;
    const struct zone_row *w = &r->row[row];
    double parents = parent_calls(r, w), calls = (double)w->count / parents, fixed, saved;
    struct rule_line l;
    struct finding *x;

    if (w->kind != LIVE_OP || calls < LEAST_CALLS || w->n < LEAST_CALLS || w->x <= 0 ||
        has_gaps(r, w) || !fit_fixed(w, &l))
        return;
    fixed = rule_at_most(l.a * r->ns_per_tick, w->mean);
    saved = fixed * ((double)w->count - parents);
    if (rule_share_of(r, saved) < LEAST_GAIN || !(x = finding_add(out, rule_share_of(r, saved))))
        return;
    finding_title(x, "batch %.60s: %.0f calls of about %s each time", w->name, calls,
                  human_bytes(w->x / w->n).s);
    finding_evidence(x, "fit over %s calls: %s fixed + %.3g ns per byte; %s of %s each is fixed",
                     human_count((int64_t)w->n).s, human_ns(fixed).s, l.b * r->ns_per_tick,
                     human_ns(fixed).s, human_ns(w->mean).s);
    finding_bound(x, "one call instead of %.0f saves %s by the fit, %.0f %% of the time in zones",
                  calls, human_ns(saved).s, 100 * x->gain);
}

const struct rule rule_batch = {
    .id = "batch",
    .title = "many similar calls that each pay a fixed cost",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "Every call pays a cost that does not depend on its size. Gather the inputs and make "
            "one call for all of them.",
    .example = {
        [RULE_C] = RULE_CHANGE("for (i = 0; i < n; i++) op(&item[i], 1);", "op(item, n);"),
        [RULE_CXX] = RULE_CHANGE("for (auto &x : items) op(&x, 1);",
                                 "op(items.data(), items.size());"),
        [RULE_RUST] = RULE_CHANGE("for x in &items { op(std::slice::from_ref(x)); }",
                                  "op(&items);"),
        [RULE_PYTHON] = RULE_CHANGE("for x in items: op([x])", "op(items)"),
    },
};
