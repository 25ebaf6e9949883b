/* rule_first_call.c - set-up work in the first call.  SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule_zones.h"
#include "text/human.h"

enum {
    LEAST_CALLS = 10,
    TIMES = 10, /* times the usual: cold caches alone make a first call two to five times as long */
};
static const double LEAST_GAIN = 0.01;

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_row *w = &f->zones->row[row];
    double usual = rule_usual_ns(f->zones, w);
    double gain = rule_share_of(f->zones, w->first - usual);
    struct finding *x;

    if (!rule_is_work(w) || w->count - w->untimed < LEAST_CALLS || w->first < TIMES * usual ||
        gain < LEAST_GAIN || !(x = finding_add(out, gain)))
        return;
    finding_title(x, "the first call of %.60s takes %.0fx as long as usual", w->name,
                  w->first / usual);
    finding_evidence(x, "first %s, median %s over %s calls", human_ns(w->first).s,
                     human_ns(w->p50).s, human_count((int64_t)w->count).s);
    finding_bound_by_gain(x);
}

const struct rule rule_first_call = {
    .id = "first-call",
    .title = "the first call does set-up work",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "Something is set up at first use: a table, a file, a connection, pages touched for "
            "the first time. Do it at startup, or exclude it from the figures.",
    .example = {
        [RULE_C] = RULE_CHANGE("serve();",
                               "warm_up();" RULE_NEXT "fathom_clear();" RULE_NEXT "serve();"),
        [RULE_RUST] = RULE_CHANGE("serve();",
                                  "warm_up();" RULE_NEXT "fathom::clear();" RULE_NEXT "serve();"),
    },
};
