/* timeline.h - the samples of a view in time order per thread, for exporters.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_TIMELINE_H
#define FATHOM_FORMATS_TIMELINE_H

#include <stdbool.h>

#include "analyze/an_view.h"
#include "base/mem.h"
#include "profile/profile.h"

struct timeline_item {
    uint64_t end_ns; /* end of the time it covers */
    uint32_t thread, stack, tags;
    int64_t weight;
    uint64_t count;
    bool waiting; /* measured time off the CPU; otherwise sampled */
};

struct timeline_run { /* the items of one thread */
    uint32_t thread; /* id, 0 when unknown */
    bool timed;      /* items have times; otherwise they are summed by stack and tags */
    size_t first, n;
};

enum timeline_tags { TIMELINE_NO_TAGS, TIMELINE_TAGS }; /* NO_TAGS: the tags of items are 0 */

struct timeline {
    VEC(struct timeline_item) item;
    VEC(struct timeline_run) run;
};

/* Samples of weight 0 are omitted. */
void timeline_build(struct timeline *t, const struct an_view *v, enum timeline_tags tags);
void timeline_release(struct timeline *t);

bool timeline_is_time(const struct profile *p, uint32_t metric);

/* "name (pid/tid)"; "" for thread 0.  TEXT is valid until the next call. */
struct thread_label {
    char text[320];
};
const char *timeline_label(const struct profile *p, uint32_t thread, struct thread_label *l);

/* Nanoseconds per unit, 0 when UNIT is not a time. */
double timeline_unit_ns(const char *unit);

#endif
