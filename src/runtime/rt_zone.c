/* rt_zone.c - slow paths of a zone: a new call path, and sites that count, sample or fence.  The
 * fast path is inlined from fathom.h; rt_page.c handles full pages.
 *
 * A signal handler may run anywhere here and do the same, so taking a slot and changing a list are
 * one instruction each.  At worst a path has two nodes, and reports add them up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <string.h>

__thread struct fathom_thread_ *fathom_thread_now_ __attribute__((tls_model("initial-exec")));

static struct fathom_node_ *node_at(uint64_t address)
{
    return (struct fathom_node_ *)(uintptr_t)address;
}

/* Each page of nodes or extras belongs to one thread.  Pages are linked through slot 0. */
static uint64_t new_page(struct live_thread *t, enum live_kind kind, uint64_t *list)
{
    uint64_t page = rt_page_take();
    struct live_slot0 *head = (struct live_slot0 *)(uintptr_t)page;

    if (!page)
        return 0;
    head->thread = (uint64_t)(uintptr_t)t;
    rt_page_show(page, kind);
    do
        head->next = *list;
    while (!tgt_swap_if(list, head->next, page));
    return page;
}

static uint64_t take_slot(struct live_thread *t, enum live_kind kind)
{
    bool nodes = kind == LIVE_NODES;
    uint64_t *next = nodes ? &t->node_next : &t->ext_next, at;
    uint64_t bytes = LIVE_PAGE / (nodes ? LIVE_NODES_PER_PAGE : LIVE_EXTS_PER_PAGE);

    do {
        at = *next;
        if (at % LIVE_PAGE == 0) {
            at = new_page(t, kind, nodes ? &t->node_page : &t->ext_page);
            if (!at)
                return 0;
            /* This may replace a handler's page, whose other slots then stay empty. */
            tgt_put(next, at + 2 * bytes);
            return at + bytes;
        }
    } while (!tgt_swap_if(next, at, at + bytes));
    return at;
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
    rt_node_refresh(n, t); /* after publishing the node: no change of mode is missed */
    if (parent)
        do
            n->sibling = parent->child;
        while (!tgt_swap_if(&parent->child, n->sibling, (uint64_t)(uintptr_t)n));
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
                FATHOM_PUT_(n->site, key->site); /* its library was loaded again */
            return n;
        }
    }
    return rt_node_new(t, parent, key);
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
    if (!n->ext)
        tgt_swap_if(&n->ext, 0, take_slot(t, LIVE_EXTRAS)); /* unless a handler set it first */
    return (struct live_ext *)(uintptr_t)n->ext;
}

/* ---- Sites with a mode of their own ---- */

static uint64_t random_next(struct live_thread *t)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return t->random;
}

/* Whether to time this call of a sampled site.  The gaps are random with mean N. */
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

struct fathom_zone rt_begin(struct live_thread *t, struct fathom_node_ *n)
{
    struct fathom_zone z = { n, 0 };
    uint32_t special = FATHOM_GET_(n->special);

    FATHOM_PUT_(t->hot.cur, n);
    FATHOM_ORDER_();
    if (special & (LIVE_COUNTED | LIVE_SAMPLED)) {
        struct live_ext *x = n->ext ? (struct live_ext *)(uintptr_t)n->ext : rt_ext(t, n);

        if (x && (special & LIVE_COUNTED || !is_turn(t, n, x))) {
            FATHOM_PUT_(n->open, 0);
            tgt_bump(&n->count, 1);
            tgt_bump(&x->untimed, 1);
            return z;
        }
    }
    z.start = special & LIVE_SLOW_CLOCK ? fathom_now_ns() : fathom_cycles();
    FATHOM_PUT_(n->open, z.start);
    return z;
}

/* A new site, or a new thread. */
static struct fathom_zone begin_first(struct fathom_site *s)
{
    struct fathom_zone none = { NULL, 0 };
    struct live_thread *t;
    struct fathom_node_ *n;

    if (!rt_site_usable(s))
        return none;
    t = rt_thread();
    n = t ? fathom_child_(&t->hot, s) : NULL;
    return n ? rt_begin(t, n) : none;
}

struct fathom_zone fathom_begin_(struct fathom_site *s)
{
    struct fathom_thread_ *t = fathom_thread_now_;
    struct fathom_node_ *n;

    if (t && FATHOM_GET_(s->mode) == 3) {
        n = t->cache[fathom_slot_(t->cur, s)];
        if (n && n->parent == t->cur && FATHOM_GET_(n->site) == s)
            return rt_begin(rt_of(t), n);
    }
    return begin_first(s);
}

uint64_t rt_end_ticks(const struct fathom_node_ *n)
{
    uint32_t special = FATHOM_GET_(n->special);

    return special & LIVE_SLOW_CLOCK ? fathom_now_ns()
           : special & LIVE_PRECISE  ? rt_fenced_cycles()
                                     : fathom_cycles();
}

void fathom_end_(struct fathom_zone *z)
{
    struct fathom_node_ *n = z->node;
    struct live_thread *t = rt_of(fathom_thread_now_);
    uint64_t now = rt_end_ticks(n);

    if (!t)
        return;
    if (FATHOM_RARE_(FATHOM_GET_(n->special) & LIVE_CLEARED))
        rt_thread_forget(t);
    FATHOM_PUT_(n->open, 1);
    FATHOM_ORDER_();
    fathom_count_(n, z->start, now - z->start);
    FATHOM_PUT_(t->hot.cur, n->parent);
}
