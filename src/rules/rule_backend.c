/* rule_backend.c - an operation that another backend does faster at this size.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "rules/rule_zones.h"
#include "text/human.h"

enum {
    LEAST_CALLS = 3,
    FASTER = 2, /* times: a smaller gain does not justify a second code path */
    ALIKE = 4,  /* times: mean sizes that differ more are not compared */
};

/* Estimate the time of an operation of BYTES from the figures of W: by its fit, or in proportion
 * if W was measured at half to twice that size.  0 when neither is known. */
static double predicted_ns(const struct zone_rows *r, const struct zone_row *w, double bytes)
{
    double mean = w->x / w->n;
    struct rule_line l;

    if (rule_fit(w->n, w->x, w->y, w->xx, w->xy, &l) && l.a + l.b * bytes > 0)
        return (l.a + l.b * bytes) * r->ns_per_tick;
    if (mean > 0 && bytes >= mean / 2 && bytes <= 2 * mean)
        return w->mean * bytes / mean;
    return 0;
}

static bool is_measured(const struct zone_row *w)
{
    return w->kind == LIVE_OP && w->backend[0] && w->n >= LEAST_CALLS && w->x > 0;
}

/* Return the fastest other backend for W's operation, and its time; NULL when none is FASTER. */
static const struct zone_row *fastest_other(const struct zone_rows *r, const struct zone_row *w,
                                            double *ns)
{
    double mean = w->x / w->n;
    const struct zone_row *best = NULL;

    *ns = w->mean / FASTER;
    for (uint32_t k = 0; k < r->n; k++) {
        const struct zone_row *o = &r->row[k];
        double other;

        if (!is_measured(o) || strcmp(o->name, w->name) != 0 ||
            strcmp(o->backend, w->backend) == 0 || o->x / o->n < mean / ALIKE ||
            o->x / o->n > ALIKE * mean)
            continue;
        other = predicted_ns(r, o, mean);
        if (other > 0 && other < *ns) {
            *ns = other;
            best = o;
        }
    }
    return best;
}

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_rows *r = f->zones;
    const struct zone_row *w = &r->row[row], *best;
    struct finding *x;
    double ns;

    if (!is_measured(w) || !(best = fastest_other(r, w, &ns)) ||
        !(x = finding_add(out, rule_share_of(r, (w->mean - ns) * (double)w->count))))
        return;
    finding_title(x, "%.50s: use %.20s, not %.20s, at this size", w->name, best->backend,
                  w->backend);
    finding_evidence(x, "%s: %s on %s, %s on %s (measured over %s calls)",
                     human_bytes(w->x / w->n).s, human_ns(w->mean).s, w->backend, human_ns(ns).s,
                     best->backend, human_count((int64_t)best->n).s);
    finding_bound(x, "%.1fx faster for these calls, as measured on the other", w->mean / ns);
}

const struct rule rule_backend = {
    .id = "backend",
    .title = "another backend is faster at this size",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "Both backends were measured at similar sizes. Choose the backend by size.",
    .example = {
        [RULE_C] = RULE_CHANGE("run(op, BACKEND_A);",
                               "run(op, n > LIMIT ? BACKEND_B : BACKEND_A);"),
        [RULE_RUST] = RULE_CHANGE("run(op, Backend::A);",
                                  "run(op, if n > LIMIT { Backend::B } else { Backend::A });"),
        [RULE_PYTHON] = RULE_CHANGE("run(op, \"a\")", "run(op, \"b\" if n > LIMIT else \"a\")"),
    },
};
