/* rules.h - advice from measurements.
 *
 * A rule is one file, rule_x.c, one line in rules.def and one page, docs/rules/x.md.  It fires
 * only on measured evidence and quotes it.  The gain it states is an upper bound (Amdahl: the time
 * saved if this cost were zero) or a fit, never a factor that was not measured.
 *
 * Rules are pure functions over facts in memory that the caller provides, and store their findings
 * in an array of the caller.  They do not allocate: they run inside profiled programs and in the
 * tool.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RULES_RULES_H
#define FATHOM_RULES_RULES_H

#include "zones/zone_rows.h"

/* Measurements; NULL if absent. */
struct facts {
    const struct zone_rows *zones;
};

/* The rows that a rule is called for, one by one. */
enum rule_needs {
    RULE_ZONES, /* facts.zones */
};

enum rule_language { RULE_C, RULE_CXX, RULE_RUST, RULE_PYTHON, RULE_LANGUAGES };

struct findings;

struct rule {
    const char *id;    /* "lock-wait" */
    const char *title; /* what it finds, in general */
    enum rule_needs needs;
    void (*check)(const struct facts *f, uint32_t row, struct findings *out);
    const char *text; /* the cause, and what to do */
    const char *example[RULE_LANGUAGES]; /* a change, before and after; NULL: same as C */
};

#define RULE_CHANGE(before, after) "before:\n    " before "\nafter:\n    " after
#define RULE_NEXT                  "\n    " /* the next line of an example */

struct finding {
    const struct rule *rule;
    const char *priority; /* "HIGH", "MEDIUM", "LOW" */
    char title[160], evidence[320], bound[240];
    const char *example; /* in the language of the source file */
    const char *name;
    char path[256];
    double gain; /* upper bound on the share of all time that can be saved, 0..1 */
};

struct findings {
    struct finding *v;
    int n, cap;
    uint64_t dropped; /* findings weaker than the CAP strongest */
    const struct facts *facts; /* while rules run: the facts and row being checked */
    const struct rule *rule;
    uint32_t row;
};

extern const struct rule *const rules[]; /* NULL-terminated */

/* Run every rule whose facts are present.  OUT starts with v and cap set and the rest zero.  It
 * receives the CAP strongest findings, strongest first. */
void rules_run(const struct facts *f, struct findings *out);

/* ---- For rules ---- */

/* Add a finding about the current row; NULL if CAP stronger ones exist. */
struct finding *finding_add(struct findings *out, double gain);
void finding_title(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void finding_evidence(struct finding *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void finding_bound(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* State the gain as an upper bound, in words. */
void finding_bound_by_gain(struct finding *f);

#endif
