/* col_stat.h - run a command once and count what it used, without sampling it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_STAT_H
#define FATHOM_COLLECT_COL_STAT_H

#include "collect/col_event.h"
#include "profile/usage.h"

struct col_stat_options {
    char *const *command;
    const struct col_events *events; /* at most USAGE_COUNTERS */
    const char *pin;                 /* CPUs, or NULL */
    bool output_to_stderr;           /* the command's standard output goes there */
};

/* Events worth counting, for a machine with hardware counters. */
extern const char col_stat_events[];

/* Can each of EVENTS be counted here?  ERR_MISSING with the first that cannot. */
int col_stat_check(const struct col_events *events, struct err *e);
int col_stat_run(const struct col_stat_options *o, struct usage *u, struct err *e);

#endif
