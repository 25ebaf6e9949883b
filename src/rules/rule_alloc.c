/* rule_alloc.c - allocations in a loop.  SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule_zones.h"
#include "text/human.h"

enum { LEAST_ALLOCS = 100 };
static const double LEAST_SHARE = 0.02;

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_row *w = &f->zones->row[row];
    double share = rule_share_of(f->zones, w->self);
    struct finding *x;

    if (!rule_is_work(w) || w->allocs < LEAST_ALLOCS || w->allocs <= (double)w->count ||
        share < LEAST_SHARE || !(x = finding_add(out, share)))
        return;
    x->priority = "MEDIUM"; /* the share of allocation in the time is unknown */
    finding_title(x, "%.60s allocates in a loop", w->name);
    finding_evidence(x, "%.1f allocations per call, %s each on average",
                     w->allocs / (double)w->count, human_bytes(w->alloc_bytes / w->allocs).s);
    finding_bound_by_gain(x);
}

const struct rule rule_alloc = {
    .id = "alloc",
    .title = "allocations in a loop",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "Allocate once before the loop and reuse.",
    .example = {
        [RULE_C] = RULE_CHANGE("for (...) { p = malloc(n); use(p); free(p); }",
                               "p = malloc(n); for (...) use(p); free(p);"),
        [RULE_CXX] = RULE_CHANGE("for (...) { std::vector<T> v(n); use(v); }",
                                 "std::vector<T> v; for (...) { v.assign(n, T()); use(v); }"),
        [RULE_RUST] = RULE_CHANGE(
            "for .. { let mut v = Vec::with_capacity(n); fill(&mut v); }",
            "let mut v = Vec::with_capacity(n);" RULE_NEXT "for .. { v.clear(); fill(&mut v); }"),
        [RULE_PYTHON] = RULE_CHANGE("for x in items: buf = bytearray(n); fill(buf, x)",
                                    "buf = bytearray(n)" RULE_NEXT "for x in items: fill(buf, x)"),
    },
};
