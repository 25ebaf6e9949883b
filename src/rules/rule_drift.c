/* rule_drift.c - calls that get slower while the program runs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule_zones.h"
#include "text/human.h"

enum {
    LEAST_CALLS = 30,
    LEAST_ERRORS = 4, /* standard errors between the slope and 0: 1 in 30,000 by chance */
};
static const double LEAST_GROWTH = 0.3; /* share of the mean, over the measured time */
static const double LEAST_SHARE = 0.02;
static const double WIDTH = 3.46; /* an even spread is sqrt(12) standard deviations wide */

struct slope {
    double grown;  /* share of the mean, over the measured time */
    double errors; /* slope over its standard error */
};

/* Fit a least-squares line of duration over time; false when impossible or not rising. */
static bool find_slope(const struct zone_row *w, struct slope *s)
{
    double n = w->n, mean = w->y / n, st = w->tt - w->t * w->t / n, sty = w->ty - w->t * w->y / n;
    double slope, rest, se;

    if (st <= 0 || mean <= 0)
        return false;
    slope = sty / st;
    rest = (w->yy - w->y * w->y / n - slope * sty) / (n - 2);
    se = zone_sqrt((rest > 0 ? rest : 0) / st);
    s->grown = slope * zone_sqrt(st / n) * WIDTH / mean;
    s->errors = se > 0 ? slope / se : 99;
    return slope >= LEAST_ERRORS * se && s->grown >= LEAST_GROWTH;
}

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_row *w = &f->zones->row[row];
    double share = rule_share_of(f->zones, w->total);
    struct finding *x;
    struct slope s;

    if (w->kind != LIVE_OP || w->n < LEAST_CALLS || share < LEAST_SHARE || !find_slope(w, &s) ||
        !(x = finding_add(out, share * s.grown / (2 + s.grown))))
        return;
    finding_title(x, "%.60s gets slower as the program runs", w->name);
    finding_evidence(x,
                     "slower by %.0f %% of its mean from start to end over %s calls "
                     "(slope %.1f standard errors)",
                     100 * s.grown, human_count((int64_t)w->n).s, s.errors);
    finding_bound_by_gain(x);
}

const struct rule rule_drift = {
    .id = "drift",
    .title = "calls get slower while the program runs",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "Something grows: a list that is walked, a cache that fills, a heap that fragments.",
    .example = {
        [RULE_C] = RULE_CHANGE("list_add(all, x);  /* and walked each time */",
                               "index_add(all, x);"),
        [RULE_CXX] = RULE_CHANGE("all.push_back(x);  // and searched each time",
                                 "all.insert(x);  // std::unordered_set"),
        [RULE_RUST] = RULE_CHANGE("all.push(x);  // and searched each time",
                                  "all.insert(x);  // HashSet"),
        [RULE_PYTHON] = RULE_CHANGE("all.append(x)  # and searched each time",
                                    "all.add(x)  # a set"),
    },
};
