/* perf_deferred.h - samples whose user part follows in a later record.
 *
 * The kernel may defer the user part of a call chain until the thread returns to user space.  The
 * sample then ends with a cookie, and a CALLCHAIN_DEFERRED record with the same cookie and thread
 * completes all such samples.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_DEFERRED_H
#define FATHOM_PERF_PERF_DEFERRED_H

#include "perf/perf_record.h"

struct perf_deferred_sample;

struct perf_deferred {
    VEC(struct perf_deferred_sample) v; /* in order; some are done */
    size_t n_done;
    struct umap last; /* hash of thread and cookie -> index of its last sample + 1 */
};

typedef void perf_deferred_fn(void *with, const struct perf_record *r);

/* Copy sample R if its user part is missing; false if it is complete or too many wait. */
bool perf_deferred_add(struct perf_deferred *d, const struct perf_record *r);
/* Pass the samples that R, a CALLCHAIN_DEFERRED record, completes to DELIVER, in order. */
void perf_deferred_complete(struct perf_deferred *d, const struct perf_record *r,
                            perf_deferred_fn *deliver, void *with);
/* Pass the remaining samples, without user part. */
void perf_deferred_finish(struct perf_deferred *d, perf_deferred_fn *deliver, void *with);
void perf_deferred_release(struct perf_deferred *d);

#endif
