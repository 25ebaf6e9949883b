/* rt_export.h - write a result in the formats of other tools.  Each writer is one file;
 * rt_export.c has the table of writers.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RUNTIME_RT_EXPORT_H
#define FATHOM_RUNTIME_RT_EXPORT_H

#include "runtime/rt_out.h"
#include "runtime/rt_rows.h"

struct event { /* a record, sorted by thread and time */
    uint32_t task;  /* index of its thread in struct events */
    uint32_t row;
    uint64_t start, duration; /* ticks */
    uint64_t value;
    bool has_value;
};

struct event_thread {
    uint32_t tid;
    const char *name;
};

struct events {
    struct event *list;
    size_t n;
    struct event_thread *thread;
    uint32_t n_threads;
    void *memory;
    size_t bytes;
};
/* Collect the trace records of R, parents before children, as many as can be sorted in memory.
 * Returns 0 or FATHOM_E_MEMORY. */
int rt_events_take(struct events *e, const struct zone_rows *r);
void rt_events_free(struct events *e);

void rt_export_collapsed(struct rt_out *o, const struct zone_rows *r);
void rt_export_chrome(struct rt_out *o, const struct zone_rows *r, const struct events *e);
void rt_export_file(struct rt_out *o, const struct zone_rows *r);

#endif
