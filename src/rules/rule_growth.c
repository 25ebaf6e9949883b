/* rule_growth.c - time that grows faster than the input.  SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule_zones.h"
#include "text/human.h"

enum { LEAST_CALLS = 20 };
static const double LEAST_SPREAD = 0.5;   /* variance of log2 of the size: half to twice the mean */
static const double LEAST_EXPONENT = 1.3; /* a sort is about 1.1, a nested loop 2 */
static const double LEAST_SHARE = 0.02;

/* 2^x for small positive x: double for the whole part, use the series of e^y for the rest. */
static double power_of_two(double x)
{
    double y, whole = 1;

    for (; x >= 1; x -= 1)
        whole *= 2;
    y = x * 0.6931471805599453;
    return whole * (1 + y * (1 + y / 2 * (1 + y / 3 * (1 + y / 4 * (1 + y / 5)))));
}

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_row *w = &f->zones->row[row];
    double mean = w->ln > 0 ? w->lx / w->ln : 0;
    double spread = w->ln > 0 ? w->lxx / w->ln - mean * mean : 0;
    double share = rule_share_of(f->zones, w->total);
    struct rule_line l;
    struct finding *x;

    if (w->kind != LIVE_OP || w->ln < LEAST_CALLS || spread < LEAST_SPREAD || share < LEAST_SHARE ||
        !rule_fit(w->ln, w->lx, w->ly, w->lxx, w->lxy, &l) || l.b < LEAST_EXPONENT ||
        !(x = finding_add(out, share)))
        return;
    finding_title(x, "%.60s grows faster than its input", w->name);
    finding_evidence(x,
                     "fit over %s calls: time ~ size^%.2f, so twice the size takes %.1fx the time",
                     human_count((int64_t)w->ln).s, l.b, power_of_two(l.b));
    finding_bound_by_gain(x);
}

const struct rule rule_growth = {
    .id = "growth",
    .title = "time grows faster than the input",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "Look for a nested loop or a copy per step. Index, sort once, or grow buffers by a "
            "factor.",
    .example = {
        [RULE_C] = RULE_CHANGE("for (i..n) for (j..n) if (a[i] == b[j]) ...",
                               "build_index(b); for (i..n) find(a[i]);"),
        [RULE_CXX] = RULE_CHANGE(
            "for (auto &x : a) if (std::find(b.begin(), b.end(), x) != b.end()) ...",
            "std::unordered_set<T> in_b(b.begin(), b.end());" RULE_NEXT
            "for (auto &x : a) if (in_b.count(x)) ..."),
        [RULE_RUST] = RULE_CHANGE("for x in &a { if b.contains(x) { ... } }",
                                  "let in_b: HashSet<_> = b.iter().collect();" RULE_NEXT
                                  "for x in &a { if in_b.contains(x) { ... } }"),
        [RULE_PYTHON] = RULE_CHANGE("[x for x in a if x in b]  # b is a list",
                                    "in_b = set(b)" RULE_NEXT "[x for x in a if x in in_b]"),
    },
};
