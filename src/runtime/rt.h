/* rt.h - what the files of libfathom share.  All of it runs inside other people's programs:
 * libc only, no malloc, no stdio on the measuring side, errno kept.
 *
 * Locking: rt.lock guards sites, names, contexts and free pages; rt.threads_lock, taken before
 * it, the adding up of ended threads.  What a signal handler may run never waits for a lock its
 * own thread holds (tgt_lock_unless_held), and zones that go on wait for none.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RUNTIME_RT_H
#define FATHOM_RUNTIME_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel/live_read.h"
#include "target/tgt_pool.h"
#include "target/tgt_word.h"

enum { RT_RULES = 32, RT_PATTERN = 64, RT_PATH = 512 };

struct rt_rule { /* a mode or a sampling rate asked for by pattern, for sites to come too */
    char pattern[RT_PATTERN];
    int mode;        /* -1 = only sample */
    uint32_t sample; /* 0 = leave */
};

struct rt { /* the one state of the library; file-level because zones need no handle */
    struct live_header *head; /* NULL until started */
    struct tgt_pool pool;
    uint32_t trace_pages_max, memory_pages;
    uint64_t retired; /* pages left to the disk */
    char live_path[RT_PATH];
    bool all_traced; /* no known site is not */
    bool enabled, percentiles, keep_last, slow_clock;
    int mode;             /* for sites no rule names */
    double budget;        /* share, 0 = none */
    uint64_t trace_pages;
    uint64_t threads;     /* list of struct live_thread */
    struct tgt_lock lock, threads_lock;
    uint64_t no_histogram; /* page that takes what is no duration */
    uint32_t string_at, string_page;
    struct fathom_site *site[LIVE_MAX_SITES + 1]; /* NULL: its library is gone */
    struct rt_rule rule[RT_RULES];
    uint32_t n_rules;
};
extern struct rt rt __attribute__((visibility("hidden")));

/* rt_region.c */
struct rt_region_config {
    uint64_t bytes, memory; /* of the whole, and how much of it may stay in memory */
    const char *path; /* NULL = anonymous */
};
bool rt_region_on_disk(const char *path); /* and not in memory after all */
int rt_region_map(const struct rt_region_config *c);
uint64_t rt_page(enum live_kind kind);  /* zeroed; 0 when the cap is reached */
/* In two steps, for pages a reader must not see half made: take, fill, show. */
uint64_t rt_page_take(void);
void rt_page_show(uint64_t page, enum live_kind kind);
uint64_t rt_page_locked(enum live_kind kind); /* the same, with the lock held */
void rt_page_free(uint64_t page);       /* with the lock held */
uint32_t rt_text(const char *text);     /* copy; a reference, 0 when NULL or no memory. Locked */
uint32_t rt_name(const char *text);     /* small number, 0 = none or full.  Locked */
const char *rt_name_text(uint32_t name);
bool rt_page_is_done(uint64_t page); /* a full one of the trace */
void rt_lose(enum fathom_loss cause, uint64_t n);

/* rt_site.c */
void rt_site_register(struct fathom_site *s); /* with the lock held */
void rt_sites_refresh(void);                  /* modes to sites and nodes; lock held */
bool rt_sites_traced(void); /* some site is traced, or will be when it comes */
struct live_site *rt_site(uint32_t id);
uint32_t rt_site_special(const struct live_site *s);
void rt_node_refresh(struct fathom_node_ *n, struct live_thread *t);
void rt_site_demote(uint32_t id);
bool rt_site_usable(struct fathom_site *s); /* registers it when new; false: off or unknown */
void rt_sites_add_waiting(void); /* with the lock held: those loaded before the start */

/* rt_thread.c */
struct live_thread *rt_thread(void); /* of the caller; NULL when it cannot be had */
void rt_thread_init(void);
/* Forget; by the owner, or for a thread that has ended.  LOCKED: rt_lock_threads is held. */
void rt_thread_reset(struct live_thread *t, bool locked);
/* The same when there was a clear(), unless a handler has interrupted the counting: then it
 * is left for later. */
void rt_thread_forget(struct live_thread *t);
/* Whether N or a zone around it is between the steps of its counting: then the caller is in a
 * handler that has interrupted it. */
bool rt_is_counting(const struct fathom_node_ *n);
void rt_thread_refresh(struct live_thread *t); /* modes of sites to nodes; lock held */
void rt_thread_tell(struct live_thread *t); /* that there was one; by others, lock held */
struct live_thread *rt_thread_new(uint32_t tid); /* state 3 until the caller says */

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
/* Go to N, timed or only counted as its site wants; and the clock it is to end with. */
struct fathom_zone rt_begin(struct live_thread *t, struct fathom_node_ *n);
uint64_t rt_end_ticks(const struct fathom_node_ *n);

/* rt_page.c */
uint64_t rt_ring_page(uint64_t next); /* the page a ring's word is in or has just filled; 0 */
struct fathom_node_ *rt_record_node(uint64_t word);
/* Add a page's records to the histograms of their nodes, and empty it. */
void rt_fold(struct live_thread *t, uint64_t page);
void rt_fold_waiting(struct live_thread *t);
void rt_write(struct live_thread *t, struct fathom_node_ *n, uint64_t start, uint64_t d,
              const uint64_t *value);

/* rt_clock.c */
void rt_clock_init(struct live_header *h);
void rt_clock_refine(void); /* waits 2 ms in the first 2 ms */
void rt_clock_note(void);
void rt_clock_cost(struct live_header *h); /* what zones cost; lock held */
uint64_t rt_ticks(void); /* of the clock zones use */

/* rt_control.c */
int rt_prepare(void); /* map the region with what the environment says, measure nothing yet */
void rt_stop_measuring(void); /* for good: the region is not usable */

/* rt_helper.c */
void rt_helper_start(void);
void rt_helper_forget(void); /* in a child: it did not come along */

/* rt_fork.c */
void rt_fork_init(void);

/* After everything before it: the end of a precise zone. */
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

/* rt_fadd where a handler may be at the same sum. */
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
