/* rule_repeat_work.c - the same input again.  SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule_zones.h"
#include "text/human.h"

enum { LEAST_REPEATS = 10 };
static const double LEAST_PART = 0.5; /* of the calls: below, a cache costs more than it saves */
static const double LEAST_GAIN = 0.02;

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_row *w = &f->zones->row[row];
    double part = w->count ? w->repeats / (double)w->count : 0;
    double gain = part * rule_share_of(f->zones, w->total);
    struct finding *x;

    if (w->kind != LIVE_OP || w->repeats < LEAST_REPEATS || part < LEAST_PART ||
        gain < LEAST_GAIN || !(x = finding_add(out, gain)))
        return;
    finding_title(x, "%.60s does the same work again", w->name);
    finding_evidence(x, "%s of %s calls had the size and checksum of one of the last four inputs",
                     human_count((int64_t)w->repeats).s, human_count((int64_t)w->count).s);
    finding_bound_by_gain(x);
}

const struct rule rule_repeat_work = {
    .id = "repeat-work",
    .title = "the same input is processed again",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "The same input recurs after a few calls. Cache the latest results.",
    .example = {
        [RULE_C] = RULE_CHANGE("y = f(x);",
                               "y = cache_find(x);" RULE_NEXT "if (!y) cache_add(x, y = f(x));"),
        [RULE_CXX] = RULE_CHANGE("auto y = f(x);",
                                 "auto [it, fresh] = cache.try_emplace(x);" RULE_NEXT
                                 "if (fresh) it->second = f(x);"),
        [RULE_RUST] = RULE_CHANGE("let y = f(&x);",
                                  "let y = cache.entry(x).or_insert_with_key(f);"),
        [RULE_PYTHON] = RULE_CHANGE("def f(x): ...",
                                    "@functools.lru_cache(maxsize=128)" RULE_NEXT "def f(x): ..."),
    },
};
