/* col_event.h - parse event names into the type and config of perf_event_open.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_EVENT_H
#define FATHOM_COLLECT_COL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

struct col_event {
    char name[64]; /* as typed, an alias of a clock replaced by its name */
    uint32_t type;
    uint64_t config, config1, config2;
    bool is_clock;      /* counts nanoseconds: the period is fixed */
    bool is_hardware;   /* needs a PMU */
    bool every_one;     /* tracepoints: sample every occurrence */
    bool no_user, no_kernel;
};

struct col_events {
    struct col_event *v;
    size_t n, cap;
};

/* Parse a comma-separated list ("cycles,page-faults:u,r01c2,sched:sched_switch,cpu/event=0x3c/")
 * and append to EVENTS (a VEC; free with vec_release). */
int col_event_parse(const char *list, struct col_events *events, struct err *e);
/* The software clock, which every machine has. */
struct col_event col_event_clock(void);

/* Parse "PMU/term,term=value/" as described in /sys/bus/event_source/devices (col_pmu.c). */
int col_pmu_parse(const char *pmu, const char *terms, struct col_event *ev, struct err *e);

#endif
