/* zone_rows.h - the measurements of libfathom, merged over threads and converted to nanoseconds.
 *
 * All figures of zones are computed here: inside the program for its reports and exports, and in
 * the tool for a recording and for the file of a killed program.  A result has its own mapping and
 * uses no malloc; any process can compute it.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ZONES_ZONE_ROWS_H
#define FATHOM_ZONES_ZONE_ROWS_H

#include "channel/live_read.h"

struct zone_row {
    uint32_t parent;       /* lower index, or LIVE_NO_NODE */
    uint32_t child, next;  /* first child, next sibling, by total time; LIVE_NO_NODE = none */
    uint32_t depth, kind, line, context, task;
    uint32_t inside_of;    /* row of the innermost context; the row itself if it is one */
    const char *name, *file, *backend, *label, *thread;
    uint64_t count, untimed, open, threads;
    /* ns, overhead subtracted.  self: whole; total: sum of self over the row and its descendants */
    double total, self, min, max, mean, stddev, first;
    double p50, p90, p99, p999;
    double bytes, work, throughput; /* throughput: per second of self time */
    double thread_max;              /* maximum over threads, ns */
    /* Raw sums of struct live_ext for rules, as numbers; y in ns instead of ticks. */
    double n, x, y, xx, xy, yy, ln, lx, ly, lxx, lxy, t, tt, ty;
    double allocs, alloc_bytes, repeats, last, low, high;
    double children_calls; /* direct */
    double below_ticks;    /* cost of all zones below */
    bool demoted, precise;
    uint64_t *hist; /* LIVE_BUCKETS words or NULL; in ticks */
    double raw_total; /* ns, overhead included */
    double squares;
    uint64_t min_ticks, max_ticks;
    /* Used during the computation. */
    double inside;     /* ns of all rows directly below */
    double open_ticks; /* of calls that have not ended */
    double own_ticks, ticks_before, self_before; /* to split self time by thread */
};

struct zone_rows {
    struct zone_row *row;
    uint32_t n, n_threads;
    double ns_per_tick, all_ns; /* all_ns: self time of all rows */
    double wall_ns;             /* since the start or last clear */
    double overhead_ns;
    uint64_t calls, lost[FATHOM_LOST_CAUSES];
    struct live_view view; /* of the region; rows' strings point into it */
    uint32_t *row_of;      /* view node -> row */
    double *part;          /* view node -> share of its row's self time, whole ns */
    void *memory;
    size_t bytes;
};

/* Read a region.  PER_THREAD keeps threads separate.  Returns 0 or FATHOM_E_*, with view.why
 * set. */
int zone_rows_read(struct zone_rows *r, const void *data, size_t size, bool per_thread);
void zone_rows_free(struct zone_rows *r);
/* Whether a row belongs to a context named NAME (NULL = any). */
bool zone_rows_in(const struct zone_rows *r, uint32_t row, const char *context);
/* Path of a row without contexts: "a/b/c" with SEPARATOR between.  Returns its full length. */
size_t zone_rows_path(const struct zone_rows *r, uint32_t row, char separator, char *text,
                      size_t cap);
const char *zone_rows_context(const struct zone_rows *r, uint32_t row); /* innermost, "" */
bool zone_row_is_timed(const struct zone_row *w); /* has a duration: zone, op, lock, frame */
/* Nested in time, as zones, operations and lock waits are; frames and held locks are not. */
bool zone_row_is_nested(const struct zone_row *w);
double zone_percentile(const struct zone_row *w, double share); /* in ticks */

double zone_sqrt(double x);

#endif
