/* rt_rules.h - advice from a result.  Pure: the same rows give the same advice, so tests feed
 * rows made by hand.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RUNTIME_RT_RULES_H
#define FATHOM_RUNTIME_RT_RULES_H

#include "runtime/rt_rows.h"

struct rt_advice {
    const char *rule, *priority;
    char title[160], evidence[320], estimate[240];
    const char *description, *example;
    const char *name;
    char path[256];
    double gain; /* share of all time that could be saved at most, 0..1 */
};

enum rt_language { RT_C, RT_CXX, RT_RUST, RT_PYTHON, RT_LANGUAGES };

struct rt_rule_text { /* what is said whatever was measured; rt_rules_text.c */
    const char *rule, *description;
    const char *example[RT_LANGUAGES]; /* NULL: as in C */
};
const struct rt_rule_text *rt_rule_text(const char *rule); /* NULL when there is no such rule */
const char *rt_rule_example(const struct rt_rule_text *t, const char *file);

/* The MOST strongest, strongest first.  Returns how many there are. */
int rt_rules_run(const struct zone_rows *r, int most,
                 void (*visit)(const struct rt_advice *, void *), void *arg);

#endif
