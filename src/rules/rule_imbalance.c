/* rule_imbalance.c - one thread that does more than its share.
 * SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule_zones.h"
#include "text/human.h"

static const double LEAST_EXCESS = 1.2; /* busiest over mean: scheduling alone causes a tenth */
static const double LEAST_GAIN = 0.03;

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_row *w = &f->zones->row[row];
    double mean = w->threads > 0 ? w->total / (double)w->threads : 0, gain;
    struct finding *x;

    if (!rule_is_work(w) || w->threads < 2 || mean <= 0 || w->thread_max < LEAST_EXCESS * mean ||
        w->thread_max > w->total * 1.01)
        return;
    gain = rule_share_of(f->zones, w->total) * (w->thread_max - mean) / w->thread_max;
    if (gain < LEAST_GAIN || !(x = finding_add(out, gain)))
        return;
    finding_title(x, "%.60s: one thread does %.1fx its share", w->name, w->thread_max / mean);
    finding_evidence(x, "busiest thread %s, mean of %llu threads %s", human_ns(w->thread_max).s,
                     (unsigned long long)w->threads, human_ns(mean).s);
    finding_bound(x, "with equal shares this ends at most %.0f %% sooner",
                  100 * (1 - mean / w->thread_max));
}

const struct rule rule_imbalance = {
    .id = "imbalance",
    .title = "one thread does more than its share",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "The others wait for the busiest thread. Hand out smaller pieces, or take them from "
            "one queue.",
    .example = {
        [RULE_C] = RULE_CHANGE("part = n / threads;",
                               "while ((i = atomic_fetch_add(&next, 1)) < pieces) work(i);"),
        [RULE_CXX] = RULE_CHANGE("auto part = n / threads;",
                                 "for (int i; (i = next++) < pieces;) work(i);"),
        [RULE_RUST] = RULE_CHANGE("items.chunks(n / threads)",
                                  "items.par_iter()  // rayon: threads take work as they finish"),
        [RULE_PYTHON] = RULE_CHANGE("pool.map(work, items, chunksize=n // workers)",
                                    "pool.imap_unordered(work, items, chunksize=16)"),
    },
};
