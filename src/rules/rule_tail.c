/* rule_tail.c - a few calls that take much longer than usual.
 * SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule_zones.h"
#include "text/human.h"

enum {
    LEAST_CALLS = 100, /* so that p99 is a measured call */
    TIMES = 5,         /* p99 over the median: noise of caches and clocks stays below */
};
static const double LEAST_GAIN = 0.01;

static double time_above(const struct zone_rows *r, const struct zone_row *w, double limit)
{
    double sum = 0;

    for (uint32_t b = 0; w->hist && b < LIVE_BUCKETS; b++) {
        double ns = live_bucket_low(b) * r->ns_per_tick;

        if (ns > limit)
            sum += (ns - limit) * (double)w->hist[b];
    }
    return sum;
}

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_rows *r = f->zones;
    const struct zone_row *w = &r->row[row];
    double usual = rule_usual_ns(r, w), gain;
    struct finding *x;

    if (!rule_is_work(w) || w->count - w->untimed < LEAST_CALLS || w->p99 < TIMES * usual ||
        w->p99 < RULE_LEAST_NS)
        return;
    gain = rule_at_most(rule_share_of(r, time_above(r, w, usual)), rule_share_of(r, w->total));
    if (gain < LEAST_GAIN || !(x = finding_add(out, gain)))
        return;
    finding_title(x, "%.60s: the slowest calls take %.0fx as long as usual", w->name,
                  w->p99 / usual);
    finding_evidence(x, "p50 %s, p90 %s, p99 %s, longest %s", human_ns(w->p50).s,
                     human_ns(w->p90).s, human_ns(w->p99).s, human_ns(w->max).s);
    finding_bound(x, "time beyond the median is %.0f %% of the time in zones", 100 * gain);
}

const struct rule rule_tail = {
    .id = "tail",
    .title = "a few calls take much longer than usual",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "A few calls wait or do more than the rest: a lock, a page fault, a full queue, a rare "
            "branch. Trace the program and look at the long calls.",
    .example = {
        [RULE_C] = RULE_CHANGE("FATHOM_PROFILE=1 ./app",
                               "FATHOM_PROFILE=trace:app.fathom ./app && fathom flame app.fathom"),
        [RULE_PYTHON] = RULE_CHANGE(
            "FATHOM_PROFILE=1 python3 app.py",
            "FATHOM_PROFILE=trace:app.fathom python3 app.py && fathom flame app.fathom"),
    },
};
