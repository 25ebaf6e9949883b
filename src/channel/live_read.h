/* live_read.h - read a region of libfathom, of this process while it runs or from the file of a
 * dead one.  Nothing in it is trusted; invalid parts are skipped and counted in `bad`.  Libc only,
 * no malloc: this also runs inside profiled programs.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CHANNEL_LIVE_READ_H
#define FATHOM_CHANNEL_LIVE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel/live.h"

#define LIVE_NO_NODE UINT32_MAX

struct live_task { /* a thread, or the ended threads of one name */
    uint64_t page;  /* page number in the region */
    uint32_t tid, ended;
    bool trace_full; /* records go to the scratch page only */
    const char *name;
    uint64_t lost[FATHOM_LOST_CAUSES];
};

struct live_node { /* times in ticks */
    uint32_t parent; /* a lower index, or LIVE_NO_NODE for a root */
    uint32_t task, kind, line, seq;
    uint32_t context; /* number of a context node, else 0 */
    const char *name, *file, *func, *group, *backend, *label;
    uint64_t count, total, min, max, first;
    double squares;
    bool is_open, is_demoted, is_traced, is_precise;
    uint64_t open_since;
    const uint64_t *hist;       /* LIVE_BUCKETS words or NULL; read with live_word */
    const struct live_ext *ext; /* or NULL; likewise */
};

struct live_record {
    uint32_t node, tid;
    const char *thread;
    uint64_t start, duration; /* ticks */
    uint64_t value;           /* bits, when has_value */
    bool has_value, in_trace; /* not in_trace: not yet in its histogram */
};

struct live_view {
    const unsigned char *data;
    size_t size;
    struct live_header head;
    struct live_task *task;
    uint32_t n_tasks;
    struct live_node *node; /* parents before children */
    uint32_t n_nodes;
    uint64_t bad;      /* invalid parts, skipped */
    uint64_t now;      /* the latest known tick */
    const char *why;   /* error message */
    uint32_t *index;   /* slot -> node, per page of nodes */
    /* Page -> for a page of nodes, its first slot + 1; of a thread, its task + 1; for a histogram,
     * 1 if a node has it. */
    uint32_t *page_at;
    uint32_t n_slots;
    size_t bytes;      /* size of the mapping that holds all arrays */
    void *memory;
};

/* Returns 0, or -1 with why set.  DATA must stay valid until live_close. */
int live_open(struct live_view *v, const void *data, size_t size);
void live_close(struct live_view *v);
/* Visit every remaining record, page by page.  Pages are in no particular order of time. */
void live_each_record(const struct live_view *v,
                      void (*visit)(const struct live_record *, void *), void *arg);

static inline uint64_t live_word(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* CLOCK_MONOTONIC in nanoseconds at a tick; length of a tick in nanoseconds. */
double live_ns_per_tick(const struct live_header *h);
double live_ns_at(const struct live_header *h, uint64_t ticks);

/* Identifies this boot of this machine; 0 when unknown. */
uint64_t live_boot_id(void);

/* Sort in place without recursion or allocation: qsort may call malloc. */
void live_sort_u64(uint64_t *key, size_t n);

#endif
