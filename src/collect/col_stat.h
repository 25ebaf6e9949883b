/* col_stat.h - run a command once and count the resources it uses, without sampling.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_STAT_H
#define FATHOM_COLLECT_COL_STAT_H

#include "collect/col_event.h"
#include "collect/col_surroundings.h"
#include "profile/usage.h"

struct col_stat_options {
    char *const *command;
    const struct col_events *events; /* at most USAGE_COUNTERS */
    const char *pin;                 /* CPUs, or NULL */
    bool output_to_stderr;           /* redirect the command's standard output */
    struct col_surroundings *around; /* from the first run to the end of the last; or NULL */
    bool is_first;                   /* of the runs that AROUND describes */
};

/* Default events for a machine with hardware counters. */
extern const char col_stat_events[];

/* Check that each of EVENTS can be counted.  Sets ERR_MISSING for the first that cannot.  A run
 * leaves out those that cannot, and sets usage.refused if there are no perf events at all. */
int col_stat_check(const struct col_events *events, struct err *e);
int col_stat_run(const struct col_stat_options *o, struct usage *u, struct err *e);

#endif
