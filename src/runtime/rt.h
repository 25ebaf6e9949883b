/* rt.h - declarations shared by the files of libfathom.  All of this code runs inside other
 * people's programs: libc only, no malloc, no stdio on the measuring side, errno preserved.
 *
 * Locking: rt.lock guards sites, names, contexts and free pages.  rt.threads_lock guards the
 * merging of ended threads; take it before rt.lock.  Code that may run in a signal handler never
 * waits for a lock that its own thread holds (tgt_lock_unless_held).  Entering a known zone takes
 * no lock.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RUNTIME_RT_H
#define FATHOM_RUNTIME_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel/live_read.h"
#include "target/tgt_pool.h"
#include "target/tgt_word.h"

enum { RT_RULES = 32, RT_PATTERN = 64, RT_PATH = 512 };

struct rt_rule { /* a mode or sampling rate set by pattern; also applies to new sites */
    char pattern[RT_PATTERN];
    int mode;        /* -1: set the sampling rate only */
    uint32_t sample; /* 0: leave unchanged */
};

struct rt { /* the global state of the library: zones have no handle */
    struct live_header *head; /* NULL until started */
    struct tgt_pool pool;
    uint32_t trace_pages_max, memory_pages;
    uint64_t retired; /* pages evicted to the disk */
    char live_path[RT_PATH];
    bool all_traced; /* every known site is traced */
    bool enabled, percentiles, keep_last, slow_clock;
    int mode;             /* for sites that match no rule */
    double budget;        /* share, 0 = none */
    uint64_t trace_pages;
    uint64_t threads;     /* list of struct live_thread */
    struct tgt_lock lock, threads_lock;
    uint64_t no_histogram; /* histogram page of nodes that have no durations */
    uint32_t string_at, string_page;
    struct fathom_site *site[LIVE_MAX_SITES + 1]; /* NULL: library unloaded */
    struct rt_rule rule[RT_RULES];
    uint32_t n_rules;
};
extern struct rt rt __attribute__((visibility("hidden")));

/* rt_region.c */
struct rt_region_config {
    uint64_t bytes, memory; /* total size; limit of resident memory */
    const char *path; /* NULL = anonymous */
};
bool rt_region_on_disk(const char *path); /* false on tmpfs and ramfs */
int rt_region_map(const struct rt_region_config *c);
/* Create the live file and set rt.live_path.  Returns its descriptor, or -1. */
int rt_region_file(const char *path, uint64_t bytes, uint64_t used);
uint64_t rt_page(enum live_kind kind);  /* zeroed; 0 when the limit is reached */
/* Allocate in two steps, so that readers never see an incomplete page: take, fill, show. */
uint64_t rt_page_take(void);
void rt_page_show(uint64_t page, enum live_kind kind);
uint64_t rt_page_locked(enum live_kind kind); /* like rt_page; lock held */
void rt_page_free(uint64_t page);       /* lock held */
uint32_t rt_text(const char *text);     /* reference to a copy; 0: NULL or no memory. Lock held */
uint32_t rt_name(const char *text);     /* small number; 0: none or full.  Lock held */
const char *rt_name_text(uint32_t name);
bool rt_page_is_done(uint64_t page); /* whether it is a full trace page */
void rt_lose(enum fathom_loss cause, uint64_t n);

/* rt_site.c */
void rt_site_register(struct fathom_site *s); /* lock held */
void rt_sites_refresh(void);                  /* copy modes to sites and nodes; lock held */
bool rt_sites_traced(void); /* a known or future site is traced */
struct live_site *rt_site(uint32_t id);
uint32_t rt_site_special(const struct live_site *s);
void rt_node_refresh(struct fathom_node_ *n, struct live_thread *t);
void rt_site_demote(uint32_t id);
bool rt_site_usable(struct fathom_site *s); /* registers a new site; false: off or unknown */
void rt_sites_add_waiting(void); /* sites loaded before the start; lock held */

/* rt_thread.c */
struct live_thread *rt_thread(void); /* of the caller; NULL: unavailable */
void rt_thread_init(void);
/* Discard the data of T, which is the caller's own thread or has ended.  LOCKED: rt_lock_threads
 * is held. */
void rt_thread_reset(struct live_thread *t, bool locked);
/* rt_thread_reset after a clear().  A handler that interrupted the counting of a zone leaves it
 * for later. */
void rt_thread_forget(struct live_thread *t);
/* Whether N or a zone around it is being counted.  If so, the caller is a handler that interrupted
 * it. */
bool rt_is_counting(const struct fathom_node_ *n);
void rt_thread_refresh(struct live_thread *t); /* copy modes from sites to nodes; lock held */
void rt_thread_mark_cleared(struct live_thread *t); /* by any thread; lock held */
struct live_thread *rt_thread_new(uint32_t tid); /* state 3 until the caller sets it */

/* rt_zone.c */
struct rt_key {
    struct fathom_site *site; /* NULL: a context */
    uint32_t site_id, special;
    uint32_t backend, label;
};
struct fathom_node_ *rt_child(struct live_thread *t, struct fathom_node_ *parent,
                              const struct rt_key *key);
struct fathom_node_ *rt_node_new(struct live_thread *t, struct fathom_node_ *parent,
                                 const struct rt_key *key);
struct live_ext *rt_ext(struct live_thread *t, struct fathom_node_ *n);
/* Enter N, timed or only counted, as its site requires.  rt_end_ticks reads the clock for its
 * end. */
struct fathom_zone rt_begin(struct live_thread *t, struct fathom_node_ *n);
uint64_t rt_end_ticks(const struct fathom_node_ *n);

/* rt_page.c */
uint64_t rt_ring_page(uint64_t next); /* the page a ring writes to or has just filled; or 0 */
struct fathom_node_ *rt_record_node(uint64_t word);
/* Add the records of a page to the histograms of their nodes and clear the page. */
void rt_fold(struct live_thread *t, uint64_t page);
void rt_fold_waiting(struct live_thread *t);
void rt_write(struct live_thread *t, struct fathom_node_ *n, uint64_t start, uint64_t d,
              const uint64_t *value);

/* rt_clock.c */
void rt_clock_init(struct live_header *h);
void rt_clock_refine(void); /* sleeps 2 ms if called in the first 2 ms */
void rt_clock_note(void);
void rt_clock_cost(struct live_header *h); /* measure the cost of a zone; lock held */
uint64_t rt_ticks(void); /* of the clock that zones use */

/* rt_control.c */
const char *rt_env(const char *variable); /* every FATHOM_* variable is read with this */
int rt_prepare(void); /* map the region as the environment specifies; measure nothing yet */
void rt_stop_measuring(void); /* permanently: the region is unusable */

/* rt_helper.c */
void rt_helper_start(void);
void rt_helper_forget(void); /* in a child, where the thread does not exist */

/* rt_fork.c */
void rt_fork_init(void);

/* Read the counter after all earlier instructions: the end of a precise zone. */
static inline uint64_t rt_fenced_cycles(void)
{
#if defined(__x86_64__)
    __asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
    return fathom_cycles();
}

static inline void rt_fadd(uint64_t *at, double x)
{
    tgt_put(at, live_bits(live_double(__atomic_load_n(at, __ATOMIC_RELAXED)) + x));
}

/* rt_fadd for sums that a handler may change at the same time. */
static inline void rt_fbump(uint64_t *at, double x)
{
    uint64_t was;

    do
        was = live_word(at);
    while (!tgt_swap_if(at, was, live_bits(live_double(was) + x)));
}

static inline bool rt_was_cleared(const struct live_thread *t)
{
    return live_word(&t->epoch) != __atomic_load_n(&rt.head->epoch, __ATOMIC_SEQ_CST);
}

static inline struct live_thread *rt_of(struct fathom_thread_ *hot)
{
    return (struct live_thread *)hot;
}

static inline struct live_thread *rt_first_thread(void)
{
    return (struct live_thread *)(uintptr_t)__atomic_load_n(&rt.threads, __ATOMIC_ACQUIRE);
}

static inline struct live_thread *rt_next_thread(const struct live_thread *t)
{
    return (struct live_thread *)(uintptr_t)t->next;
}

#endif
