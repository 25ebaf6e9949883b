/* rt_page.c - pages of records: open, fill, replace when full, fold into histograms.
 *
 * A thread has a scratch page, which is folded and reused, and in trace mode pages that stay.  One
 * instruction opens the fresh page; only then is the full one processed.  A signal handler that
 * runs in between can write to the fresh page, and replaces pages itself when necessary.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <string.h>

enum { TRACE_SPARE = LIVE_SPARES - 1, TRIES = 8 };

static struct live_chunk *chunk_at(uint64_t page)
{
    return (struct live_chunk *)(uintptr_t)page;
}

static uint64_t *records_of(uint64_t page)
{
    return (uint64_t *)(uintptr_t)(page + LIVE_HEAD);
}

static bool has_room(uint64_t next)
{
    return next % LIVE_PAGE >= LIVE_HEAD;
}

uint64_t rt_ring_page(uint64_t next)
{
    uint64_t page = next - next % LIVE_PAGE;

    return has_room(next) || page == 0 ? page : page - LIVE_PAGE;
}

struct fathom_node_ *rt_record_node(uint64_t word)
{
    uint64_t offset = ((word & 0xffffff) - (rt.pool.base >> 7 & 0xffffff)) & 0xffffff;

    return (struct fathom_node_ *)(uintptr_t)(rt.pool.base + (offset << 7));
}

/* ---- Folding ---- */

static uint64_t *histogram_of(struct live_thread *t, struct fathom_node_ *n)
{
    uint64_t page = n->hist;

    if (!page) {
        page = rt_page(LIVE_HISTOGRAM);
        if (!page)
            tgt_bump(&t->lost[FATHOM_LOST_UNTRACED], 1);
        else if (!tgt_swap_if(&n->hist, 0, page))
            page = n->hist; /* a handler set it first: a page is wasted */
    }
    return (uint64_t *)(uintptr_t)(page ? page : rt.no_histogram);
}

static void empty_page(uint64_t page)
{
    uint64_t *r = records_of(page);

#ifdef __SANITIZE_THREAD__
    for (int i = 0; i < 2 * LIVE_RECORDS; i++)
        tgt_put(&r[i], 0);
#else
    memset(r, 0, LIVE_PAGE - LIVE_HEAD); /* readers ignore zero words */
#endif
}

static bool is_traced(const struct fathom_node_ *n)
{
    const struct live_site *s = rt_site(n->site_id);

    return s && FATHOM_GET_(s->mode) >= FATHOM_MODE_TRACE;
}

/* Number of records in a page whose records all have one pair of words.  0 if a record has two, or
 * if they last for minutes. */
static uint64_t count_plain(uint64_t page)
{
    const uint64_t *r = records_of(page);
    uint64_t n = 0, bits = 0;

    for (int i = 0; i < 2 * LIVE_RECORDS; i += 2) {
        n += r[i] != 0;
        bits |= r[i + 1];
    }
    return bits >> 24 < LIVE_VALUE ? n : 0;
}

/* Count records of traced sites that had no trace page. */
static uint64_t count_dropped(uint64_t page)
{
    const uint64_t *r = records_of(page), *end = r + 2 * LIVE_RECORDS;
    uint64_t last = UINT64_MAX, dropped = 0, n = 0;

    if (__atomic_load_n(&rt.all_traced, __ATOMIC_RELAXED) && (n = count_plain(page)))
        return n;
    for (; r < end; r += 2) {
        if (FATHOM_RARE_((r[1] & 0xffffff) != last)) {
            last = r[1] & 0xffffff;
            dropped = r[0] && is_traced(rt_record_node(r[1]));
        }
        n += r[0] ? dropped : 0;
        if (FATHOM_RARE_(r[1] >> 24 >= LIVE_VALUE))
            r += 2;
    }
    return n;
}

/* Add a record that is longer than any bucket or takes two pairs of words.  Returns how many extra
 * words it has. */
static int add_long(uint64_t *hist, const uint64_t *r)
{
    uint64_t d = r[1] >> 24;

    if (d < LIVE_VALUE) {
        tgt_bump(&hist[live_bucket(d)], 1);
        return 0;
    }
    tgt_bump(&hist[live_bucket(d == LIVE_LONG ? r[2] : 0)], 1);
    return 2;
}

/* Equal nodes come in runs: look up the histogram only when the node changes. */
static void add_to_histograms(struct live_thread *t, uint64_t page)
{
    const uint64_t *r = records_of(page), *end = r + 2 * LIVE_RECORDS;
    uint64_t *hist = (uint64_t *)(uintptr_t)rt.no_histogram, last = UINT64_MAX;

    for (; r < end; r += 2) {
        uint64_t word = r[1], d = word >> 24;

        if (FATHOM_RARE_(r[0] == 0))
            continue;
        if (FATHOM_RARE_((word & 0xffffff) != last)) {
            last = word & 0xffffff;
            hist = histogram_of(t, rt_record_node(word));
        }
        if (FATHOM_RARE_(d >= LIVE_LONGEST))
            r += add_long(hist, r);
        else
            tgt_bump(&hist[live_bucket_of(d)], 1);
    }
}

void rt_fold(struct live_thread *t, uint64_t page)
{
    if (t->trace_full && !chunk_at(page)->trace)
        tgt_bump(&t->lost[FATHOM_LOST_TRACE], count_dropped(page));
    if (rt.percentiles)
        add_to_histograms(t, page);
    if (rt.percentiles || t->trace_full || chunk_at(page)->trace)
        empty_page(page);
}

/* ---- Getting pages ---- */

static uint64_t new_chunk(struct live_thread *t, bool trace)
{
    uint64_t page = rt_page_take();
    struct live_chunk *c = chunk_at(page);

    if (!page)
        return 0;
    c->tid = t->tid;
    FATHOM_PUT_(c->name, t->name);
    c->trace = trace;
    tgt_put(&c->opened, rt_ticks());
    rt_page_show(page, LIVE_CHUNK);
    return page;
}

static uint64_t scratch_page(struct live_thread *t)
{
    for (int i = 0; i < TRACE_SPARE; i++) {
        uint64_t page = t->spare[i];

        if (page && tgt_swap_if(&t->spare[i], page, 0))
            return page;
    }
    return new_chunk(t, false);
}

static uint32_t count_records(uint64_t page)
{
    const uint64_t *r = records_of(page);
    uint32_t n = 0;

    for (int i = 0; i < LIVE_RECORDS; i++) {
        n += r[2 * i] != 0;
        i += r[2 * i] != 0 && r[2 * i + 1] >> 24 >= LIVE_VALUE;
    }
    return n;
}

/* Reuse the oldest trace page.  Its values stay in the histograms. */
static uint64_t oldest_page(struct live_thread *t)
{
    uint64_t page = FATHOM_GET_(t->oldest), next = page ? chunk_at(page)->next : 0;

    if (!next || !tgt_swap_if(&t->oldest, page, next))
        return 0;
    tgt_bump(&t->lost[FATHOM_LOST_TRACE], count_records(page));
    rt_fold(t, page);
    tgt_put(&chunk_at(page)->opened, rt_ticks());
    tgt_put(&chunk_at(page)->next, 0);
    return page;
}

/* A thread that keeps its last records needs two pages, so that it can overwrite the older one,
 * even when other threads have taken every other page. */
static bool needs_pages(struct live_thread *t)
{
    uint64_t page = FATHOM_GET_(t->oldest);

    return rt.keep_last && (!page || !chunk_at(page)->next);
}

static uint64_t trace_page(struct live_thread *t)
{
    uint64_t page = __atomic_exchange_n(&t->spare[TRACE_SPARE], 0, __ATOMIC_RELAXED);

    if (page)
        return page;
    if (__atomic_add_fetch(&rt.trace_pages, 1, __ATOMIC_RELAXED) <= rt.trace_pages_max ||
        needs_pages(t))
        page = new_chunk(t, true);
    if (page)
        return page;
    __atomic_sub_fetch(&rt.trace_pages, 1, __ATOMIC_RELAXED);
    return rt.keep_last ? oldest_page(t) : 0;
}

/* Return an empty page that is not needed. */
static void return_page(struct live_thread *t, uint64_t page)
{
    bool trace = chunk_at(page)->trace;

    for (int i = trace ? TRACE_SPARE : 0; i < (trace ? LIVE_SPARES : TRACE_SPARE); i++)
        if (tgt_swap_if(&t->spare[i], 0, page))
            return;
    if (trace)
        __atomic_sub_fetch(&rt.trace_pages, 1, __ATOMIC_RELAXED);
    if (tgt_lock_try(&rt.lock)) {
        rt_page_free(page);
        tgt_unlock(&rt.lock);
    }
}

/* No room for more records: the thread continues with histograms only. */
static void stop_trace(struct live_thread *t)
{
    __atomic_store_n(&t->trace_full, 1, __ATOMIC_RELAXED);
    for (uint64_t page = t->node_page; page;
         page = ((struct live_slot0 *)(uintptr_t)page)->next)
        for (int i = 1; i < LIVE_NODES_PER_PAGE; i++) {
            struct fathom_node_ *n = (struct fathom_node_ *)(uintptr_t)page + i;

            if (n->seq)
                FATHOM_PUT_(n->ring, &t->hot.ring[0]);
        }
}

/* ---- Replacing full pages ---- */

static void demote_busiest(struct live_thread *t, uint64_t page)
{
    const uint64_t *r = records_of(page);
    uint64_t now = rt_ticks(), took = now - t->folded_ticks;
    uint32_t half = 0, best = 0;

    t->folded_ticks = now;
    if (rt.budget <= 0 || took == now ||
        (double)(LIVE_RECORDS * rt.head->cost[0].pair) < rt.budget * (double)took)
        return;
    for (int i = 0; i < LIVE_RECORDS; i++) { /* the most frequent site */
        uint32_t id = r[2 * i] ? rt_record_node(r[2 * i + 1])->site_id : 0;

        if (half == 0)
            best = id;
        half += id == best ? 1 : (uint32_t)-1;
    }
    if (best)
        rt_site_demote(best);
}

/* Whether this is a handler that interrupted the writing of a record: its slot is taken but not
 * yet filled. */
static bool is_nested(const struct live_thread *t, const struct fathom_node_ *n)
{
    const struct fathom_node_ *cur = FATHOM_GET_(t->hot.cur);

    return t->busy > 1 || rt_is_counting(cur == n ? n->parent : cur);
}

void rt_fold_waiting(struct live_thread *t)
{
    for (int i = 0; i < LIVE_SPARES; i++) {
        uint64_t page = t->waiting[i];

        if (page && tgt_swap_if(&t->waiting[i], page, 0)) {
            rt_fold(t, page);
            return_page(t, page);
        }
    }
}

/* Fold a full scratch page, now or later when none of its records can still be in progress. */
static void finish_page(struct live_thread *t, uint64_t page, bool nested)
{
    for (int i = 0; nested && i < LIVE_SPARES; i++)
        if (tgt_swap_if(&t->waiting[i], 0, page))
            return;
    rt_fold(t, page);
    return_page(t, page);
    if (!nested)
        rt_fold_waiting(t);
}

/* Out of memory: fold the only scratch page in place.  A record that a handler writes meanwhile is
 * dropped. */
static bool fold_in_place(struct live_thread *t, bool nested)
{
    uint64_t *ring = &t->hot.ring[0], page = rt_ring_page(FATHOM_GET_(*ring));

    if (!page || nested) {
        tgt_bump(&t->lost[FATHOM_LOST_UNTRACED], 1);
        return false;
    }
    rt_fold(t, page);
    tgt_put(ring, page + LIVE_HEAD);
    return true;
}

/* Open FRESH in place of the full page and return the full one.  Returns LIVE_NO_PAGE when a
 * handler has just opened another. */
#define LIVE_NO_PAGE UINT64_MAX
static uint64_t open_page(uint64_t *ring, uint64_t fresh)
{
    uint64_t next;

    do {
        next = FATHOM_GET_(*ring);
        if (has_room(next))
            return LIVE_NO_PAGE;
    } while (!tgt_swap_if(ring, next, fresh + LIVE_HEAD));
    return rt_ring_page(next);
}

/* Make room in a ring whose page is full.  Returns false when there is no page. */
static bool replace_page(struct live_thread *t, int which, bool nested)
{
    uint64_t *ring = &t->hot.ring[which];
    uint64_t fresh = which ? trace_page(t) : scratch_page(t), full;

    if (!fresh && which) {
        stop_trace(t);
        return true;
    }
    if (!fresh)
        return fold_in_place(t, nested);
    full = open_page(ring, fresh);
    if (full == LIVE_NO_PAGE) {
        return_page(t, fresh);
        return true;
    }
    if (full) {
        demote_busiest(t, full);
        rt_clock_note();
    }
    if (which) {
        tgt_put(full ? &chunk_at(full)->next : &t->oldest, fresh);
    } else if (full) {
        finish_page(t, full, nested);
    }
    return true;
}

/* A failed take advances the ring's word within the head of the next page.  Reset it to the start
 * of the head, so that nested handlers cannot move it past the head. */
static void step_back(uint64_t *ring)
{
    uint64_t next = FATHOM_GET_(*ring);

    if (!has_room(next))
        tgt_swap_if(ring, next, next - next % LIVE_PAGE);
}

/* Write a record of one or two pairs of words; replace the page when it is full. */
static void put_record(struct live_thread *t, struct fathom_node_ *n, uint64_t start,
                       uint64_t word, const uint64_t *second)
{
    uint64_t bytes = second ? 32 : 16;

    for (int tries = 0; tries < TRIES; tries++) {
        int which = FATHOM_GET_(n->ring) == &t->hot.ring[1];
        uint64_t *ring = &t->hot.ring[which], at = fathom_take_(ring, bytes);
        uint64_t *to = (uint64_t *)(uintptr_t)at;

        if (has_room(at) && at % LIVE_PAGE + bytes <= LIVE_PAGE) {
            if (second) {
                tgt_put(&to[2], *second);
                tgt_put(&to[3], 0);
            }
            tgt_put(&to[1], word);
            tgt_put(&to[0], start);
            return;
        }
        step_back(ring);
        if (!replace_page(t, which, is_nested(t, n)))
            return;
    }
    tgt_bump(&t->lost[FATHOM_LOST_SIGNAL], 1);
}

void rt_write(struct live_thread *t, struct fathom_node_ *n, uint64_t start, uint64_t d,
              const uint64_t *value)
{
    uint64_t bits = (uintptr_t)n >> 7 & 0xffffff;

    t->busy++;
    FATHOM_ORDER_();
    if (value)
        put_record(t, n, start, LIVE_VALUE << 24 | bits, value);
    else if (d >= LIVE_VALUE)
        put_record(t, n, start, LIVE_LONG << 24 | bits, &d);
    else
        put_record(t, n, start, d << 24 | bits, NULL);
    FATHOM_ORDER_();
    t->busy--;
}

void fathom_full_(struct fathom_node_ *n, uint64_t start, uint64_t d)
{
    struct live_thread *t = rt_of(fathom_thread_now_);

    step_back(FATHOM_GET_(n->ring));
    rt_write(t, n, start, d, NULL);
}
