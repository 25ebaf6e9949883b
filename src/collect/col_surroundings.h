/* col_surroundings.h - what slows a program from outside: the limits of its cgroup, pressure, and
 * a hypervisor that takes CPU time.
 *
 * Counters are read at the start and at the end; their differences and the limits become the meta
 * keys limit.* and stall.* (profile/meta.def).  What cannot be read is absent.  Files of cgroups
 * are read again by path, so a cgroup that was removed meanwhile has no differences.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_SURROUNDINGS_H
#define FATHOM_COLLECT_COL_SURROUNDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/col_cgroup.h"
#include "profile/sink.h"

enum col_stall {
    COL_PERIODS,
    COL_THROTTLED,
    COL_THROTTLED_NS,
    COL_MEMORY_HIGH,
    COL_MEMORY_MAX,
    COL_OOM_KILLS,
    COL_CPU_SOME_NS,
    COL_CPU_FULL_NS,
    COL_MEMORY_SOME_NS,
    COL_MEMORY_FULL_NS,
    COL_STEAL_NS,
    COL_BUSY_NS,
    COL_WALL_NS,
    COL_STALLS,
};

struct col_stalls {
    uint64_t value[COL_STALLS];
    bool known[COL_STALLS];
};

struct col_limits {
    double cpus;                 /* CPU time per time; 0: no limit */
    uint64_t memory, memory_high; /* bytes; 0: no limit */
    size_t n_allowed;            /* online CPUs that the target may use; 0: unknown */
    char allowed[1024];          /* as a list */
};

struct col_surroundings {
    struct col_cgroup cpu, memory, pressure; /* folder "": not seen */
    bool has_cpu_limit, has_memory_limit;    /* cpu and memory are the cgroups with the limits */
    char name[1024];                         /* of the target's cgroup */
    struct col_limits limits;
    struct col_stalls before, after;
};

/* The cgroup is that of process MEMBER, or the folder that the descriptor CGROUP is open on; 0:
 * none of them. */
void col_surroundings_start(struct col_surroundings *s, int64_t member, int cgroup);
/* The second part of it: find the limits of the cgroups in S and read the counters. */
void col_surroundings_begin(struct col_surroundings *s);
/* Note the CPUs that PID may use.  A command may use those of --pin from its exec on. */
void col_surroundings_allowed(struct col_surroundings *s, int64_t pid);
/* Read the counters again.  The last call counts. */
void col_surroundings_stop(struct col_surroundings *s);
void col_surroundings_write(const struct col_surroundings *s, struct sink *out);

/* --- parsers: they return false, and leave the result, if TEXT has no such figure --- */

/* "KEY NUMBER" at the start of a line. */
bool col_text_number(const char *text, const char *key, uint64_t *x);
/* cpu.max: "QUOTA PERIOD" or "max PERIOD".  Sets CPU time per time. */
bool col_text_cpu_max(const char *text, double *cpus);
/* memory.max: bytes or "max". */
bool col_text_bytes(const char *text, uint64_t *bytes);
/* The total of the line KIND ("some", "full") of a pressure file. */
bool col_text_pressure(const char *text, const char *kind, uint64_t *ns);
/* The first line of /proc/stat: time of all CPUs taken by the hypervisor, and not idle, with it. */
bool col_text_steal(const char *text, uint64_t ticks_per_s, uint64_t *steal_ns, uint64_t *busy_ns);
/* Count the CPUs of Cpus_allowed_list in a status file that are in the list ONLINE too.  Copies the
 * list to *ALLOWED. */
size_t col_text_allowed(const char *status, const char *online, char *allowed, size_t cap);

#endif
