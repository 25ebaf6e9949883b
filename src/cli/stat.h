/* stat.h - what `fathom stat` prints: a table of measures, each a number from one run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_STAT_H
#define FATHOM_CLI_STAT_H

#include "base/mem.h"
#include "collect/col_stat.h"
#include "stats/stats.h"
#include "text/out.h"

struct stat_measure {
    char name[64];
    const char *unit; /* ns, bytes, count, ratio, pct */
    double *value;    /* one for each run */
    size_t n;         /* runs that gave it */
    double running_pct; /* of a multiplexed counter, the least; 0 when it is none */
    const char *note;
};

struct stat_result {
    char *const *command;
    const struct col_stat_run *run;
    size_t runs;
    const struct col_events *events;
    VEC(struct stat_measure) measure; /* only those that some run gave */
    const char *hardware; /* why there are no hardware counters, "" when there are */
};

void stat_measures(struct stat_result *s);
void stat_release(struct stat_result *s);
void stat_text(const struct stat_result *s, struct out *o, int fd);
void stat_json(const struct stat_result *s, struct out *o);

#endif
