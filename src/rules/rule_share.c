/* rule_share.c - a zone that takes much of the time.  SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule_zones.h"
#include "text/human.h"

/* Below a tenth there is little to gain: 1.11x at best. */
static const double LEAST_SHARE = 0.1;

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_row *w = &f->zones->row[row];
    double share = rule_share_of(f->zones, w->self);
    struct finding *x;

    if (!rule_is_work(w) || share < LEAST_SHARE || !(x = finding_add(out, share)))
        return;
    finding_title(x, "%.60s takes %.0f %% of the time", w->name, 100 * share);
    finding_evidence(x, "%s self time in %s calls, %s each", human_ns(w->self).s,
                     human_count((int64_t)w->count).s, human_ns(w->mean).s);
    finding_bound_by_gain(x);
}

const struct rule rule_share = {
    .id = "share",
    .title = "a zone that takes much of the time",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "Much of the time is spent here, so a change has a large effect. Add zones to its "
            "parts, or run fathom record and then fathom annotate.",
    .example = {
        [RULE_C] = RULE_CHANGE("FATHOM_ZONE(\"step\");  ...all of it...",
                               "FATHOM_ZONE_V(z, \"step: read\");  ..." RULE_NEXT
                               "FATHOM_LAP(z, \"step: compute\");  ..."),
        [RULE_RUST] = RULE_CHANGE("fathom::zone!(\"step\");  // all of it",
                                  "{ fathom::zone!(\"step: read\"); read(); }" RULE_NEXT
                                  "{ fathom::zone!(\"step: compute\"); compute(); }"),
    },
};
