/* col_stat.h - run a command once and count what it used, without sampling it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_STAT_H
#define FATHOM_COLLECT_COL_STAT_H

#include "collect/col_event.h"

enum { COL_STAT_COUNTERS = 32 };

struct col_stat_counter {
    double value;       /* scaled up to the whole run when it was multiplexed */
    double running_pct; /* of the time it was really counted; 0: not counted at all */
    int errnum;         /* why it could not be opened, 0 when it was */
    bool user_only;     /* the kernel part was refused */
};

struct col_stat_run {
    double wall_ns, user_ns, system_ns; /* with children that were waited for */
    double max_rss_bytes;               /* of the largest process */
    bool rss_is_ours;    /* no larger than this tool was: an upper bound, not a measurement */
    double minor_faults, major_faults, voluntary, involuntary;
    bool has_io;         /* the four below are known */
    double read_bytes, written_bytes;     /* by system calls */
    double disk_read_bytes, disk_written_bytes;
    bool has_tasks;
    double processes, threads; /* that ever lived, the first of each included */
    int exit_status;     /* 128 + n after signal n */
    struct col_stat_counter counter[COL_STAT_COUNTERS]; /* by place in events */
};

struct col_stat_options {
    char *const *command;
    const struct col_events *events; /* at most COL_STAT_COUNTERS */
    const char *pin;                 /* CPUs, or NULL */
    bool output_to_stderr;           /* the command's standard output goes there */
};

/* Events worth counting, for a machine with hardware counters. */
extern const char col_stat_events[];

/* Can each of EVENTS be counted here?  ERR_MISSING with the first that cannot. */
int col_stat_check(const struct col_events *events, struct err *e);
int col_stat_run(const struct col_stat_options *o, struct col_stat_run *r, struct err *e);

#endif
