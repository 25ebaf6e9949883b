/* zone_rows.h - what libfathom measured, added up over threads and turned into nanoseconds.
 *
 * The one place where figures of zones are computed: inside the program for its reports and
 * exports, and in the tool for a recording and for the file of a killed program.  A result has
 * a mapping of its own and no malloc; it may be taken in any process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ZONES_ZONE_ROWS_H
#define FATHOM_ZONES_ZONE_ROWS_H

#include "channel/live_read.h"

struct zone_row {
    uint32_t parent;       /* lower index, or LIVE_NO_NODE */
    uint32_t child, next;  /* first child, next sibling, by total time; LIVE_NO_NODE = none */
    uint32_t depth, kind, line, context, task;
    const char *name, *file, *backend, *label, *thread;
    uint64_t count, untimed, open, threads;
    /* ns, own overhead taken off.  self: whole; total: sum of self of the row and all below */
    double total, self, min, max, mean, stddev, first;
    double p50, p90, p99, p999;
    double bytes, work, throughput; /* per second of the row's own time */
    double thread_max;              /* the most any one thread spent here, ns */
    /* Raw, for rules: sums of struct live_ext as numbers, ticks as ns where y is meant. */
    double n, x, y, xx, xy, yy, ln, lx, ly, lxx, lxy, t, tt, ty;
    double allocs, alloc_bytes, repeats, last, low, high;
    double children_calls; /* direct */
    double below_ticks;    /* what all zones below cost */
    bool demoted, precise;
    uint64_t *hist; /* LIVE_BUCKETS words or NULL; in ticks */
    double raw_total; /* ns, nothing taken off */
    double squares;
    uint64_t min_ticks, max_ticks;
    /* While it is computed. */
    double inside;     /* ns of all rows directly below */
    double open_ticks; /* of what has not ended */
    double own_ticks, ticks_before, self_before; /* for the parts of threads */
};

struct zone_rows {
    struct zone_row *row;
    uint32_t n, n_threads;
    double ns_per_tick, all_ns; /* all_ns: self time of all rows */
    double wall_ns;             /* since the start or the last clear */
    double overhead_ns;
    uint64_t calls, lost[FATHOM_LOST_CAUSES];
    struct live_view view; /* of the region; rows' strings point into it */
    uint32_t *row_of;      /* view node -> row */
    double *part;          /* view node -> its thread's part of the row's self time, whole ns */
    void *memory;
    size_t bytes;
};

/* Of a region.  PER_THREAD keeps threads apart.  0 or FATHOM_E_*, with view.why set. */
int zone_rows_read(struct zone_rows *r, const void *data, size_t size, bool per_thread);
void zone_rows_free(struct zone_rows *r);
/* Whether a row is part of a context named NAME (NULL = all). */
bool zone_rows_in(const struct zone_rows *r, uint32_t row, const char *context);
/* "a/b/c" of a row, contexts left out; SEPARATOR between.  Returns the length it has. */
size_t zone_rows_path(const struct zone_rows *r, uint32_t row, char separator, char *text,
                      size_t cap);
const char *zone_rows_context(const struct zone_rows *r, uint32_t row); /* innermost, "" */
bool zone_row_is_timed(const struct zone_row *w); /* has a duration: zone, op, lock, frame */
/* In the tree of time, as zones, operations and waits for locks are; frames and held locks lie
 * across it. */
bool zone_row_is_nested(const struct zone_row *w);
double zone_percentile(const struct zone_row *w, double share, double ns_per_tick);

double zone_sqrt(double x);

#endif
