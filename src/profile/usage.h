/* usage.h - the resources that one run of a command used.  collect/ measures them, analyze/
 * compares them.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_USAGE_H
#define FATHOM_PROFILE_USAGE_H

#include <stdbool.h>
#include <stddef.h>

enum { USAGE_COUNTERS = 32 };

struct usage_counter {
    char name[64];
    bool is_clock;      /* counts nanoseconds */
    bool is_hardware;   /* absent where there is no PMU */
    bool user_only;     /* the kernel refused to count its own part */
    int errnum;         /* why the counter could not be opened; 0 when it was */
    double value;       /* scaled up to the whole run when it was multiplexed */
    double running_pct; /* share of the run during which it counted; 0: it never did */
};

struct usage {
    double wall_ns, user_ns, system_ns; /* includes children that were waited for */
    double max_rss_bytes;               /* of the largest process */
    bool rss_is_ours; /* not larger than this tool: an upper bound, not a measurement */
    double minor_faults, major_faults, voluntary, involuntary;
    bool has_io;                               /* the next four are known */
    double read_bytes, written_bytes;          /* by system calls */
    double disk_read_bytes, disk_written_bytes;
    int refused; /* errno if the kernel refuses every event, even of software in user space */
    bool has_tasks;            /* the next two are known */
    double processes, threads; /* that ever lived, including the first of each */
    int exit_status;           /* 128 + n after signal n */
    size_t n_counters;
    struct usage_counter counter[USAGE_COUNTERS];
};

#endif
