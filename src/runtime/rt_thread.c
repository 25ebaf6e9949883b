/* rt_thread.c - a thread's part of the region.  It is created at the thread's first zone.  When
 * the thread ends, it is merged into the ended threads of the same name, so that many short
 * threads take no more room than one.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/tgt_guard.h"

static pthread_key_t thread_key;
static bool have_key;
static __thread bool thread_ended; /* measure nothing more */

static struct live_thread *thread_at(uint64_t address)
{
    return (struct live_thread *)(uintptr_t)address;
}

static struct live_chunk *chunk_at(uint64_t address)
{
    return (struct live_chunk *)(uintptr_t)address;
}

static struct fathom_node_ *node_at(uint64_t address)
{
    return (struct fathom_node_ *)(uintptr_t)address;
}

static uint64_t next_page(uint64_t page)
{
    return ((struct live_slot0 *)(uintptr_t)page)->next;
}

/* Reuse the page of an ended thread, or add a new one at the head of the list. */
static struct live_thread *take_thread(void)
{
    struct live_thread *t;
    uint64_t page, head;

    for (head = __atomic_load_n(&rt.threads, __ATOMIC_ACQUIRE); head;
         head = thread_at(head)->next) {
        uint32_t unused = 0;

        if (__atomic_compare_exchange_n(&thread_at(head)->state, &unused, 3, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return thread_at(head);
    }
    page = rt_page_take();
    if (!page)
        return NULL;
    t = thread_at(page);
    t->state = 3;
    rt_page_show(page, LIVE_THREAD);
    head = __atomic_load_n(&rt.threads, __ATOMIC_RELAXED);
    do
        t->next = head;
    while (!__atomic_compare_exchange_n(&rt.threads, &head, page, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
    return t;
}

static void clean(struct live_thread *t)
{
    uint64_t next = t->next;

    memset(t, 0, offsetof(struct live_thread, next));
    memset((char *)t + offsetof(struct live_thread, root), 0,
           offsetof(struct live_thread, state) - offsetof(struct live_thread, root));
    memset((char *)t + offsetof(struct live_thread, ended), 0,
           sizeof *t - offsetof(struct live_thread, ended));
    t->next = next;
}

struct live_thread *rt_thread_new(uint32_t tid)
{
    struct rt_key root_key = { NULL, 0, 0, 0, 0 };
    struct live_thread *t = take_thread();
    struct fathom_node_ *root;

    if (!t)
        return NULL;
    clean(t);
    t->tid = tid;
    t->start_ticks = rt_ticks();
    t->random = t->start_ticks | 1;
    tgt_put(&t->epoch, __atomic_load_n(&rt.head->epoch, __ATOMIC_RELAXED));
    root = rt_node_new(t, NULL, &root_key);
    if (!root) {
        __atomic_store_n(&t->state, 0, __ATOMIC_RELEASE);
        return NULL;
    }
    t->root = (uint64_t)(uintptr_t)root;
    FATHOM_PUT_(t->hot.cur, root);
    return t;
}

struct live_thread *rt_thread(void)
{
    struct live_thread *t = rt_of(fathom_thread_now_);
    char name[16] = "";
    TGT_KEEP_ERRNO();

    if (t || !rt.head)
        return t;
    if (thread_ended) { /* called by a destructor that runs after ours */
        rt_lose(FATHOM_LOST_THREAD, 1);
        return NULL;
    }
    prctl(PR_GET_NAME, name);
    t = rt_thread_new((uint32_t)syscall(SYS_gettid));
    if (!t) {
        rt_lose(FATHOM_LOST_THREAD, 1);
        return NULL;
    }
    if (tgt_lock_unless_held(&rt.lock)) {
        FATHOM_PUT_(t->name, rt_name(name));
        tgt_unlock(&rt.lock);
    }
    __atomic_store_n(&t->state, 1, __ATOMIC_RELEASE);
    fathom_thread_now_ = &t->hot; /* one that a handler created meanwhile stays in the report */
    if (have_key)
        pthread_setspecific(thread_key, t);
    return t;
}

void fathom_thread_name(const char *name)
{
    struct live_thread *t = rt.head ? rt_thread() : NULL;
    uint64_t page;

    if (!t)
        return;
    tgt_lock(&rt.lock);
    FATHOM_PUT_(t->name, rt_name(name));
    page = rt_ring_page(FATHOM_GET_(t->hot.ring[0]));
    if (page)
        FATHOM_PUT_(chunk_at(page)->name, t->name);
    for (page = t->oldest; page; page = chunk_at(page)->next)
        FATHOM_PUT_(chunk_at(page)->name, t->name);
    tgt_unlock(&rt.lock);
}

/* ---- Clearing ---- */

static void zero_words(uint64_t address, size_t bytes)
{
    for (size_t i = 0; i < bytes / 8; i++)
        tgt_put((uint64_t *)(uintptr_t)address + i, 0);
}

static void zero_node(struct fathom_node_ *n, struct live_thread *t)
{
    if (t->tid == 0)
        tgt_put(&n->open, 0);
    tgt_put(&n->count, 0);
    tgt_put(&n->total, 0);
    tgt_put(&n->min, UINT64_MAX);
    tgt_put(&n->max, 0);
    tgt_put(&n->squares, 0);
    tgt_put(&n->first, 0);
    if (n->hist && n->hist != rt.no_histogram)
        zero_words(n->hist, LIVE_PAGE);
    if (n->ext)
        zero_words(n->ext, sizeof(struct live_ext));
}

/* Free nothing while a reader is active: remaining pages hold records from before the clear, and
 * readers skip those.  Detach the list first, then the ring's page: a page that a handler opens
 * meanwhile is appended to the detached list or starts a new one. */
static void free_trace(struct live_thread *t, bool locked)
{
    bool free = tgt_lock_try(&rt.lock); /* this may be a handler: never wait */
    uint64_t page;

    if (!free || (!locked && !tgt_lock_try(&rt.threads_lock))) {
        if (free)
            tgt_unlock(&rt.lock);
        return;
    }
    page = __atomic_exchange_n(&t->oldest, 0, __ATOMIC_RELAXED);
    __atomic_exchange_n(&t->hot.ring[1], 0, __ATOMIC_RELAXED);
    while (page) {
        uint64_t next = chunk_at(page)->next;

        rt_page_free(page);
        page = next;
        __atomic_sub_fetch(&rt.trace_pages, 1, __ATOMIC_RELAXED);
    }
    tgt_unlock(&rt.lock);
    if (!locked)
        tgt_unlock(&rt.threads_lock);
}

static void each_node(struct live_thread *t,
                      void (*visit)(struct fathom_node_ *, struct live_thread *))
{
    for (uint64_t page = __atomic_load_n(&t->node_page, __ATOMIC_ACQUIRE); page;
         page = next_page(page))
        for (int i = 1; i < LIVE_NODES_PER_PAGE; i++)
            if (__atomic_load_n(&node_at(page)[i].seq, __ATOMIC_ACQUIRE))
                visit(&node_at(page)[i], t);
}

void rt_thread_refresh(struct live_thread *t)
{
    each_node(t, rt_node_refresh);
}

static void mark_node(struct fathom_node_ *n, struct live_thread *t)
{
    (void)t;
    __atomic_fetch_or(&n->special, LIVE_CLEARED, __ATOMIC_RELAXED);
}

void rt_thread_mark_cleared(struct live_thread *t)
{
    each_node(t, mark_node);
}

static void zero_records(uint64_t page)
{
    if (page)
        zero_words(page + LIVE_HEAD, LIVE_PAGE - LIVE_HEAD);
}

void rt_thread_reset(struct live_thread *t, bool locked)
{
    uint64_t epoch;

    t->busy++;
    do {
        epoch = __atomic_load_n(&rt.head->epoch, __ATOMIC_SEQ_CST);
        each_node(t, zero_node);
        for (int i = 0; i < FATHOM_LOST_CAUSES; i++)
            tgt_put(&t->lost[i], 0);
        free_trace(t, locked);
        zero_records(rt_ring_page(FATHOM_GET_(t->hot.ring[0])));
        for (int i = 0; i < LIVE_SPARES; i++)
            zero_records(t->waiting[i]);
        __atomic_store_n(&t->trace_full, 0, __ATOMIC_RELAXED);
        __atomic_exchange_n(&t->epoch, epoch, __ATOMIC_SEQ_CST);
        rt_thread_refresh(t);
    } while (epoch != __atomic_load_n(&rt.head->epoch, __ATOMIC_SEQ_CST));
    t->busy--;
}

bool rt_is_counting(const struct fathom_node_ *n)
{
    for (; n; n = n->parent)
        if (FATHOM_GET_(n->open) == 1)
            return true;
    return false;
}

void rt_thread_forget(struct live_thread *t)
{
    if (rt_was_cleared(t) && !t->busy && !rt_is_counting(FATHOM_GET_(t->hot.cur)))
        rt_thread_reset(t, false);
}

/* ---- The end of a thread ---- */

static struct live_thread *ended_of(uint32_t name)
{
    struct live_thread *t;

    for (t = rt_first_thread(); t; t = rt_next_thread(t))
        if (__atomic_load_n(&t->state, __ATOMIC_ACQUIRE) == 2 && t->name == name)
            return t;
    t = rt_thread_new(0);
    if (t) {
        FATHOM_PUT_(t->name, name);
        __atomic_store_n(&t->state, 2, __ATOMIC_RELEASE);
    }
    return t;
}

static void add_ext(struct live_ext *to, const struct live_ext *from)
{
    uint64_t *a = (uint64_t *)to;
    const uint64_t *b = (const uint64_t *)from;
    size_t key_first = offsetof(struct live_ext, key) / 8;
    size_t value = offsetof(struct live_ext, last) / 8;

    tgt_add(&to->untimed, from->untimed);
    tgt_add(&to->allocs, from->allocs);
    tgt_add(&to->repeats, from->repeats);
    for (size_t i = 2; i < key_first; i++)
        rt_fadd(&a[i], live_double(b[i]));
    if (live_double(from->low) < live_double(to->low) || !to->last)
        tgt_put(&to->low, from->low);
    if (live_double(from->high) > live_double(to->high) || !to->last)
        tgt_put(&to->high, from->high);
    tgt_put(&a[value], b[value]);
}

static void add_hist(struct fathom_node_ *to, struct fathom_node_ *from)
{
    uint64_t *a, *b;

    if (!from->hist || from->hist == rt.no_histogram)
        return;
    if (!to->hist) { /* pass the page on */
        __atomic_store_n(&to->hist, from->hist, __ATOMIC_RELEASE);
        from->hist = 0;
        return;
    }
    a = (uint64_t *)(uintptr_t)to->hist;
    b = (uint64_t *)(uintptr_t)from->hist;
    for (int i = 0; i < LIVE_BUCKETS; i++)
        tgt_add(&a[i], b[i]);
}

static void add_node(struct live_thread *t, struct fathom_node_ *to, struct fathom_node_ *from)
{
    if (!to->count)
        tgt_put(&to->first, from->first);
    tgt_add(&to->count, from->count);
    tgt_add(&to->total, from->total);
    if (from->total > to->open)
        tgt_put(&to->open, from->total); /* ended: here the maximum of one thread */
    if (from->min < to->min)
        tgt_put(&to->min, from->min);
    if (from->max > to->max)
        tgt_put(&to->max, from->max);
    rt_fadd(&to->squares, live_double(from->squares));
    if (from->hist == rt.no_histogram)
        to->hist = from->hist;
    add_hist(to, from);
    if (from->ext && rt_ext(t, to))
        add_ext((struct live_ext *)(uintptr_t)to->ext, (struct live_ext *)(uintptr_t)from->ext);
}

/* Preorder without recursion.  The `open` word of a node then holds where it was merged. */
static void add_tree(struct live_thread *to, struct live_thread *from)
{
    struct fathom_node_ *root = node_at(from->root), *n = root;

    root->open = to->root;
    while (n) {
        struct fathom_node_ *next = node_at(n->child);

        while (!next && n != root) {
            next = node_at(n->sibling);
            n = n->parent;
        }
        n = next;
        if (n) {
            struct rt_key k = { FATHOM_GET_(n->site), n->site_id, n->special, n->backend,
                                n->label };
            struct fathom_node_ *parent = node_at(n->parent->open), *twin = NULL;

            if (parent)
                twin = rt_child(to, parent, &k);
            n->open = (uint64_t)(uintptr_t)twin;
            if (twin)
                add_node(to, twin, n);
        }
    }
}

static void move_records(uint64_t page)
{
    uint64_t *r = (uint64_t *)(uintptr_t)(page + LIVE_HEAD);

    for (int i = 0; i < LIVE_RECORDS; i++, r += 2) {
        uint64_t to;

        if (!r[0])
            continue;
        to = rt_record_node(r[1])->open;
        tgt_put(&r[1], (r[1] & ~(uint64_t)0xffffff) | (to >> 7 & 0xffffff));
        if (!to)
            tgt_put(&r[0], 0);
        if (r[1] >> 24 >= LIVE_VALUE && i + 1 < LIVE_RECORDS) {
            i++;
            r += 2;
        }
    }
}

static void move_trace(struct live_thread *to, struct live_thread *from)
{
    uint64_t page = from->oldest, last = 0;

    for (; page; page = chunk_at(page)->next) {
        move_records(page);
        last = page;
    }
    if (last) {
        chunk_at(last)->next = to->oldest;
        to->oldest = from->oldest;
    }
}

static void free_list(uint64_t page)
{
    while (page) {
        uint64_t next = next_page(page);

        rt_page_free(page);
        page = next;
    }
}

static void free_histogram(struct fathom_node_ *n, struct live_thread *t)
{
    (void)t;
    if (n->hist && n->hist != rt.no_histogram)
        rt_page_free(n->hist);
}

static void free_pages(struct live_thread *t)
{
    uint64_t scratch = rt_ring_page(t->hot.ring[0]);

    each_node(t, free_histogram);
    free_list(t->node_page);
    free_list(t->ext_page);
    if (scratch)
        rt_page_free(scratch);
    for (int i = 0; i < LIVE_SPARES; i++) {
        if (!t->spare[i])
            continue;
        __atomic_sub_fetch(&rt.trace_pages, chunk_at(t->spare[i])->trace, __ATOMIC_RELAXED);
        rt_page_free(t->spare[i]);
    }
}

static void thread_end(void *arg)
{
    struct live_thread *t = arg, *to;
    TGT_KEEP_ERRNO();

    fathom_thread_now_ = NULL;
    thread_ended = true;
    if (!rt.head || __atomic_load_n(&t->state, __ATOMIC_ACQUIRE) != 1)
        return;
    if (rt_was_cleared(t))
        rt_thread_reset(t, false);
    rt_fold_waiting(t);
    if (rt_ring_page(t->hot.ring[0]))
        rt_fold(t, rt_ring_page(t->hot.ring[0]));
    tgt_lock(&rt.threads_lock);
    to = ended_of(t->name);
    if (!to) {
        tgt_unlock(&rt.threads_lock);
        return; /* leave it as it is: this costs room, but no data */
    }
    if (to->epoch != t->epoch)
        rt_thread_reset(to, true);
    add_tree(to, t);
    move_trace(to, t);
    to->ended++;
    for (int i = 0; i < FATHOM_LOST_CAUSES; i++)
        tgt_add(&to->lost[i], t->lost[i]);
    tgt_lock(&rt.lock);
    free_pages(t);
    __atomic_store_n(&t->node_page, 0, __ATOMIC_RELEASE); /* no reader walks freed pages */
    t->root = t->ext_page = t->oldest = t->hot.ring[0] = t->hot.ring[1] = 0;
    tgt_unlock(&rt.lock);
    __atomic_store_n(&t->state, 0, __ATOMIC_RELEASE);
    tgt_unlock(&rt.threads_lock);
}

void rt_thread_init(void)
{
    have_key = have_key || pthread_key_create(&thread_key, thread_end) == 0;
}
