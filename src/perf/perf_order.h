/* perf_order.h - sort records by time.
 *
 * The records of one CPU are in order, those of several CPUs are not.  A source adds records as it
 * finds them and states up to which time no older record can follow.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_ORDER_H
#define FATHOM_PERF_PERF_ORDER_H

#include "perf/perf_decode.h"

struct perf_queued {
    uint64_t time_ns, serial;
    struct perf_raw raw;
};

struct perf_queue {
    VEC(struct perf_queued) items;
    size_t done;  /* number of them delivered */
    bool unsorted;
    uint64_t serial, newest_ns, safe_ns;
    size_t copied, most_copied; /* bytes; 0: no limit */
    void (*deliver)(void *with, const struct perf_raw *raw);
    void *with;
};

/* Add a record.  A record without a time is delivered at once.  The bytes of a passing record are
 * copied; if the copies become too large, the older half of the queue is delivered. */
void perf_order_add(struct perf_queue *q, const struct perf_raw *raw, uint64_t time_ns);
/* Deliver all records up to UNTIL_NS. */
void perf_order_until(struct perf_queue *q, uint64_t until_ns);
/* perf writes FINISHED_ROUND when the file contains all records older than the newest record of
 * the previous round.  Deliver these. */
void perf_order_round(struct perf_queue *q);
void perf_order_release(struct perf_queue *q);

#endif
