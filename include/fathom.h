/* fathom.h - measure a program from inside.  C11 or C++11, Linux; libc only.
 *
 *     #include <fathom.h>
 *     void step(void) { FATHOM_ZONE("step"); ... }
 *
 *     cc prog.c -lfathom && FATHOM_PROFILE=1 ./a.out
 *
 * prints where the time went, at exit.  Without FATHOM_PROFILE, a zone costs one load and one
 * predicted branch; compiled with -DFATHOM_OFF, nothing, and the library is not needed.
 *
 * Rules.  Every call is thread-safe.  Those marked [signal] may also run in a signal handler.
 * Nothing on the measuring side calls malloc, blocks, prints, aborts or changes errno; when
 * memory is full, an event is dropped and counted.  Names are copied at first use and need not
 * outlive it.  Zones of one thread nest: the one begun last ends first.
 *
 * Environment (read once, when the library is loaded):
 *     FATHOM_PROFILE=1                   table at exit on standard error
 *     FATHOM_PROFILE=FORMAT[:PATH]       at exit; FORMAT is table, compact, json, csv (to
 *                                        standard error without PATH), trace or fathom,
 *                                        collapsed, chrome; `fathom export` converts a
 *                                        .fathom file to other formats
 *     FATHOM_MODE=off|count|aggregate|trace|precise    for every site
 *     FATHOM_MEMORY=64M                  limit on the memory of the library
 *     FATHOM_DISK=1G                     limit on the live file of a trace
 *     FATHOM_BUDGET=5                    demote sites that cost more than 5 % of a thread
 *     FATHOM_KEEP=first|last             which trace records to keep when memory is full
 *     FATHOM_LIVE=PATH                   store the data in this file: it survives SIGKILL
 *     FATHOM_RECORD_DIR=DIR              set by `fathom record`: join that recording
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_H
#define FATHOM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Vocabulary ---------------------------------------------------------------------- */

enum fathom_mode {
    FATHOM_MODE_OFF,       /* one load and a branch */
    FATHOM_MODE_COUNT,     /* count the calls, read no clock */
    FATHOM_MODE_AGGREGATE, /* count, total, min, max, deviation, percentiles per call path */
    FATHOM_MODE_TRACE,     /* the same, and a 16-byte record of every zone */
    FATHOM_MODE_PRECISE    /* trace; the end waits for earlier instructions (fenced clock) */
};

enum fathom_format {
    FATHOM_TABLE,
    FATHOM_COMPACT,    /* one line per operation, for logs */
    FATHOM_JSON,
    FATHOM_CSV,
    FATHOM_FILE,       /* .fathom: opens in every fathom command */
    FATHOM_COLLAPSED,  /* a;b;c nanoseconds */
    FATHOM_CHROME      /* chrome://tracing, Perfetto UI */
}; /* `fathom export` converts a .fathom file to other formats */

/* Functions return 0 or a positive result, or one of these errors. */
enum fathom_error {
    FATHOM_E_SYSTEM = -1,  /* a system call failed: see errno */
    FATHOM_E_FORMAT = -2,  /* unknown format, or an invalid file */
    FATHOM_E_MEMORY = -3,  /* the memory limit is reached */
    FATHOM_E_STATE = -4,   /* not started, or already started */
    FATHOM_E_MISSING = -5  /* no such name */
};

/* Why data was not kept.  Every report and export contains these counts. */
enum fathom_loss {
    FATHOM_LOST_TRACE,   /* trace records dropped or overwritten: memory full */
    FATHOM_LOST_NODE,    /* zones not measured: no memory for a new call path */
    FATHOM_LOST_THREAD,  /* zones not measured: no memory for a new thread */
    FATHOM_LOST_SIGNAL,  /* a signal handler interrupted the library on its thread */
    FATHOM_LOST_LABEL,   /* labels beyond the limit per site, counted as "other" */
    FATHOM_LOST_UNTRACED,/* histogram values not kept: no memory for the histogram */
    FATHOM_LOST_CAUSES
};

struct fathom_config {
    size_t size;           /* = sizeof(struct fathom_config) */
    uint64_t memory_bytes; /* hard cap, 0 = 64 MiB; at least 1 MiB, at most 2 GiB */
    const char *live_path; /* file to store the data in, so that it survives SIGKILL; or NULL */
    int mode;              /* enum fathom_mode for every site; 0 = aggregate */
    int keep_last;         /* when the trace is full: 0 keep the first records, 1 the last */
    int no_percentiles;    /* 1: no histograms (saves 2 ns a zone) */
    double budget_pct;     /* demote sites above this share of a thread; 0 = never */
    uint64_t disk_bytes;   /* cap on the live file, for the trace; at most 2 GiB.  0 = 1 GiB, or
                              memory_bytes on tmpfs or with keep_last */
};

/* One line of a report. */
struct fathom_stat {
    size_t size;
    const char *name, *path, *context, *backend, *label, *thread, *file;
    uint32_t line;
    int kind;                /* 0 zone, 1 operation, 2 counter, 3 gauge, 4 instant, 5 frame,
                                6 lock wait, 7 lock hold, 8 pool, 9 flow */
    uint64_t count, timed;   /* calls; calls that read the clock (fewer when sampled) */
    uint64_t open;           /* 1 when a zone of this path had not ended yet */
    double total_ns, self_ns, min_ns, max_ns, mean_ns, stddev_ns, first_ns;
    double p50_ns, p90_ns, p99_ns, p999_ns;
    double bytes, bytes_per_s; /* operations; counters: the sum; gauges: the last value */
    double share;            /* self time / all self time of the report */
    double raw_total_ns, raw_min_ns; /* not calibrated: including the cost of measuring */
};

/* A schedule.  Call fathom_step() once per iteration.  Measuring is off for SKIP steps once, then
 * in a cycle: off for WAIT steps, on but discarded for WARMUP, on for ACTIVE.  ready(arg) is
 * called after the last active step and can read the data.  REPEAT 0 = forever. */
struct fathom_plan {
    uint32_t skip, wait, warmup, active, repeat;
};

/* Advice; every figure in it was measured.  The example is in the language of the
 * source file (C, C++, Rust, Python, by its name). */
struct fathom_advice {
    size_t size;
    const char *rule, *priority; /* "batch", "HIGH" | "MEDIUM" | "LOW" */
    const char *title, *evidence, *estimate, *description, *example;
    const char *name, *path;
    double gain; /* bound on the share of the time that could be saved: 0.25 = 25 % */
};

/* A zone slower than its baseline. */
struct fathom_slower {
    size_t size;
    const char *path;
    double factor, was_ns, now_ns; /* mean per call */
    double calls_factor, bytes_factor; /* per-run calls and mean size, now / then */
    const char *cause; /* "more calls", "larger sizes", "slower per call" */
};

/* Times of a lock.  Static, or embedded next to the lock; zeroed except for the name. */
struct fathom_lock {
    const char *name;
    struct fathom_site *wait, *hold;
    uint64_t held_since;
};

/* ---- Control ------------------------------------------------------------------------- */

#ifndef FATHOM_OFF

#if defined(__GNUC__)
#define FATHOM_API __attribute__((visibility("default")))
#else
#error "fathom.h needs gcc or clang"
#endif

/* Start measuring; CFG may be NULL.  The library starts by itself when FATHOM_PROFILE or
 * FATHOM_RECORD_DIR is set, and then FATHOM_E_STATE is returned and nothing changes. */
FATHOM_API int fathom_start(const struct fathom_config *cfg);
FATHOM_API int fathom_enable(void);  /* set all sites to their mode; start if needed */
FATHOM_API void fathom_disable(void); /* turn all sites off, keep the measurements */
FATHOM_API int fathom_enabled(void);
FATHOM_API void fathom_clear(void);  /* discard the measurements and continue */
/* PATTERN is a group ("net"), a name, or either with * ("net*"); also applies to
 * later sites.  Returns the number of known sites that changed. */
FATHOM_API int fathom_mode(const char *pattern, enum fathom_mode mode);
/* Read the clock on every Nth call only (random phase); every call is still counted. */
FATHOM_API int fathom_sample(const char *pattern, uint32_t every);

FATHOM_API int fathom_schedule(const struct fathom_plan *plan, void (*ready)(void *), void *arg);
FATHOM_API void fathom_step(void);

/* ---- Results ------------------------------------------------------------------------- */

/* Call VISIT for each line, sorted by self time.  CONTEXT NULL = everything, else only what
 * ran inside a context of that name.  Threads are summed unless PER_THREAD.  Strings
 * are valid until VISIT returns.  Returns the number of lines. */
FATHOM_API int fathom_each(const char *context, int per_thread,
                           void (*visit)(const struct fathom_stat *, void *), void *arg);
/* FORMAT is FATHOM_TABLE, COMPACT, JSON or CSV. */
FATHOM_API int fathom_report(FILE *to, enum fathom_format format, const char *context);
FATHOM_API int fathom_export(const char *path, enum fathom_format format);
/* Write the report as text, at most CAP bytes including the NUL.  Returns the full length. */
FATHOM_API long fathom_report_text(char *text, size_t cap, enum fathom_format format,
                                   const char *context);
FATHOM_API uint64_t fathom_lost(enum fathom_loss cause);
/* Approximate time spent in the library, over all threads, and memory in use. */
FATHOM_API uint64_t fathom_overhead_ns(void);
FATHOM_API uint64_t fathom_memory_bytes(void);

/* Call VISIT for each piece of advice, strongest first. */
FATHOM_API int fathom_advise(void (*visit)(const struct fathom_advice *, void *), void *arg);

/* Baselines.  Save the measurements of one run and check another against them: VISIT is called
 * for each zone whose time per run is more than TOLERANCE (0.1 = 10 %) above its baseline.
 * Returns their number, or a negative error. */
FATHOM_API int fathom_save_baseline(const char *path);
FATHOM_API int fathom_check_baseline(const char *path, double tolerance,
                                     void (*visit)(const struct fathom_slower *, void *),
                                     void *arg);

/* ---- Time ---------------------------------------------------------------------------- */

FATHOM_API uint64_t fathom_now_ns(void); /* [signal] CLOCK_MONOTONIC */

/* Ticks of the cycle counter, or nanoseconds if there is no reliable one. */
static inline uint64_t fathom_cycles(void) /* [signal] */
{
#if defined(__x86_64__)
    uint32_t lo, hi;

    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (uint64_t)hi << 32 | lo;
#elif defined(__aarch64__)
    uint64_t t;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return fathom_now_ns();
#endif
}

/* ---- Internal: the measuring path.  Do not use anything below by name, except the macros at
 *      the end. ------------------------------------------------------------------ */

struct fathom_site { /* one place in the program; static, one per macro */
    uint32_t mode;   /* 0 off, 1 measure here, else fathom_begin_() decides */
    uint32_t id;     /* 0 until known to the library */
    const char *name, *file, *func, *group;
    uint32_t line, kind;
    uint32_t sample; /* requested 1/N, 0 = none */
    uint32_t mode_wanted;
} __attribute__((aligned(64)));

struct fathom_node_ { /* one call path of one thread; 128 bytes, lives in the shared region */
    struct fathom_node_ *parent;
    struct fathom_site *site;
    uint64_t *ring;
    uint64_t count, total, min, max; /* clock ticks */
    uint64_t squares;                /* sum of squared ticks, the bits of a double */
    uint64_t open;                   /* start of the zone that has not ended; 1: being counted.
                                        For ended threads: the maximum over them */
    uint32_t special;                /* not 0: fathom_end_() */
    uint32_t site_id;
    uint64_t hist, ext;              /* addresses in the region, 0 = none */
    uint64_t child, sibling;         /* lists, of the owning thread only */
    uint64_t first;                  /* ticks of the first call */
    uint32_t seq;                    /* order of creation, from 1: a parent has a lower one */
    uint16_t backend, label;         /* string numbers */
} __attribute__((aligned(128)));

enum { FATHOM_CACHE_ = 256, FATHOM_PAGE_ = 4096, FATHOM_HEAD_ = 128 };

/* A ring is one word: the address of the next free record.  No record lies in the first
 * FATHOM_HEAD_ bytes of a page, so an address there means that the previous page is full.  One
 * instruction takes a record and one opens a page, so a handler never sees half of either. */
struct fathom_thread_ { /* first in a page of the shared region */
    struct fathom_node_ *cur;
    uint64_t ring[2]; /* scratch, trace */
    struct fathom_node_ *cache[FATHOM_CACHE_];
};

struct fathom_zone {
    struct fathom_node_ *node; /* NULL: not measured */
    uint64_t start;
};

struct fathom_op {
    struct fathom_zone zone;
    uint64_t bytes, work, tag;
};

FATHOM_API extern __thread struct fathom_thread_ *fathom_thread_now_
    __attribute__((tls_model("initial-exec")));

FATHOM_API struct fathom_zone fathom_begin_(struct fathom_site *site);
FATHOM_API void fathom_end_(struct fathom_zone *z);
FATHOM_API struct fathom_node_ *fathom_child_(struct fathom_thread_ *t, struct fathom_site *s);
FATHOM_API void fathom_full_(struct fathom_node_ *n, uint64_t start, uint64_t word);
FATHOM_API void fathom_sites_add_(struct fathom_site *from, struct fathom_site *to);
/* TO NULL: all sites of the program or library that contains FROM. */
FATHOM_API void fathom_sites_remove_(const void *from, const void *to);

#define FATHOM_GET_(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define FATHOM_PUT_(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define FATHOM_RARE_(x) __builtin_expect(!!(x), 0)
#define FATHOM_ORDER_() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* Slot of a path in the thread's cache. */
static inline uint32_t fathom_slot_(const struct fathom_node_ *parent,
                                    const struct fathom_site *site)
{
    return (uint32_t)(((uintptr_t)parent >> 7) * 5 + ((uintptr_t)site >> 6)) %
           FATHOM_CACHE_;
}

/* Take one record.  A plain (not locked) xadd is one instruction, so a signal handler on this
 * thread takes another one. */
static inline uint64_t fathom_take_(uint64_t *ring, uint64_t bytes)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("xaddq %0, %1" : "+r"(bytes), "+m"(*ring)::"cc");
    return bytes;
#else
    return __atomic_fetch_add(ring, bytes, __ATOMIC_RELAXED);
#endif
}

/* A handler may run between any two stores.  It only touches nodes below cur and restores cur.
 * Therefore begin stores cur first and end stores it last.  Only clear() touches all nodes,
 * and it waits for nodes that are being counted (open 1). */
static inline struct fathom_zone fathom_begin(struct fathom_site *site) /* [signal] */
{
    struct fathom_zone z = { NULL, 0 };
    uint32_t mode = FATHOM_GET_(site->mode);

    if (FATHOM_RARE_(mode)) {
        struct fathom_thread_ *t = fathom_thread_now_;
        struct fathom_node_ *cur, *n;

        if (FATHOM_RARE_(mode != 1 || !t))
            return fathom_begin_(site);
        cur = t->cur;
        n = t->cache[fathom_slot_(cur, site)];
        if (FATHOM_RARE_(!n || n->parent != cur || FATHOM_GET_(n->site) != site)) {
            n = fathom_child_(t, site);
            if (!n)
                return z;
        }
        FATHOM_PUT_(t->cur, n);
        FATHOM_ORDER_();
        z.node = n;
        z.start = fathom_cycles();
        FATHOM_PUT_(n->open, z.start);
    }
    return z;
}

/* Count D ticks, write the record {start, ticks << 24 | node}, leave the zone. */
static inline void fathom_count_(struct fathom_node_ *n, uint64_t start, uint64_t d)
{
    uint64_t *ring = FATHOM_GET_(n->ring);
    uint64_t word = d << 24 | ((uintptr_t)n >> 7 & 0xffffff), at, bits;
    double squares;

    FATHOM_PUT_(n->count, n->count + 1);
    FATHOM_PUT_(n->total, n->total + d);
    if (FATHOM_RARE_(d < n->min)) {
        if (n->min == UINT64_MAX)
            FATHOM_PUT_(n->first, d);
        FATHOM_PUT_(n->min, d);
    }
    if (FATHOM_RARE_(d > n->max))
        FATHOM_PUT_(n->max, d);
    memcpy(&squares, &n->squares, 8);
    squares += (double)(int64_t)d * (double)(int64_t)d;
    memcpy(&bits, &squares, 8);
    FATHOM_PUT_(n->squares, bits);
    at = fathom_take_(ring, 16);
    if (FATHOM_RARE_(at % FATHOM_PAGE_ < FATHOM_HEAD_ || d >> 40)) {
        fathom_full_(n, start, d);
    } else {
        uint64_t *record = (uint64_t *)(uintptr_t)at;

        FATHOM_PUT_(record[1], word);
        FATHOM_PUT_(record[0], start);
    }
    FATHOM_ORDER_();
}

static inline void fathom_end(struct fathom_zone *z) /* [signal] */
{
    struct fathom_node_ *n = z->node;

    if (FATHOM_RARE_(n != NULL)) {
        uint64_t now;

        if (FATHOM_RARE_(FATHOM_GET_(n->special) || !z->start)) {
            if (z->start)
                fathom_end_(z);
            else
                FATHOM_PUT_(fathom_thread_now_->cur, n->parent); /* counted, not timed */
            return;
        }
        FATHOM_PUT_(n->open, 1);
        FATHOM_ORDER_();
        now = fathom_cycles();
        fathom_count_(n, z->start, now - z->start);
        FATHOM_PUT_(fathom_thread_now_->cur, n->parent);
    }
}

/* End *Z and begin SITE with one clock read. */
static inline void fathom_lap(struct fathom_zone *z, struct fathom_site *site) /* [signal] */
{
    struct fathom_node_ *n = z->node, *next;
    struct fathom_thread_ *t;
    uint64_t now;

    if (FATHOM_RARE_(!n || !z->start || FATHOM_GET_(n->special) ||
                     FATHOM_GET_(site->mode) != 1)) {
        fathom_end(z);
        *z = fathom_begin(site);
        return;
    }
    t = fathom_thread_now_;
    FATHOM_PUT_(n->open, 1);
    FATHOM_ORDER_();
    now = fathom_cycles();
    fathom_count_(n, z->start, now - z->start);
    FATHOM_PUT_(t->cur, n->parent);
    next = t->cache[fathom_slot_(n->parent, site)];
    if (FATHOM_RARE_(!next || next->parent != n->parent || FATHOM_GET_(next->site) != site))
        next = fathom_child_(t, site);
    z->node = next;
    z->start = now;
    if (next) {
        FATHOM_PUT_(t->cur, next);
        FATHOM_PUT_(next->open, now);
    }
}

FATHOM_API struct fathom_op fathom_op_begin_(struct fathom_site *s, uint64_t bytes,
                                             const char *backend);
FATHOM_API void fathom_op_end_(struct fathom_op *op);
FATHOM_API void fathom_event_(struct fathom_site *s, double value, uint64_t id,
                              const char *label);
FATHOM_API void fathom_pool_(struct fathom_site *s, int64_t bytes);
FATHOM_API void fathom_context_push_(struct fathom_zone *z, const char *name);
FATHOM_API void fathom_context_pop_(struct fathom_zone *z);

/* ---- Explicit calls ------------------------------------------------------------------ */

/* Create a site at run time, for bindings and generated names; the same arguments always
 * return the same site.  NULL when memory is full, which fathom_begin_at accepts.  KIND as in
 * struct fathom_stat.  Not for hot loops: keep the result. */
FATHOM_API struct fathom_site *fathom_site_get(const char *name, const char *group,
                                               const char *file, uint32_t line, int kind);

/* Set facts about an operation, at any time before its end. */
static inline void fathom_op_bytes(struct fathom_op *op, uint64_t bytes) { op->bytes = bytes; }
static inline void fathom_op_work(struct fathom_op *op, uint64_t work) { op->work = work; }
/* A checksum of the input.  Equal size and tag mean repeated work. */
static inline void fathom_op_tag(struct fathom_op *op, uint64_t tag) { op->tag = tag; }
/* Set the implementation ("cpu", "avx2", "gpu"), or a label such as worker="0": the operation
 * then has its own line in reports.  LABEL is name="value"; at most 64 of them per site. */
FATHOM_API void fathom_op_backend(struct fathom_op *op, const char *backend);
FATHOM_API void fathom_op_label(struct fathom_op *op, const char *label);

static inline struct fathom_op fathom_op_begin(struct fathom_site *s, uint64_t bytes,
                                               const char *backend)
{
    struct fathom_op op = { { NULL, 0 }, 0, 0, 0 };

    if (FATHOM_RARE_(FATHOM_GET_(s->mode)))
        return fathom_op_begin_(s, bytes, backend);
    return op;
}

static inline void fathom_op_end(struct fathom_op *op)
{
    if (FATHOM_RARE_(op->zone.node != NULL))
        fathom_op_end_(op);
}

FATHOM_API void fathom_thread_name(const char *name); /* of the calling thread */

/* Contexts: what a zone belongs to.  They nest, and cross threads by handle. */
typedef uint32_t fathom_context;
FATHOM_API fathom_context fathom_context_now(void); /* 0 = none */
/* Enter the context of a handle on this thread; ends like a zone, with fathom_context_leave. */
FATHOM_API struct fathom_zone fathom_context_enter(fathom_context c);
FATHOM_API void fathom_context_leave(struct fathom_zone *z);

/* Locks: time waited and time held. */
FATHOM_API struct fathom_zone fathom_lock_wait(struct fathom_lock *l); /* before locking */
FATHOM_API void fathom_lock_got(struct fathom_lock *l, struct fathom_zone *z); /* after */
FATHOM_API void fathom_lock_release(struct fathom_lock *l); /* before unlocking */

/* ---- Macros for programs --------------------------------------------------------------- */

#ifndef FATHOM_GROUP /* define before including to name this file's group of sites */
#define FATHOM_GROUP "app"
#endif

#define FATHOM_CAT2_(a, b) a##b
#define FATHOM_CAT_(a, b) FATHOM_CAT2_(a, b)

/* In C, the sites of a program or library form one array, known at load time.  In C++, a static
 * of an inline function cannot be in a named section, so a site registers itself (mode 2)
 * when it runs for the first time, on the same branch. */
#ifdef __cplusplus
#define FATHOM_SITE_(var, name, kind, every)                                              \
    static struct fathom_site var = { 2,        0, name, __FILE__, __func__, FATHOM_GROUP, \
                                      __LINE__, kind, every, 0 }
#else
#define FATHOM_SITE_(var, name, kind, every)                                                \
    static struct fathom_site __attribute__((section("fathom_sites"), used)) var = {        \
        0, 0, name, __FILE__, __func__, FATHOM_GROUP, __LINE__, kind, every, 0              \
    }
#endif

/* Measure from here to any exit from the block. */
#define FATHOM_ZONE(name) FATHOM_ZONE_V(FATHOM_CAT_(fathom_zone_, __LINE__), name)
#define FATHOM_FUNC() FATHOM_ZONE(__func__)
/* The same, but time only 1 of EVERY calls; all are counted. */
#define FATHOM_ZONE_N(name, every)                                                        \
    FATHOM_SITE_(FATHOM_CAT_(fathom_site_, __LINE__), name, 0, every);                    \
    struct fathom_zone FATHOM_CAT_(fathom_zone_, __LINE__)                                \
        __attribute__((cleanup(fathom_end), unused)) =                                    \
            fathom_begin(&FATHOM_CAT_(fathom_site_, __LINE__))
/* A zone with its own variable: for FATHOM_LAP, and for several zones on one line. */
#define FATHOM_ZONE_V(var, name)                                                          \
    FATHOM_SITE_(FATHOM_CAT_(var, _site), name, 0, 0);                                    \
    struct fathom_zone var __attribute__((cleanup(fathom_end), unused)) =                 \
        fathom_begin(&FATHOM_CAT_(var, _site))
/* From here to fathom_end(&var), in one function. */
#define FATHOM_BEGIN(var, name)                                                           \
    FATHOM_SITE_(FATHOM_CAT_(var, _site), name, 0, 0);                                    \
    struct fathom_zone var = fathom_begin(&FATHOM_CAT_(var, _site))
#define FATHOM_END(var) fathom_end(&(var))
/* End the zone VAR and begin the next phase with one clock read. */
#define FATHOM_LAP(var, name)                                                             \
    do {                                                                                  \
        FATHOM_SITE_(fathom_lap_site, name, 0, 0);                                        \
        fathom_lap(&(var), &fathom_lap_site);                                             \
    } while (0)

/* An operation: a zone with a size in bytes and a backend.  OP_V names its variable, so that facts
 * can be set later. */
#define FATHOM_OP(name, bytes, backend)                                                   \
    FATHOM_OP_V(FATHOM_CAT_(fathom_op_, __LINE__), name, bytes, backend)
#define FATHOM_OP_V(var, name, bytes, backend)                                            \
    FATHOM_SITE_(FATHOM_CAT_(var, _site), name, 1, 0);                                    \
    struct fathom_op var __attribute__((cleanup(fathom_op_end), unused)) =                \
        fathom_op_begin(&FATHOM_CAT_(var, _site), (bytes), (backend))

#define FATHOM_EVENT_(name, kind, value, id, label)                                       \
    do {                                                                                  \
        FATHOM_SITE_(fathom_event_site, name, kind, 0);                                   \
        if (FATHOM_RARE_(FATHOM_GET_(fathom_event_site.mode)))                            \
            fathom_event_(&fathom_event_site, (double)(value), (id), (label));            \
    } while (0)
#define FATHOM_COUNT(name, delta) FATHOM_EVENT_(name, 2, delta, 0, NULL)
#define FATHOM_COUNT_L(name, delta, label) FATHOM_EVENT_(name, 2, delta, 0, label)
#define FATHOM_GAUGE(name, value) FATHOM_EVENT_(name, 3, value, 0, NULL)
#define FATHOM_GAUGE_L(name, value, label) FATHOM_EVENT_(name, 3, value, 0, label)
#define FATHOM_INSTANT(name) FATHOM_EVENT_(name, 4, 0, 0, NULL)
/* Call once per frame or iteration; the report shows the time from call to call. */
#define FATHOM_FRAME(name) FATHOM_EVENT_(name, 5, 0, 0, NULL)
/* The same ID on two threads draws an arrow from one to the other. */
#define FATHOM_FLOW(name, id) FATHOM_EVENT_(name, 9, 0, id, NULL)

/* A named memory pool: bytes in use, the peak, and the zones that allocate. */
#define FATHOM_POOL_(name, bytes)                                                         \
    do {                                                                                  \
        FATHOM_SITE_(fathom_pool_site, name, 8, 0);                                       \
        if (FATHOM_RARE_(FATHOM_GET_(fathom_pool_site.mode)))                             \
            fathom_pool_(&fathom_pool_site, (bytes));                                     \
    } while (0)
#define FATHOM_ALLOC(pool, bytes) FATHOM_POOL_(pool, (int64_t)(bytes))
#define FATHOM_FREE(pool, bytes) FATHOM_POOL_(pool, -(int64_t)(bytes))

/* Everything to the end of the block belongs to the context NAME. */
#define FATHOM_CONTEXT(name)                                                              \
    struct fathom_zone FATHOM_CAT_(fathom_context_, __LINE__)                             \
        __attribute__((cleanup(fathom_context_pop_), unused)) = { NULL, 0 };              \
    fathom_context_push_(&FATHOM_CAT_(fathom_context_, __LINE__), name)

#if defined(FATHOM_INSIDE_) /* the library itself has no sites */
#elif defined(__cplusplus)
__attribute__((destructor)) static void fathom_unload_(void)
{
    fathom_sites_remove_(reinterpret_cast<const void *>(&fathom_unload_), NULL);
}
#else
extern struct fathom_site __start_fathom_sites[]
    __attribute__((weak, visibility("hidden")));
extern struct fathom_site __stop_fathom_sites[] __attribute__((weak, visibility("hidden")));
__attribute__((constructor)) static void fathom_load_(void)
{
    fathom_sites_add_(__start_fathom_sites, __stop_fathom_sites);
}
__attribute__((destructor)) static void fathom_unload_(void)
{
    fathom_sites_remove_(__start_fathom_sites, __stop_fathom_sites);
}
#endif

#else /* FATHOM_OFF: no code remains, and no library is needed */

typedef uint32_t fathom_context;
struct fathom_site { int unused; };
struct fathom_zone { int unused; };
struct fathom_op { int unused; };

/* The clocks remain available. */
static inline uint64_t fathom_now_ns(void)
{
    struct timespec t;

#ifdef CLOCK_MONOTONIC
    clock_gettime(CLOCK_MONOTONIC, &t);
#else
    timespec_get(&t, TIME_UTC);
#endif
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t fathom_cycles(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return fathom_now_ns();
#endif
}

static inline int fathom_nothing_(void) { return 0; }
static inline struct fathom_zone fathom_no_zone_(void)
{
    struct fathom_zone z = { 0 };

    return z;
}

static inline struct fathom_op fathom_no_op_(void)
{
    struct fathom_op op = { 0 };

    return op;
}

#define FATHOM_ZONE(name) ((void)0)
#define FATHOM_FUNC() ((void)0)
#define FATHOM_ZONE_N(name, every) ((void)0)
#define FATHOM_ZONE_V(var, name) ((void)0)
#define FATHOM_BEGIN(var, name) ((void)0)
#define FATHOM_END(var) ((void)0)
#define FATHOM_LAP(var, name) ((void)0)
#define FATHOM_OP(name, bytes, backend) ((void)0)
#define FATHOM_OP_V(var, name, bytes, backend) struct fathom_op var __attribute__((unused))
#define FATHOM_COUNT(name, delta) ((void)0)
#define FATHOM_COUNT_L(name, delta, label) ((void)0)
#define FATHOM_GAUGE(name, value) ((void)0)
#define FATHOM_GAUGE_L(name, value, label) ((void)0)
#define FATHOM_INSTANT(name) ((void)0)
#define FATHOM_FRAME(name) ((void)0)
#define FATHOM_FLOW(name, id) ((void)0)
#define FATHOM_ALLOC(pool, bytes) ((void)0)
#define FATHOM_FREE(pool, bytes) ((void)0)
#define FATHOM_CONTEXT(name) ((void)0)

#define fathom_start(cfg) ((void)(cfg), fathom_nothing_())
#define fathom_enable() fathom_nothing_()
#define fathom_disable() ((void)0)
#define fathom_enabled() fathom_nothing_()
#define fathom_clear() ((void)0)
#define fathom_mode(pattern, mode) ((void)(pattern), (void)(mode), fathom_nothing_())
#define fathom_sample(pattern, every) ((void)(pattern), (void)(every), fathom_nothing_())
#define fathom_schedule(plan, ready, arg)                                                  \
    ((void)(plan), (void)(ready), (void)(arg), fathom_nothing_())
#define fathom_step() ((void)0)
#define fathom_each(context, per_thread, visit, arg)                                       \
    ((void)(context), (void)(per_thread), (void)(visit), (void)(arg), fathom_nothing_())
#define fathom_report(to, format, context)                                                 \
    ((void)(to), (void)(format), (void)(context), fathom_nothing_())
#define fathom_export(path, format) ((void)(path), (void)(format), fathom_nothing_())
#define fathom_report_text(text, cap, format, context)                                     \
    ((void)(text), (void)(cap), (void)(format), (void)(context), (long)fathom_nothing_())
#define fathom_lost(cause) ((void)(cause), (uint64_t)fathom_nothing_())
#define fathom_overhead_ns() ((uint64_t)fathom_nothing_())
#define fathom_memory_bytes() ((uint64_t)fathom_nothing_())
#define fathom_advise(visit, arg) ((void)(visit), (void)(arg), fathom_nothing_())
#define fathom_save_baseline(path) ((void)(path), fathom_nothing_())
#define fathom_check_baseline(path, tolerance, visit, arg)                                 \
    ((void)(path), (void)(tolerance), (void)(visit), (void)(arg), fathom_nothing_())
#define fathom_site_get(name, group, file, line, kind)                                     \
    ((void)(name), (void)(group), (void)(file), (void)(line), (void)(kind),                \
     (struct fathom_site *)NULL)
#define fathom_begin(site) ((void)(site), fathom_no_zone_())
#define fathom_end(z) ((void)(z))
#define fathom_lap(z, site) ((void)(z), (void)(site))
#define fathom_op_begin(site, bytes, backend)                                              \
    ((void)(site), (void)(bytes), (void)(backend), fathom_no_op_())
#define fathom_op_end(op) ((void)(op))
#define fathom_op_bytes(op, bytes) ((void)0)
#define fathom_op_work(op, work) ((void)0)
#define fathom_op_tag(op, tag) ((void)0)
#define fathom_op_backend(op, backend) ((void)0)
#define fathom_op_label(op, label) ((void)0)
#define fathom_thread_name(name) ((void)(name))
#define fathom_context_now() ((fathom_context)0)
#define fathom_context_enter(c) ((void)(c), fathom_no_zone_())
#define fathom_context_leave(z) ((void)(z))
#define fathom_lock_wait(l) ((void)(l), fathom_no_zone_())
#define fathom_lock_got(l, z) ((void)(l), (void)(z))
#define fathom_lock_release(l) ((void)(l))

#endif /* FATHOM_OFF */

#ifdef __cplusplus
}
#endif
#endif
