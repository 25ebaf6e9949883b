/* an_stat.h - the analysis of `fathom stat`: measures of a command, each with a value per run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_STAT_H
#define FATHOM_ANALYZE_AN_STAT_H

#include "base/mem.h"
#include "profile/profile.h"
#include "profile/usage.h"
#include "stats/stats.h"
#include "text/result.h"

struct an_measure {
    char name[64];
    const char *unit; /* ns, bytes, count, ratio, pct */
    double *value;    /* one per run */
    size_t n;         /* number of runs that have it */
    double running_pct; /* smallest counted share of a multiplexed counter; 0 for others */
    const char *note;
};

struct an_stat {
    char *const *command;
    const struct usage *run;
    size_t runs; /* at least 1 */
    const struct profile *facts; /* its meta describes what surrounded the runs; or NULL */
    const char *refused, *remedy; /* why the kernel refuses all events, and the fix; or NULL */
    VEC(struct an_measure) measure; /* only measures that some run has */
    const char *hardware; /* why there are no hardware counters, "" when there are */
};

/* Compute the measures and hardware from the fields above them. */
void an_stat_build(struct an_stat *s);
void an_stat_release(struct an_stat *s);
/* In an_stat_result.c. */
void an_stat_result(const struct an_stat *s, struct result *r);

#endif
