/* rule_bimodal.c - two speeds under one name.  SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule_zones.h"
#include "text/human.h"

enum {
    LEAST_CALLS = 100,
    STEP = 8, /* buckets per bin: half a doubling */
    BINS = LIVE_BUCKETS / STEP,
    APART = 3, /* bins between two peaks: a factor of four between their centers */
};
static const double LEAST_PEAK = 0.15;   /* share of the calls in the smaller peak */
static const double MOST_VALLEY = 0.25;  /* share of the smaller peak, in the lowest bin between */
static const double LEAST_GAIN = 0.01;

struct modes {
    int fast, slow;              /* bins */
    double fast_part, slow_part; /* of the calls */
};

/* The fullest bin that is APART from bin AWAY_FROM, unless that is negative. */
static int fullest(const double *bin, int away_from)
{
    int best = -1;

    for (int b = 0; b < BINS; b++)
        if ((away_from < 0 || b > away_from + APART || b < away_from - APART) &&
            (best < 0 || bin[b] > bin[best]))
            best = b;
    return best;
}

static bool find_modes(const uint64_t *hist, struct modes *m)
{
    double bin[BINS] = { 0 }, all = 0, valley = 1e300;
    int first, second;

    for (int b = 0; b < LIVE_BUCKETS; b++) {
        bin[b / STEP] += (double)hist[b];
        all += (double)hist[b];
    }
    first = fullest(bin, -1);
    second = fullest(bin, first);
    m->fast = first < second ? first : second;
    m->slow = first < second ? second : first;
    m->fast_part = bin[m->fast] / all;
    m->slow_part = bin[m->slow] / all;
    for (int b = m->fast + 1; b < m->slow; b++)
        valley = bin[b] < valley ? bin[b] : valley;
    return bin[second] >= LEAST_PEAK * all && valley <= MOST_VALLEY * bin[second];
}

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_rows *r = f->zones;
    const struct zone_row *w = &r->row[row];
    double low, high, gain;
    struct modes m;
    struct finding *x;

    if (!rule_is_work(w) || !w->hist || w->count - w->untimed < LEAST_CALLS ||
        !find_modes(w->hist, &m))
        return;
    low = live_bucket_low((uint32_t)(m.fast * STEP)) * r->ns_per_tick;
    high = live_bucket_low((uint32_t)(m.slow * STEP)) * r->ns_per_tick;
    gain = rule_at_most(rule_share_of(r, m.slow_part * (double)w->count * (high - low)),
                        rule_share_of(r, w->total));
    if (high < RULE_LEAST_NS || gain < LEAST_GAIN || !(x = finding_add(out, gain)))
        return;
    finding_title(x, "%.60s has two speeds", w->name);
    finding_evidence(x, "%.0f %% of the calls take about %s, %.0f %% about %s, few between",
                     100 * m.fast_part, human_ns(low).s, 100 * m.slow_part, human_ns(high).s);
    finding_bound_by_gain(x);
}

const struct rule rule_bimodal = {
    .id = "bimodal",
    .title = "two speeds under one name",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "One name covers two cases: a hit and a miss, a small and a large input, two "
            "code paths. Give each case its own name.",
    .example = {
        [RULE_C] = RULE_CHANGE("FATHOM_ZONE(\"lookup\");",
                               "FATHOM_ZONE_V(z, \"lookup: hit\");" RULE_NEXT
                               "if (!found) FATHOM_LAP(z, \"lookup: miss\");"),
        [RULE_RUST] = RULE_CHANGE("fathom::zone!(\"lookup\");",
                                  "if hit { fathom::zone!(\"lookup: hit\"); ... }" RULE_NEXT
                                  "else { fathom::zone!(\"lookup: miss\"); ... }"),
    },
};
