/* rt_result.h - what was measured, added up over threads and turned into nanoseconds: the
 * rows every report, export, baseline and rule looks at.  Memory is its own mapping.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RUNTIME_RT_RESULT_H
#define FATHOM_RUNTIME_RT_RESULT_H

#include "channel/live_read.h"

struct row {
    uint32_t parent;       /* lower index, or LIVE_NO_NODE */
    uint32_t child, next;  /* first child, next sibling, by total time; LIVE_NO_NODE = none */
    uint32_t depth, kind, line, context, task;
    const char *name, *file, *backend, *label, *thread;
    uint64_t count, untimed, open, threads;
    double total, self, min, max, mean, stddev, first; /* ns, own overhead taken off */
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
};

struct result {
    struct row *row;
    uint32_t n, n_threads;
    double ns_per_tick, all_ns; /* all_ns: self time of all rows */
    double wall_ns;             /* since the start or the last clear */
    double overhead_ns;
    uint64_t calls, lost[FATHOM_LOST_CAUSES];
    struct live_view view; /* of the region; rows' strings point into it */
    uint32_t *row_of;      /* view node -> row */
    void *memory;
    size_t bytes;
};

/* Of this process now.  PER_THREAD keeps threads apart.  0 or FATHOM_E_*. */
int rt_result_take(struct result *r, bool per_thread);
/* The same of any region. */
int rt_result_of(struct result *r, const void *data, size_t size, bool per_thread);
void rt_result_free(struct result *r);
/* Whether a row is part of a context named NAME (NULL = all). */
bool rt_result_in(const struct result *r, uint32_t row, const char *context);
/* "a/b/c" of a row, contexts left out; SEPARATOR between.  Returns the length it has. */
size_t rt_result_path(const struct result *r, uint32_t row, char separator, char *text,
                      size_t cap);
const char *rt_result_context(const struct result *r, uint32_t row); /* innermost, "" */
bool row_is_timed(const struct row *w); /* has a duration: zone, op, lock, frame */
double rt_percentile(const struct row *w, double share, double ns_per_tick);

double rt_sqrt(double x);

/* One sentence on standard error, by write(2): only for what the user must know. */
void rt_result_complain(const char *what, const char *about);

#endif
