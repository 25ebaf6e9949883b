/* rules.h - advice from what was measured.
 *
 * A rule is one file, rule_x.c, one line in rules.def and one page, docs/rules/x.md.  It fires on
 * measured evidence only and quotes it.  The gain it states is an upper bound (Amdahl: what is
 * saved when this cost is gone) or a fit, never a factor that was not measured.
 *
 * Pure functions over facts that the caller provides, findings in an array that the caller
 * provides, no malloc: rules run inside profiled programs and in the tool.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RULES_RULES_H
#define FATHOM_RULES_RULES_H

#include "zones/zone_rows.h"

/* What was measured; a part that was not is NULL. */
struct facts {
    const struct zone_rows *zones;
};

/* The rows that a rule looks at, one after the other. */
enum rule_needs {
    RULE_ZONES, /* facts.zones */
};

enum rule_language { RULE_C, RULE_CXX, RULE_RUST, RULE_PYTHON, RULE_LANGUAGES };

struct findings;

struct rule {
    const char *id;    /* "lock-wait" */
    const char *title; /* what it finds, of any program */
    enum rule_needs needs;
    void (*check)(const struct facts *f, uint32_t row, struct findings *out);
    const char *text; /* why it costs, and what to do */
    const char *example[RULE_LANGUAGES]; /* a change, before and after; NULL: as in C */
};

#define RULE_CHANGE(before, after) "before:\n    " before "\nafter:\n    " after
#define RULE_NEXT                  "\n    " /* the next line of an example */

struct finding {
    const struct rule *rule;
    const char *priority; /* "HIGH", "MEDIUM", "LOW" */
    char title[160], evidence[320], bound[240];
    const char *example; /* in the language of the place */
    const char *name;
    char path[256];
    double gain; /* upper bound on the share of all time that can be saved, 0..1 */
};

struct findings {
    struct finding *v;
    int n, cap;
    uint64_t dropped; /* weaker than the CAP that are kept */
    const struct facts *facts; /* while rules run: what the next finding is about */
    const struct rule *rule;
    uint32_t row;
};

extern const struct rule *const rules[]; /* NULL-terminated */

/* Run every rule whose facts are there.  OUT starts with v and cap set and the rest zero; the CAP
 * strongest findings are kept, strongest first. */
void rules_run(const struct facts *f, struct findings *out);

/* ---- For rules ---- */

/* A finding about the row being checked; NULL when there is no room for one this weak. */
struct finding *finding_add(struct findings *out, double gain);
void finding_title(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void finding_evidence(struct finding *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void finding_bound(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The bound that the gain is, in words. */
void finding_bound_by_gain(struct finding *f);

#endif
