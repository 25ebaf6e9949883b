/* live.h - the layout of libfathom's region, in memory and in the live file.
 *
 * The region is one mapping of 4 KiB pages, private to its process or shared through a file, so
 * that the data survives SIGKILL.  The program only adds to it.  A reader (the same process making
 * a report, or `fathom` opening the file of a dead one) uses live_read.c, which trusts nothing.
 * Pointers are addresses of the writing process: subtract header.base.
 *
 *   page 0      struct live_header
 *   page 1...   one byte per page of the region: enum live_kind
 *   then        pages in order of allocation, each of one kind:
 *     STRINGS   NUL-terminated text; a reference is the byte offset in the region
 *     NAMES     uint32_t references: the small numbers in backend and label (0 = none)
 *     CONTEXTS  struct live_context: the small numbers of contexts (0 = none)
 *     SITES     struct live_site, 64 bytes each; site id N is the Nth over all such pages
 *               in the order of live_header.site_page
 *     THREAD    struct live_thread
 *     NODES     slot 0 is struct live_slot0, then 31 struct fathom_node_; seq 0 = unused
 *     EXTRAS    slot 0 is struct live_slot0, then 15 struct live_ext
 *     HISTOGRAM uint64_t[512], see live_bucket()
 *     CHUNK     struct live_chunk, then 248 records from byte 128 on
 *
 * A record is {start ticks, duration << 24 | node}, where node is bits 7..30 of the node's
 * address.  Start 0 = not written.  Duration 2^40-1 = the next record is {duration, 0}; 2^40-2 = a
 * gauge, counter, pool or flow, and the next record is {value, 0}.
 *
 * Sums of doubles are stored as their bits in uint64_t, so that every word is written and read
 * atomically.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CHANNEL_LIVE_H
#define FATHOM_CHANNEL_LIVE_H

#include <stdint.h>
#include <string.h>

#define FATHOM_INSIDE_
#include "fathom.h"

#define LIVE_MAGIC "FTHMLIVE"

enum {
    LIVE_VERSION = 2,
    LIVE_PAGE = 4096,
    LIVE_HEAD = FATHOM_HEAD_, /* bytes before the records of a page */
    LIVE_RECORDS = (LIVE_PAGE - LIVE_HEAD) / 16,
    LIVE_BUCKETS = 512,
    LIVE_SITE_PAGES = 256,
    LIVE_SITES_PER_PAGE = 64,
    LIVE_MAX_SITES = LIVE_SITE_PAGES * LIVE_SITES_PER_PAGE,
    LIVE_MAX_NAMES = LIVE_PAGE / 4,
    LIVE_MAX_CONTEXTS = LIVE_PAGE / 8,
    LIVE_NODES_PER_PAGE = 32,
    LIVE_EXTS_PER_PAGE = 16,
    LIVE_SPARES = 4,
};

#define LIVE_LONG (((uint64_t)1 << 40) - 1)  /* the next record has the duration */
#define LIVE_VALUE (((uint64_t)1 << 40) - 2) /* the next record has a value */

enum live_kind { /* of a page */
    LIVE_FREE, LIVE_HEADER, LIVE_STRINGS, LIVE_NAMES, LIVE_CONTEXTS, LIVE_SITES, LIVE_THREAD,
    LIVE_NODES, LIVE_EXTRAS, LIVE_HISTOGRAM, LIVE_CHUNK, LIVE_OTHER
};

enum live_site_kind { /* struct fathom_stat.kind */
    LIVE_ZONE, LIVE_OP, LIVE_COUNTER, LIVE_GAUGE, LIVE_INSTANT, LIVE_FRAME, LIVE_LOCK_WAIT,
    LIVE_LOCK_HOLD, LIVE_POOL, LIVE_FLOW, LIVE_SITE_KINDS,
    LIVE_ROOT = 100, LIVE_CONTEXT /* nodes without a site */
};

enum live_special { /* reasons to leave a zone by the slow path */
    LIVE_COUNTED = 1, LIVE_SAMPLED = 2, LIVE_PRECISE = 4, LIVE_SLOW_CLOCK = 8, LIVE_IS_OP = 16,
    LIVE_IS_CONTEXT = 32, LIVE_CLEARED = 64 /* after a clear: discard old data first */
};

enum live_clock { LIVE_TICKS, LIVE_NANOSECONDS };

struct live_header {
    char magic[8];
    uint32_t version, page_bytes;
    uint64_t base, region_bytes;
    uint32_t n_pages, table_pages; /* n_pages: of the region; the table starts at page 1 */
    uint32_t next_page;            /* first unused; may exceed n_pages */
    uint32_t clock;                /* enum live_clock */
    /* Two readings of both clocks; the second is updated over time. */
    uint64_t start_ticks, start_ns, last_ticks, last_ns, start_realtime_ns;
    uint64_t boot;                 /* live_boot_id(): readers compare it with their own */
    uint64_t cleared_ticks;        /* earlier records belong to an older epoch */
    uint64_t epoch;                /* +1 at every clear; threads of an older one are empty */
    struct live_cost { /* of an empty zone in ticks: as it measures itself, and in total */
        uint64_t inner, pair;
    } cost[2];                     /* plain, and with a fenced end */
    uint64_t lost[8];              /* by enum fathom_loss; threads count their own */
    uint32_t pid, parent_pid;
    uint32_t n_sites, n_names, n_contexts, n_nodes;
    uint32_t names_page, contexts_page; /* page numbers */
    uint32_t no_percentiles;       /* 1: scratch pages are unused and never folded */
    uint32_t finished;             /* 1: the program has ended and reported */
    char comm[16];
    uint32_t site_page[LIVE_SITE_PAGES];
};

struct live_context {
    uint32_t parent, name; /* context number, name number */
};

struct live_site {
    uint32_t name, file, func, group; /* text references */
    uint32_t line, kind, mode, sample;
    uint32_t demoted, spare[7];
};

struct live_slot0 {
    uint64_t next, thread; /* addresses: the next page of this kind, the owner */
};

struct live_thread {
    struct fathom_thread_ hot;
    uint64_t next;  /* address of another thread's page */
    uint64_t root;  /* node */
    uint64_t epoch;
    uint32_t tid, name; /* tid 0: ended threads of this name, merged */
    uint32_t state; /* 0 unused, 1 running, 2 ended */
    uint32_t ended; /* threads merged here */
    uint64_t lost[8];
    uint64_t start_ticks, end_ticks;
    /* Only the owner uses the rest. */
    uint64_t oldest;              /* the first trace page */
    uint64_t node_page, ext_page; /* newest; older ones through slot 0 */
    uint64_t node_next, ext_next; /* next free slot; at the start of a page: none */
    uint64_t spare[LIVE_SPARES];  /* empty scratch pages; the last is a trace page */
    uint64_t waiting[LIVE_SPARES]; /* full pages that a handler must not fold */
    uint32_t busy, trace_full;    /* busy: depth inside the library */
    uint64_t random, folded_ticks;
};

struct live_ext { /* operations, sampled sites, sites that allocate, gauges */
    uint64_t untimed, allocs;
    uint64_t bytes, work, alloc_bytes;         /* doubles, like all below */
    uint64_t x, xx, xy;                        /* sums for a fit of ticks over bytes */
    uint64_t ln, lx, ly, lxx, lxy;             /* for log ticks over log bytes */
    uint64_t t, tt, ty;                        /* for ticks over seconds since the start */
    uint64_t key[4], key_at, repeats;          /* most recent sizes and tags */
    uint64_t last, low, high;                  /* values of a gauge, use of a pool */
    uint64_t skip, spare[6];
};

struct live_chunk {
    uint32_t tid, name, trace, spare; /* trace 0: the scratch page, folded when full */
    uint64_t opened, next;            /* ticks; the next trace page of the thread */
};

_Static_assert(sizeof(struct fathom_node_) == 128, "node");
_Static_assert(sizeof(struct live_ext) == 256, "ext");
_Static_assert(sizeof(struct live_site) == 64, "site");
_Static_assert(sizeof(struct live_chunk) == 32, "chunk");
_Static_assert(sizeof(struct live_thread) <= LIVE_PAGE, "thread");
_Static_assert(sizeof(struct live_header) <= LIVE_PAGE, "header");

/* Log-linear: 16 buckets per doubling, exact below 32; the last holds everything from 2^35 on. */
#define LIVE_LONGEST ((uint64_t)1 << 35)
static inline uint32_t live_bucket_of(uint64_t ticks) /* below LIVE_LONGEST */
{
    uint32_t top = 63 - (uint32_t)__builtin_clzll(ticks | 16);

    return (top - 4) * 16 + (uint32_t)(ticks >> (top - 4));
}

static inline uint32_t live_bucket(uint64_t ticks)
{
    return ticks < LIVE_LONGEST ? live_bucket_of(ticks) : LIVE_BUCKETS - 1;
}
_Static_assert(LIVE_BUCKETS == (34 - 4) * 16 + 32, "a bucket for all below LIVE_LONGEST");

static inline double live_bucket_low(uint32_t bucket)
{
    if (bucket < 16)
        return bucket;
    return (double)((uint64_t)(16 + bucket % 16) << (bucket / 16 - 1));
}

static inline double live_double(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, 8);
    return x;
}

static inline uint64_t live_bits(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, 8);
    return bits;
}

#endif
