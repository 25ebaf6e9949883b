/* an_stat.h - the answer of `fathom stat`: measures of a command, each a number from one run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_STAT_H
#define FATHOM_ANALYZE_AN_STAT_H

#include "base/mem.h"
#include "profile/usage.h"
#include "stats/stats.h"
#include "text/result.h"

struct an_measure {
    char name[64];
    const char *unit; /* ns, bytes, count, ratio, pct */
    double *value;    /* one for each run */
    size_t n;         /* runs that gave it */
    double running_pct; /* of a multiplexed counter, the least; 0 when it is none */
    const char *note;
};

struct an_stat {
    char *const *command;
    const struct usage *run;
    size_t runs; /* at least 1 */
    VEC(struct an_measure) measure; /* only those that some run gave */
    const char *hardware; /* why there are no hardware counters, "" when there are */
};

/* Compute the measures and hardware from command, run and runs. */
void an_stat_build(struct an_stat *s);
void an_stat_release(struct an_stat *s);
/* In an_stat_result.c. */
void an_stat_result(const struct an_stat *s, struct result *r);

#endif
