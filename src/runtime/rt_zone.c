/* rt_zone.c - the long ways of a zone: a call path met for the first time, a full page of
 * records, sites that count, sample or fence.  The short way is inlined from fathom.h.
 *
 * A signal handler may run anywhere here and measure zones of its own.  While t->busy is set
 * it makes no nodes and turns no pages; what it cannot do is counted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <string.h>

__thread struct fathom_thread_ *fathom_thread_now_ __attribute__((tls_model("initial-exec")));

static struct fathom_node_ *node_at(uint64_t address)
{
    return (struct fathom_node_ *)(uintptr_t)address;
}

/* Whole pages of nodes or extras belong to one thread and are linked through slot 0. */
static uint64_t take_slot(struct live_thread *t, enum live_kind kind)
{
    bool nodes = kind == LIVE_NODES;
    uint64_t *page = nodes ? &t->node_page : &t->ext_page;
    uint32_t *at = nodes ? &t->node_at : &t->ext_at;
    uint32_t slots = nodes ? LIVE_NODES_PER_PAGE : LIVE_EXTS_PER_PAGE;

    if (!*page || *at == slots) {
        uint64_t fresh = rt_page_take();
        struct live_slot0 *head = (struct live_slot0 *)(uintptr_t)fresh;

        if (!fresh)
            return 0;
        head->next = *page;
        head->thread = (uint64_t)(uintptr_t)t;
        rt_page_show(fresh, kind);
        *at = 1;
        __atomic_store_n(page, fresh, __ATOMIC_RELEASE);
    }
    return *page + (uint64_t)(*at)++ * (LIVE_PAGE / slots);
}

struct fathom_node_ *rt_node_new(struct live_thread *t, struct fathom_node_ *parent,
                                 const struct rt_key *key)
{
    struct fathom_node_ *n = node_at(take_slot(t, LIVE_NODES));
    uint32_t seq;

    if (!n) {
        rt_lose(FATHOM_LOST_NODE, 1);
        return NULL;
    }
    n->parent = parent;
    n->site_id = key->site_id;
    n->backend = (uint16_t)key->backend;
    n->label = (uint16_t)key->label;
    n->min = UINT64_MAX;
    n->ring = &t->hot.ring[0];
    n->special = key->special;
    FATHOM_PUT_(n->site, key->site);
    seq = __atomic_add_fetch(&rt.head->n_nodes, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&n->seq, seq, __ATOMIC_RELEASE);
    rt_node_refresh(n, t); /* after it can be seen: a change of mode finds it or is found */
    if (parent) {
        n->sibling = parent->child;
        FATHOM_ORDER_();
        parent->child = (uint64_t)(uintptr_t)n;
    }
    return n;
}

static bool is_key(const struct fathom_node_ *n, const struct rt_key *k)
{
    return n->site_id == k->site_id && n->backend == k->backend && n->label == k->label;
}

struct fathom_node_ *rt_child(struct live_thread *t, struct fathom_node_ *parent,
                              const struct rt_key *key)
{
    struct fathom_node_ *n;

    for (n = node_at(parent->child); n; n = node_at(n->sibling)) {
        if (is_key(n, key)) {
            if (key->site && FATHOM_GET_(n->site) != key->site)
                FATHOM_PUT_(n->site, key->site); /* its library is back */
            return n;
        }
    }
    if (t->busy) {
        rt_lose(FATHOM_LOST_SIGNAL, 1);
        return NULL;
    }
    t->busy = 1;
    FATHOM_ORDER_();
    n = rt_node_new(t, parent, key);
    FATHOM_ORDER_();
    t->busy = 0;
    return n;
}

struct fathom_node_ *fathom_child_(struct fathom_thread_ *hot, struct fathom_site *s)
{
    struct rt_key key = { s, s->id, 0, 0, 0 };
    struct fathom_node_ *n = rt_child(rt_of(hot), hot->cur, &key);

    if (n)
        hot->cache[fathom_slot_(hot->cur, s)] = n;
    return n;
}

struct live_ext *rt_ext(struct live_thread *t, struct fathom_node_ *n)
{
    if (!n->ext && !t->busy) {
        t->busy = 1;
        FATHOM_ORDER_();
        __atomic_store_n(&n->ext, take_slot(t, LIVE_EXTRAS), __ATOMIC_RELEASE);
        FATHOM_ORDER_();
        t->busy = 0;
    }
    return (struct live_ext *)(uintptr_t)n->ext;
}

/* ---- Pages of records ---- */

static struct fathom_node_ *record_node(uint64_t word)
{
    uint64_t offset = ((word & 0xffffff) - (rt.base >> 7 & 0xffffff)) & 0xffffff;

    return node_at(rt.base + (offset << 7));
}

static uint64_t *histogram_of(struct live_thread *t, struct fathom_node_ *n)
{
    uint64_t page = n->hist;

    if (!page) {
        page = rt_page(LIVE_HISTOGRAM);
        if (page)
            __atomic_store_n(&n->hist, page, __ATOMIC_RELEASE);
        else
            rt_add(&t->lost[FATHOM_LOST_UNTRACED], 1);
    }
    return (uint64_t *)(uintptr_t)(page ? page : rt.no_histogram);
}

static void empty_page(uint64_t page)
{
    uint64_t *r = (uint64_t *)(uintptr_t)(page + sizeof(struct live_chunk));

#ifdef __SANITIZE_THREAD__
    for (int i = 0; i < 2 * LIVE_RECORDS; i++)
        rt_put(&r[i], 0);
#else
    memset(r, 0, LIVE_PAGE - sizeof(struct live_chunk)); /* readers take words as they come */
#endif
}

/* Add a page's records to the histograms of their nodes, and empty it.  Like records come in
 * runs: the histogram is looked up when the node changes. */
void rt_fold(struct live_thread *t, uint64_t page)
{
    const uint64_t *r = (uint64_t *)(uintptr_t)(page + sizeof(struct live_chunk));
    const uint64_t *end = (uint64_t *)(uintptr_t)(page + LIVE_PAGE);
    uint64_t *hist = (uint64_t *)(uintptr_t)rt.no_histogram, last = UINT64_MAX;

    if (!rt.percentiles)
        r = end;
    for (; r < end; r += 2) {
        uint64_t word = r[1], d = word >> 24;

        if (FATHOM_RARE_(r[0] == 0))
            continue;
        if (FATHOM_RARE_((word & 0xffffff) != last)) {
            last = word & 0xffffff;
            hist = histogram_of(t, record_node(word));
        }
        if (FATHOM_RARE_(d >= LIVE_VALUE)) {
            d = d == LIVE_LONG ? r[2] : 0;
            r += 2;
        }
        rt_add(&hist[live_bucket(d)], 1);
    }
    empty_page(page);
}

static uint64_t new_chunk(struct live_thread *t, bool trace)
{
    uint64_t page = rt_page_take();
    struct live_chunk *c = (struct live_chunk *)(uintptr_t)page;

    if (!page)
        return 0;
    c->tid = t->tid;
    FATHOM_PUT_(c->name, t->name);
    c->trace = trace;
    rt_put(&c->opened, rt_ticks());
    rt_page_show(page, LIVE_CHUNK);
    return page;
}

static void open_page(struct live_thread *t, int ring, uint64_t page)
{
    struct fathom_ring_ *r = &t->hot.ring[ring];

    t->page[ring] = page;
    FATHOM_PUT_(r->end, (uint64_t)0);
    FATHOM_PUT_(r->next, page ? page + sizeof(struct live_chunk) : 0);
    FATHOM_ORDER_();
    FATHOM_PUT_(r->end, page ? page + LIVE_PAGE : 0);
}

static uint32_t count_records(uint64_t page)
{
    const uint64_t *r = (uint64_t *)(uintptr_t)(page + sizeof(struct live_chunk));
    uint32_t n = 0;

    for (int i = 0; i < LIVE_RECORDS; i++)
        n += r[2 * i] != 0;
    return n;
}

static uint64_t trace_page(struct live_thread *t)
{
    uint64_t page = 0;

    if (__atomic_add_fetch(&rt.trace_pages, 1, __ATOMIC_RELAXED) <= rt.trace_pages_max)
        page = new_chunk(t, true);
    if (!page)
        __atomic_sub_fetch(&rt.trace_pages, 1, __ATOMIC_RELAXED);
    if (!page && rt.keep_last && t->oldest && t->oldest != t->page[1]) {
        page = t->oldest;
        t->oldest = ((struct live_chunk *)(uintptr_t)page)->next;
        rt_add(&t->lost[FATHOM_LOST_TRACE], count_records(page));
        rt_fold(t, page);
        rt_put(&((struct live_chunk *)(uintptr_t)page)->opened, rt_ticks());
        ((struct live_chunk *)(uintptr_t)page)->next = 0;
    }
    return page;
}

/* No more room for records: the thread goes on with its histograms only. */
static void give_up_trace(struct live_thread *t)
{
    __atomic_store_n(&t->trace_full, 1, __ATOMIC_RELAXED);
    for (uint64_t page = t->node_page; page;
         page = ((struct live_slot0 *)(uintptr_t)page)->next)
        for (int i = 1; i < LIVE_NODES_PER_PAGE; i++)
            if (node_at(page)[i].seq)
                FATHOM_PUT_(node_at(page)[i].ring, &t->hot.ring[0]);
}

static void demote_busiest(struct live_thread *t, uint64_t page)
{
    const uint64_t *r = (uint64_t *)(uintptr_t)(page + sizeof(struct live_chunk));
    uint64_t now = rt_ticks(), took = now - t->folded_ticks;
    uint32_t half = 0, best = 0;

    t->folded_ticks = now;
    if (rt.budget <= 0 || took == now ||
        (double)(LIVE_RECORDS * rt.head->pair_ticks) < rt.budget * (double)took)
        return;
    for (int i = 0; i < LIVE_RECORDS; i++) { /* Boyer-Moore: the site of most records */
        uint32_t id = r[2 * i] ? record_node(r[2 * i + 1])->site_id : 0;

        if (half == 0)
            best = id;
        half += id == best ? 1 : (uint32_t)-1;
    }
    if (best)
        rt_site_demote(best);
}

static void turn_page(struct live_thread *t, int ring)
{
    uint64_t page = t->page[ring], next;

    if (page) {
        demote_busiest(t, page);
        rt_clock_note();
    }
    if (ring == 0) {
        if (!page)
            page = new_chunk(t, false);
        if (page && t->trace_full)
            rt_add(&t->lost[FATHOM_LOST_TRACE], LIVE_RECORDS - t->values);
        if (page && rt.percentiles)
            rt_fold(t, page);
        t->values = 0;
        open_page(t, 0, page);
        return;
    }
    next = trace_page(t);
    if (!next) {
        give_up_trace(t);
        return;
    }
    if (page)
        ((struct live_chunk *)(uintptr_t)page)->next = next;
    if (!t->oldest)
        t->oldest = next;
    open_page(t, 1, next);
}

/* Put a record of one or two words pairs down, turning the page when it is full. */
static void put_record(struct live_thread *t, struct fathom_node_ *n, uint64_t start,
                       uint64_t word, const uint64_t *second)
{
    uint64_t bytes = second ? 32 : 16;

    for (int tries = 0; tries < 4; tries++) {
        int which = FATHOM_GET_(n->ring) == &t->hot.ring[1];
        struct fathom_ring_ *r = &t->hot.ring[which];
        uint64_t at = fathom_take_(r, bytes);
        uint64_t *to = (uint64_t *)(uintptr_t)at;

        if (at + bytes <= FATHOM_GET_(r->end)) {
            if (second) {
                t->values += which == 0;
                rt_put(&to[2], *second);
                rt_put(&to[3], 0);
            }
            rt_put(&to[1], word);
            rt_put(&to[0], start);
            return;
        }
        if (t->page[which] && r->next <= t->page[which] + LIVE_PAGE)
            FATHOM_PUT_(r->end, t->page[which] + LIVE_PAGE); /* only told to look up */
        else
            turn_page(t, which);
    }
    rt_add(&t->lost[FATHOM_LOST_TRACE], 1);
}

static bool was_cleared(const struct live_thread *t)
{
    return t->epoch != __atomic_load_n(&rt.head->epoch, __ATOMIC_SEQ_CST);
}

/* Forget what came before a clear(), but not the zone that ends now. */
static void start_again(struct live_thread *t, struct fathom_node_ *n, uint64_t d)
{
    rt_thread_reset(t, false);
    if (!n)
        return;
    rt_put(&n->count, 1);
    rt_put(&n->total, d);
    rt_put(&n->min, d);
    rt_put(&n->max, d);
    rt_put(&n->first, d);
    rt_put(&n->squares, live_bits((double)d * (double)d));
}

void rt_write(struct live_thread *t, struct fathom_node_ *n, uint64_t start, uint64_t d,
              const uint64_t *value)
{
    uint64_t bits = (uintptr_t)n >> 7 & 0xffffff;

    if (t->busy) {
        rt_add(&t->lost[FATHOM_LOST_SIGNAL], 1);
        return;
    }
    t->busy = 1;
    FATHOM_ORDER_();
    if (was_cleared(t))
        start_again(t, value ? NULL : n, d);
    if (value)
        put_record(t, n, start, LIVE_VALUE << 24 | bits, value);
    else if (d >= LIVE_VALUE)
        put_record(t, n, start, LIVE_LONG << 24 | bits, &d);
    else
        put_record(t, n, start, d << 24 | bits, NULL);
    if (was_cleared(t)) { /* once more in between: come back with the next record */
        FATHOM_PUT_(t->hot.ring[0].end, (uint64_t)0);
        FATHOM_PUT_(t->hot.ring[1].end, (uint64_t)0);
    }
    FATHOM_ORDER_();
    t->busy = 0;
}

void fathom_full_(struct fathom_node_ *n, uint64_t start, uint64_t d)
{
    rt_write(rt_of(fathom_thread_now_), n, start, d, NULL);
}

/* ---- Sites with a mode of their own ---- */

static uint64_t random_next(struct live_thread *t)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return t->random;
}

/* Whether this call of a sampled site is timed: the gaps are random, N on average. */
static bool is_turn(struct live_thread *t, struct fathom_node_ *n, struct live_ext *x)
{
    uint32_t every;

    if (FATHOM_RARE_(!x->skip)) {
        every = __atomic_load_n(&rt_site(n->site_id)->sample, __ATOMIC_RELAXED);
        x->skip = every < 2 ? 0 : random_next(t) % (2 * every - 1);
        return true;
    }
    x->skip--;
    return false;
}

static inline struct fathom_zone begin_special(struct live_thread *t, struct fathom_node_ *n)
{
    struct fathom_zone z = { n, 0 };
    uint32_t special = FATHOM_GET_(n->special);

    FATHOM_PUT_(t->hot.cur, n);
    FATHOM_ORDER_();
    if (special & (LIVE_COUNTED | LIVE_SAMPLED)) {
        struct live_ext *x = n->ext ? (struct live_ext *)(uintptr_t)n->ext : rt_ext(t, n);

        if (x && (special & LIVE_COUNTED || !is_turn(t, n, x))) {
            rt_add(&n->count, 1);
            rt_add(&x->untimed, 1);
            return z;
        }
    }
    z.start = special & LIVE_SLOW_CLOCK ? fathom_now_ns() : fathom_cycles();
    FATHOM_PUT_(n->open, z.start);
    return z;
}

/* A site that is new, or a thread that is. */
static struct fathom_zone begin_first(struct fathom_site *s)
{
    struct fathom_zone none = { NULL, 0 };
    struct live_thread *t;
    struct fathom_node_ *n;

    if (FATHOM_GET_(s->mode) == 2) {
        if (!rt_trylock())
            return none; /* met again soon */
        if (rt.head)
            rt_site_register(s);
        rt_unlock();
        if (FATHOM_GET_(s->mode) == 2 || FATHOM_GET_(s->mode) == 0)
            return none;
    }
    t = rt_thread();
    n = t ? fathom_child_(&t->hot, s) : NULL;
    return n ? begin_special(t, n) : none;
}

struct fathom_zone fathom_begin_(struct fathom_site *s)
{
    struct fathom_thread_ *t = fathom_thread_now_;
    struct fathom_node_ *n;

    if (t && FATHOM_GET_(s->mode) != 2 && FATHOM_GET_(s->mode) != 0) {
        n = t->cache[fathom_slot_(t->cur, s)];
        if (n && n->parent == t->cur && FATHOM_GET_(n->site) == s)
            return begin_special(rt_of(t), n);
    }
    return begin_first(s);
}

static uint64_t fenced_cycles(void)
{
#if defined(__x86_64__)
    __asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
    return fathom_cycles();
}

void fathom_end_(struct fathom_zone *z)
{
    struct fathom_node_ *n = z->node;
    struct live_thread *t = rt_of(fathom_thread_now_);
    uint32_t special = FATHOM_GET_(n->special);
    uint64_t now;

    if (!t)
        return;
    if (z->start) {
        now = special & LIVE_SLOW_CLOCK ? fathom_now_ns()
              : special & LIVE_PRECISE  ? fenced_cycles()
                                        : fathom_cycles();
        fathom_count_(n, z->start, now - z->start);
    }
    FATHOM_PUT_(t->hot.cur, n->parent);
}
