/* timeline.h - what exporters need of samples in time: one metric's, thread by thread in order.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_TIMELINE_H
#define FATHOM_FORMATS_TIMELINE_H

#include <stdbool.h>

#include "base/mem.h"
#include "profile/profile.h"

struct timeline_item {
    uint64_t time_ns;
    uint32_t thread, stack;
    int64_t weight;
    uint64_t count;
};

struct timeline_run { /* the items of one thread */
    uint32_t thread; /* id, 0 when unknown */
    bool timed;      /* every item has a time; otherwise items are added up by stack */
    size_t first, n;
};

struct timeline {
    VEC(struct timeline_item) item;
    VEC(struct timeline_run) run;
};

/* Samples that weigh nothing are left out. */
void timeline_build(struct timeline *t, const struct profile *p, uint32_t metric);
void timeline_release(struct timeline *t);

/* "name (pid/tid)"; "" for thread 0.  TEXT is valid until the next call. */
struct thread_label {
    char text[320];
};
const char *timeline_label(const struct profile *p, uint32_t thread, struct thread_label *l);

/* Nanoseconds per unit, 0 when UNIT is no time. */
double timeline_unit_ns(const char *unit);

#endif
