/* rule_lock_wait.c - threads that wait for a lock.  SPDX-License-Identifier: Apache-2.0 */
#include "rules/rule_zones.h"
#include "text/human.h"

static const double LEAST_SHARE = 0.05; /* below, other changes gain more than a finer lock */

static void check_row(const struct facts *f, uint32_t row, struct findings *out)
{
    const struct zone_row *w = &f->zones->row[row];
    double share = rule_share_of(f->zones, w->total);
    struct finding *x;

    if (w->kind != LIVE_LOCK_WAIT || share < LEAST_SHARE || !(x = finding_add(out, share)))
        return;
    finding_title(x, "threads wait for %.60s", w->name);
    finding_evidence(x, "%s waited in %s acquisitions, p99 %s", human_ns(w->total).s,
                     human_count((int64_t)w->count).s, human_ns(w->p99).s);
    finding_bound_by_gain(x);
}

const struct rule rule_lock_wait = {
    .id = "lock-wait",
    .title = "threads wait for a lock",
    .needs = RULE_ZONES,
    .check = check_row,
    .text = "Hold the lock for less time, split it, or give each thread its own data and merge it.",
    .example = {
        [RULE_C] = RULE_CHANGE("lock(m); prepare(x); put(x); unlock(m);",
                               "prepare(x); lock(m); put(x); unlock(m);"),
        [RULE_CXX] = RULE_CHANGE("std::lock_guard<std::mutex> hold(m); prepare(x); put(x);",
                                 "prepare(x);" RULE_NEXT
                                 "std::lock_guard<std::mutex> hold(m); put(x);"),
        [RULE_RUST] = RULE_CHANGE("let mut q = m.lock().unwrap(); prepare(&mut x); q.push(x);",
                                  "prepare(&mut x);" RULE_NEXT "m.lock().unwrap().push(x);"),
        [RULE_PYTHON] = RULE_CHANGE("with lock: prepare(x); put(x)",
                                    "prepare(x)" RULE_NEXT "with lock: put(x)"),
    },
};
