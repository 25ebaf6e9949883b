/* slices.h - convert samples to calls with a begin and an end, for formats that show calls: a call
 * lasts as long as its frame is in consecutive samples of its thread.  The tags of a sample are
 * those of its innermost call, which ends where they change.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_SLICES_H
#define FATHOM_FORMATS_SLICES_H

#include "analyze/an_labels.h"
#include "formats/timeline.h"

struct slice {
    uint64_t start_ns, duration_ns;
    uint32_t label, depth, tags;
};

struct slices {
    VEC(struct slice) v;  /* in the order they open: callers before callees */
    uint64_t most;        /* LIMIT_SLICES */
    uint64_t most_sorted; /* LIMIT_SORTED_FRAMES */
    VEC(size_t) open_;    /* indexes into v, outermost first */
};

void slices_init(struct slices *s);
/* Append the calls of R.  IS_TIME: weights are nanoseconds, and the duration of a call is the sum
 * of the weights of its samples; otherwise a sample lasts until the next one.  Items without times
 * are placed side by side, equal callers together, one nanosecond per unit if it is not a time.
 * -1 if there are too many of them. */
int slices_add(struct slices *s, struct an_labels *l, const struct timeline *t,
               const struct timeline_run *r, bool is_time, struct err *e);
void slices_release(struct slices *s);

#endif
