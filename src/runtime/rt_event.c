/* rt_event.c - operations, counters, gauges, frames, flows, pools, contexts, locks: everything but
 * plain zones.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <string.h>

enum { MAX_LABELS = 64 };

/* ---- Numbers of names, found without a lock once they exist ---- */

static uint32_t find_name(const char *text)
{
    uint32_t n = __atomic_load_n(&rt.head->n_names, __ATOMIC_ACQUIRE), found = 0;

    if (!text || !*text)
        return 0;
    for (uint32_t i = 1; i < n; i++)
        if (strcmp(rt_name_text(i), text) == 0)
            return i;
    if (tgt_lock_unless_held(&rt.lock)) {
        found = rt_name(text);
        tgt_unlock(&rt.lock);
    }
    return found;
}

/* A site has at most a few labels with a row of their own; the rest share "other". */
static uint32_t bounded_label(struct fathom_node_ *parent, uint32_t site_id, const char *text)
{
    uint32_t label = find_name(text), n = 0;

    if (!text || !*text)
        return 0;
    for (struct fathom_node_ *c = (struct fathom_node_ *)(uintptr_t)parent->child; c;
         c = (struct fathom_node_ *)(uintptr_t)c->sibling) {
        if (c->site_id != site_id || !c->label)
            continue;
        if (c->label == label)
            return label;
        n++;
    }
    if (label && n < MAX_LABELS)
        return label;
    rt_lose(FATHOM_LOST_LABEL, 1);
    return find_name("other");
}

static struct live_thread *usable(struct fathom_site *s)
{
    struct live_thread *t = rt_of(fathom_thread_now_);

    if (FATHOM_RARE_(!t || !(FATHOM_GET_(s->mode) & 1)))
        t = rt_site_usable(s) ? rt_thread() : NULL;
    if (FATHOM_RARE_(t && rt_was_cleared(t)))
        rt_thread_forget(t);
    return t;
}

/* ---- Operations ---- */

static bool is_backend(const struct fathom_node_ *n, const char *backend)
{
    const char *known = rt_name_text(n->backend);

    if (!backend)
        return !n->backend;
    while (*known && *known == *backend) {
        known++;
        backend++;
    }
    return *known == *backend;
}

/* Look up by site and by the address of the backend's text, then verify the text itself. */
static struct fathom_node_ *op_node(struct live_thread *t, struct fathom_site *s,
                                    const char *backend)
{
    struct fathom_node_ *cur = t->hot.cur;
    struct rt_key key = { s, s->id, LIVE_IS_OP, 0, 0 };
    uint32_t slot = (fathom_slot_(cur, s) ^ (uint32_t)((uintptr_t)backend * 0x9e3779b1u >> 24)) %
                    FATHOM_CACHE_;
    struct fathom_node_ *n = t->hot.cache[slot];

    if (n && n->parent == cur && FATHOM_GET_(n->site) == s && !n->label && is_backend(n, backend))
        return n;
    key.backend = find_name(backend);
    n = rt_child(t, cur, &key);
    if (n)
        t->hot.cache[slot] = n;
    return n;
}

struct fathom_op fathom_op_begin_(struct fathom_site *s, uint64_t bytes, const char *backend)
{
    struct fathom_op op = { { NULL, 0 }, bytes, 0, 0 };
    struct live_thread *t = usable(s);
    struct fathom_node_ *n = t ? op_node(t, s, backend) : NULL;

    if (n)
        op.zone = rt_begin(t, n);
    return op;
}

/* log2 to 0.001: the exponent plus a parabola for the mantissa.  Precise enough for slopes. */
static double rough_log2(uint64_t bits)
{
    double f = live_double((bits & 0xfffffffffffffu) | (uint64_t)1023 << 52) - 1;

    return (double)((int64_t)(bits >> 52) - 1023) + f * (1.4232 + f * (-0.5846 + f * 0.1614));
}

/* Sums for the fits of time over size, of log time over log size and of duration over time.  The
 * sums of 1, ticks and their squares are those of the node. */
static void fit(struct live_ext *x, double bytes, double ticks, double seconds)
{
    rt_fadd(&x->x, bytes);
    rt_fadd(&x->xx, bytes * bytes);
    rt_fadd(&x->xy, bytes * ticks);
    rt_fadd(&x->t, seconds);
    rt_fadd(&x->tt, seconds * seconds);
    rt_fadd(&x->ty, seconds * ticks);
    if (bytes > 0 && ticks > 0) {
        double lx = rough_log2(live_bits(bytes)), ly = rough_log2(live_bits(ticks));

        rt_fadd(&x->ln, 1);
        rt_fadd(&x->lx, lx);
        rt_fadd(&x->ly, ly);
        rt_fadd(&x->lxx, lx * lx);
        rt_fadd(&x->lxy, lx * ly);
    }
}

static void note_repeat(struct live_ext *x, const struct fathom_op *op)
{
    uint64_t key = (op->bytes * 0x9e3779b97f4a7c15u ^ op->tag) | 1;

    for (int i = 0; i < 4; i++) {
        if (x->key[i] == key) {
            tgt_add(&x->repeats, 1);
            return;
        }
    }
    tgt_put(&x->key[x->key_at++ % 4], key);
}

/* Do this before leaving the node: the same operation in a handler is then below it. */
void fathom_op_end_(struct fathom_op *op)
{
    struct fathom_node_ *n = op->zone.node;
    struct live_thread *t = rt_of(fathom_thread_now_);
    uint64_t start = op->zone.start, ticks = start ? rt_end_ticks(n) - start : 0;
    struct live_ext *x;

    if (!t)
        return;
    if (FATHOM_RARE_(FATHOM_GET_(n->special) & LIVE_CLEARED))
        rt_thread_forget(t);
    if (start) {
        FATHOM_PUT_(n->open, 1);
        FATHOM_ORDER_();
        fathom_count_(n, start, ticks);
    }
    x = rt_ext(t, n);
    if (x) {
        rt_fadd(&x->bytes, (double)op->bytes);
        if (op->work)
            rt_fadd(&x->work, (double)op->work);
        if (start)
            fit(x, (double)op->bytes, (double)ticks,
                (double)(start - rt.head->start_ticks) * 1e-9);
        if (op->tag)
            note_repeat(x, op);
    }
    FATHOM_ORDER_();
    FATHOM_PUT_(t->hot.cur, n->parent);
}

/* Move the operation to another row of the report, as if it had begun there. */
static void move_op(struct fathom_op *op, struct rt_key *key)
{
    struct live_thread *t = rt_of(fathom_thread_now_);
    struct fathom_node_ *n = op->zone.node, *to;

    if (!t || t->hot.cur != n)
        return; /* a zone inside is still open: do not move */
    to = rt_child(t, n->parent, key);
    if (!to)
        return;
    op->zone.node = to;
    FATHOM_PUT_(to->open, op->zone.start);
    FATHOM_PUT_(t->hot.cur, to);
}

void fathom_op_backend(struct fathom_op *op, const char *backend)
{
    struct fathom_node_ *n = op->zone.node;

    if (n) {
        struct rt_key key = { n->site, n->site_id, n->special, find_name(backend), n->label };

        move_op(op, &key);
    }
}

void fathom_op_label(struct fathom_op *op, const char *label)
{
    struct fathom_node_ *n = op->zone.node;

    if (n) {
        struct rt_key key = { n->site, n->site_id, n->special, n->backend,
                              bounded_label(n->parent, n->site_id, label) };

        move_op(op, &key);
    }
}

/* ---- Counters, gauges, instants, frames, flows ---- */

static void set_value(struct live_ext *x, double value, bool first)
{
    tgt_put(&x->last, live_bits(value));
    if (first || value < live_double(x->low))
        tgt_put(&x->low, live_bits(value));
    if (first || value > live_double(x->high))
        tgt_put(&x->high, live_bits(value));
}

/* A handler that interrupts an event uses a node of its own (with a backend number that names
 * nothing), so that only one of them changes a sum.  Reports add up the nodes. */
static struct fathom_node_ *event_node(struct live_thread *t, struct fathom_site *s,
                                       const char *label)
{
    struct fathom_node_ *root = (struct fathom_node_ *)(uintptr_t)t->root, *n;
    struct rt_key key = { s, s->id, 0, t->busy ? 0xffff - (t->busy & 15) : 0, 0 };
    bool cached = !label && !t->busy;

    n = cached ? t->hot.cache[fathom_slot_(root, s)] : NULL;
    if (n && n->parent == root && FATHOM_GET_(n->site) == s)
        return n;
    if (label)
        key.label = bounded_label(root, s->id, label);
    n = rt_child(t, root, &key);
    if (n && cached)
        t->hot.cache[fathom_slot_(root, s)] = n;
    if (n && !n->hist && s->kind != LIVE_FRAME && s->kind != LIVE_LOCK_HOLD)
        tgt_put(&n->hist, rt.no_histogram); /* readers may see it */
    return n;
}

static bool is_traced(const struct fathom_node_ *n, struct live_thread *t)
{
    return FATHOM_GET_(n->ring) == &t->hot.ring[1];
}

static void enter(struct live_thread *t)
{
    t->busy++;
    FATHOM_ORDER_();
}

static void leave(struct live_thread *t)
{
    FATHOM_ORDER_();
    t->busy--;
}

static void frame(struct live_thread *t, struct fathom_node_ *n, uint64_t now)
{
    uint64_t last = n->open;

    FATHOM_PUT_(n->open, now);
    if (last && t->hot.cur != n)
        fathom_count_(n, last, now - last);
}

void fathom_event_(struct fathom_site *s, double value, uint64_t id, const char *label)
{
    struct live_thread *t = usable(s);
    struct fathom_node_ *n = t ? event_node(t, s, label) : NULL;
    struct live_ext *x;
    uint64_t bits = s->kind == LIVE_FLOW ? id : live_bits(value);

    if (!n)
        return;
    enter(t);
    if (s->kind == LIVE_FRAME) {
        frame(t, n, rt_ticks());
        leave(t);
        return;
    }
    if ((s->kind == LIVE_COUNTER || s->kind == LIVE_GAUGE) && (x = rt_ext(t, n))) {
        rt_fadd(&x->bytes, value);
        if (s->kind == LIVE_GAUGE)
            set_value(x, value, n->count == 0);
        else
            bits = x->bytes; /* a trace shows the running sum */
    }
    tgt_add(&n->count, 1);
    if (is_traced(n, t) && s->kind == LIVE_INSTANT)
        rt_write(t, n, rt_ticks(), 0, NULL);
    else if (is_traced(n, t))
        rt_write(t, n, rt_ticks(), 0, &bits);
    leave(t);
}

/* ---- Pools: use belongs to the program, allocations to the current zone ---- */

void fathom_pool_(struct fathom_site *s, int64_t bytes)
{
    struct live_thread *t = usable(s);
    struct fathom_node_ *n = t ? event_node(t, s, NULL) : NULL;
    struct live_ext *x = n ? rt_ext(t, n) : NULL;
    struct fathom_node_ *in = t ? t->hot.cur : NULL;
    double use;

    if (!x)
        return;
    enter(t);
    use = (n->count ? live_double(x->last) : 0) + (double)bytes;
    set_value(x, use, n->count == 0);
    tgt_add(&n->count, 1);
    if (bytes > 0) {
        rt_fadd(&x->bytes, (double)bytes);
        x = in->parent ? rt_ext(t, in) : NULL;
        if (x) {
            tgt_bump(&x->allocs, 1);
            rt_fbump(&x->alloc_bytes, (double)bytes);
        }
    }
    if (is_traced(n, t))
        rt_write(t, n, rt_ticks(), 0, &((struct live_ext *)(uintptr_t)n->ext)->last);
    leave(t);
}

/* ---- Contexts: nodes with a context number instead of a site ---- */

static struct live_context *contexts(void)
{
    return (struct live_context *)(uintptr_t)(rt.pool.base +
                                              (uint64_t)rt.head->contexts_page * LIVE_PAGE);
}

static uint32_t find_context(uint32_t parent, uint32_t name)
{
    uint32_t n = __atomic_load_n(&rt.head->n_contexts, __ATOMIC_ACQUIRE);

    for (uint32_t i = 1; i < n; i++)
        if (contexts()[i].parent == parent && contexts()[i].name == name)
            return i;
    return 0;
}

static uint32_t context_number(uint32_t parent, uint32_t name)
{
    uint32_t found = find_context(parent, name), n;

    if (found || !tgt_lock_unless_held(&rt.lock))
        return found;
    n = rt.head->n_contexts;
    found = find_context(parent, name);
    if (!found && n < LIVE_MAX_CONTEXTS) {
        contexts()[n] = (struct live_context){ parent, name };
        __atomic_store_n(&rt.head->n_contexts, n + 1, __ATOMIC_RELEASE);
        found = n;
    }
    tgt_unlock(&rt.lock);
    return found;
}

fathom_context fathom_context_now(void)
{
    struct fathom_thread_ *t = fathom_thread_now_;

    for (struct fathom_node_ *n = t ? t->cur : NULL; n; n = n->parent)
        if (n->site_id == 0 && n->backend)
            return n->backend;
    return 0;
}

struct fathom_zone fathom_context_enter(fathom_context c)
{
    struct fathom_zone z = { NULL, 0 };
    struct live_thread *t = rt.enabled ? rt_thread() : NULL;
    struct fathom_node_ *n;

    if (!t || c == 0 || c >= __atomic_load_n(&rt.head->n_contexts, __ATOMIC_ACQUIRE))
        return z;
    struct rt_key key = { NULL, 0, LIVE_IS_CONTEXT, c, contexts()[c].name };
    n = rt_child(t, t->hot.cur, &key);
    if (!n)
        return z;
    tgt_put(&n->hist, rt.no_histogram);
    tgt_add(&n->count, 1);
    FATHOM_PUT_(t->hot.cur, n);
    z.node = n;
    return z;
}

void fathom_context_leave(struct fathom_zone *z)
{
    if (z->node && fathom_thread_now_)
        FATHOM_PUT_(fathom_thread_now_->cur, z->node->parent);
}

void fathom_context_push_(struct fathom_zone *z, const char *name)
{
    uint32_t number;

    if (!rt.enabled || !rt_thread())
        return;
    number = find_name(name);
    if (number)
        *z = fathom_context_enter(context_number(fathom_context_now(), number));
}

void fathom_context_pop_(struct fathom_zone *z)
{
    fathom_context_leave(z);
}

/* ---- Locks ---- */

static struct fathom_site *lock_site(struct fathom_site **slot, const char *name, int kind)
{
    struct fathom_site *s = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

    if (!s && rt.head) {
        s = fathom_site_get(name, "lock", NULL, 0, kind);
        __atomic_store_n(slot, s, __ATOMIC_RELEASE);
    }
    return s;
}

struct fathom_zone fathom_lock_wait(struct fathom_lock *l)
{
    struct fathom_zone none = { NULL, 0 };
    struct fathom_site *s = lock_site(&l->wait, l->name, LIVE_LOCK_WAIT);

    return s ? fathom_begin(s) : none;
}

void fathom_lock_got(struct fathom_lock *l, struct fathom_zone *z)
{
    fathom_end(z);
    l->held_since = z->node ? rt_ticks() : 0;
}

/* Held time need not nest with zones, so it has a row of its own below the root. */
void fathom_lock_release(struct fathom_lock *l)
{
    struct fathom_site *s = lock_site(&l->hold, l->name, LIVE_LOCK_HOLD);
    struct live_thread *t = s && l->held_since ? usable(s) : NULL;
    struct fathom_node_ *n = t ? event_node(t, s, NULL) : NULL;

    if (n) {
        enter(t);
        fathom_count_(n, l->held_since, rt_ticks() - l->held_since);
        leave(t);
    }
    l->held_since = 0;
}
