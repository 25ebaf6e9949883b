/* rule_tiny_zone.c - zones so short that measuring them distorts the figure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule_zones.h"
#include "text/human.h"

enum {
    LEAST_CALLS = 1000,
    COSTS = 10, /* times its own cost: below, measuring is over a tenth of the time */
    SAMPLE = 64,
};

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_row *w = &f->zones->row[row];
    double cost = rule_zone_cost_ns(f->zones, w);
    struct finding *x;

    if (w->kind != LIVE_ZONE || w->untimed || w->count < LEAST_CALLS || w->mean >= COSTS * cost ||
        !(x = finding_add(out, 0)))
        return;
    finding_title(x, "%.60s is too short to time every call", w->name);
    finding_evidence(x, "%s calls of %s; a zone costs %s, %.0f %% of the time spent here",
                     human_count((int64_t)w->count).s, human_ns(w->mean).s, human_ns(cost).s,
                     100 * cost / (cost + w->mean));
    finding_bound(x, "timing 1 call in %d saves %s of this run", SAMPLE,
                  human_ns((double)w->count * cost * (SAMPLE - 1) / SAMPLE).s);
}

const struct rule rule_tiny_zone = {
    .id = "tiny-zone",
    .title = "a zone too short to time every call",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "Measuring takes part of the time here. Time one call in 64: all are still counted, "
            "and the totals are scaled.",
    .example = {
        [RULE_C] = RULE_CHANGE("FATHOM_ZONE(\"hash\");", "FATHOM_ZONE_N(\"hash\", 64);"),
    },
};
