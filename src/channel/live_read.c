/* live_read.c - see live_read.h; live.h describes the layout.  The tree is acyclic by
 * construction: a node is accepted only if its parent has a lower seq.
 * SPDX-License-Identifier: Apache-2.0 */
#include "channel/live_read.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_PAGES = 1 << 19 };

double live_ns_per_tick(const struct live_header *h)
{
    double ticks = (double)(int64_t)(h->last_ticks - h->start_ticks);
    double ns = (double)(int64_t)(h->last_ns - h->start_ns);

    if (h->clock == LIVE_NANOSECONDS || !(ticks > 0) || !(ns > 0))
        return 1;
    return ns / ticks > 1e-3 && ns / ticks < 1e3 ? ns / ticks : 1; /* outside: damaged */
}

double live_ns_at(const struct live_header *h, uint64_t ticks)
{
    return (double)h->start_ns +
           (double)(int64_t)(ticks - h->start_ticks) * live_ns_per_tick(h);
}

uint64_t live_boot_id(void)
{
    char text[40] = "";
    uint64_t h = 0xcbf29ce484222325u;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);

    if (fd >= 0)
        close(fd);
    for (ssize_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return n > 0 ? h | 1 : 0;
}

static void sift(uint64_t *key, size_t at, size_t n)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        uint64_t x = key[at];

        if (child + 1 < n && key[child + 1] > key[child])
            child++;
        if (x >= key[child])
            return;
        key[at] = key[child];
        key[child] = x;
    }
}

void live_sort_u64(uint64_t *key, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(key, i, n);
    for (size_t end = n; end-- > 1;) {
        uint64_t x = key[0];

        key[0] = key[end];
        key[end] = x;
        sift(key, 0, end);
    }
}

/* ---- Bounded access ---- */

static uint8_t kind_of(const struct live_view *v, uint64_t page)
{
    if (page >= v->head.n_pages)
        return LIVE_FREE;
    return __atomic_load_n(v->data + LIVE_PAGE + page, __ATOMIC_ACQUIRE);
}

static const void *page_data(const struct live_view *v, uint64_t page)
{
    return v->data + page * LIVE_PAGE;
}

/* Page number of an address of the writer if the page is of KIND; else 0 (the header). */
static uint64_t page_of(const struct live_view *v, uint64_t address, enum live_kind kind)
{
    uint64_t page = (address - v->head.base) / LIVE_PAGE;

    return address >= v->head.base && kind_of(v, page) == kind ? page : 0;
}

static const char *text_at(const struct live_view *v, uint32_t ref)
{
    const char *s = (const char *)v->data + ref;
    size_t left = LIVE_PAGE - ref % LIVE_PAGE;

    if (ref == 0 || kind_of(v, ref / LIVE_PAGE) != LIVE_STRINGS || !memchr(s, 0, left))
        return "";
    return s;
}

static const char *name_at(const struct live_view *v, uint32_t name)
{
    const uint32_t *refs = page_data(v, v->head.names_page);

    if (name == 0 || name >= LIVE_MAX_NAMES || kind_of(v, v->head.names_page) != LIVE_NAMES)
        return "";
    return text_at(v, __atomic_load_n(&refs[name], __ATOMIC_RELAXED));
}

static const struct live_site *site_at(const struct live_view *v, uint32_t id)
{
    uint32_t page;

    if (id == 0 || id > LIVE_MAX_SITES)
        return NULL;
    page = v->head.site_page[(id - 1) / LIVE_SITES_PER_PAGE];
    if (kind_of(v, page) != LIVE_SITES)
        return NULL;
    return (const struct live_site *)page_data(v, page) + (id - 1) % LIVE_SITES_PER_PAGE;
}

/* ---- Opening ---- */

static int fail(struct live_view *v, const char *why)
{
    v->why = why;
    return -1;
}

static int check_header(struct live_view *v)
{
    struct live_header *h = &v->head;

    if (v->size < 2 * LIVE_PAGE)
        return fail(v, "too short");
    memcpy(h, v->data, sizeof *h);
    if (memcmp(h->magic, LIVE_MAGIC, 8) != 0)
        return fail(v, "not a live file");
    if (h->version != LIVE_VERSION || h->page_bytes != LIVE_PAGE)
        return fail(v, "unsupported version");
    if (h->n_pages > MOST_PAGES || h->base % LIVE_PAGE != 0)
        return fail(v, "too large");
    if (h->n_pages > v->size / LIVE_PAGE)
        h->n_pages = (uint32_t)(v->size / LIVE_PAGE); /* truncated */
    if (h->n_pages < 2 || h->n_pages > (v->size - LIVE_PAGE))
        return fail(v, "too short");
    v->now = h->last_ticks;
    return 0;
}

static void count_pages(const struct live_view *v, uint32_t *nodes, uint32_t *threads)
{
    *nodes = *threads = 0;
    for (uint32_t i = 1; i < v->head.n_pages; i++) {
        *nodes += kind_of(v, i) == LIVE_NODES;
        *threads += kind_of(v, i) == LIVE_THREAD;
    }
}

static int take_memory(struct live_view *v, uint32_t node_pages, uint32_t threads)
{
    size_t slots = (size_t)node_pages * LIVE_NODES_PER_PAGE;
    size_t nodes = slots * sizeof *v->node, tasks = (size_t)threads * sizeof *v->task;
    size_t index = slots * 4, pages = (size_t)v->head.n_pages * 4, keys = slots * 8;
    char *p;

    v->n_slots = (uint32_t)slots;
    v->bytes = nodes + tasks + keys + index + pages + LIVE_PAGE;
    v->memory = mmap(NULL, v->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (v->memory == MAP_FAILED) {
        v->memory = NULL;
        return fail(v, "no memory");
    }
    p = v->memory;
    v->node = (struct live_node *)p;
    v->task = (struct live_task *)(p + nodes);
    v->page_at = (uint32_t *)(p + nodes + tasks + keys);
    v->index = v->page_at + v->head.n_pages;
    return 0;
}

static void read_tasks(struct live_view *v, uint32_t most)
{
    for (uint32_t i = 1; i < v->head.n_pages && v->n_tasks < most; i++) {
        const struct live_thread *t = page_data(v, i);
        struct live_task *task = &v->task[v->n_tasks];
        uint32_t state;

        if (kind_of(v, i) != LIVE_THREAD)
            continue;
        state = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE);
        if ((state != 1 && state != 2) || live_word(&t->epoch) != v->head.epoch)
            continue;
        task->page = i;
        task->tid = t->tid;
        task->ended = t->ended;
        task->trace_full = FATHOM_GET_(t->trace_full) != 0;
        task->name = name_at(v, FATHOM_GET_(t->name));
        for (int c = 0; c < FATHOM_LOST_CAUSES; c++)
            task->lost[c] = live_word(&t->lost[c]);
        v->page_at[i] = ++v->n_tasks;
    }
}

static uint32_t task_of(const struct live_view *v, uint64_t page)
{
    uint32_t at = v->page_at[page];

    return at && at <= v->n_tasks && v->task[at - 1].page == page ? at - 1 : UINT32_MAX;
}

/* Slot number, over all pages of nodes, of the node at an address; UINT32_MAX = none. */
static uint32_t slot_of(const struct live_view *v, uint64_t address)
{
    uint64_t page = page_of(v, address, LIVE_NODES);
    uint64_t in = (address - v->head.base) % LIVE_PAGE;
    uint32_t slot;

    if (page == 0 || in % 128 != 0 || in == 0 || v->page_at[page] == 0)
        return UINT32_MAX; /* page_at 0: the page is newer than our index */
    slot = v->page_at[page] - 1 + (uint32_t)(in / 128);
    return slot < v->n_slots ? slot : UINT32_MAX; /* the kind of the page may have changed */
}

/* A histogram belongs to one node: adding one page to every node would take 32 times the region. */
static const uint64_t *histogram_of(const struct live_view *v, uint64_t address)
{
    uint64_t page = page_of(v, address, LIVE_HISTOGRAM);

    if (!page || (address - v->head.base) % LIVE_PAGE != 0 || v->page_at[page])
        return NULL;
    v->page_at[page] = 1;
    return page_data(v, page);
}

static const struct live_ext *ext_of(const struct live_view *v, uint64_t address)
{
    uint64_t page = page_of(v, address, LIVE_EXTRAS);

    if (page == 0 || (address - v->head.base) % sizeof(struct live_ext) != 0)
        return NULL;
    return (const struct live_ext *)(v->data + (address - v->head.base));
}

static void describe(const struct live_view *v, struct live_node *n,
                     const struct fathom_node_ *raw)
{
    const struct live_site *s = site_at(v, raw->site_id);

    n->name = n->file = n->func = n->group = "";
    n->kind = raw->parent ? LIVE_CONTEXT : LIVE_ROOT;
    n->backend = n->label = "";
    if (s) {
        n->name = text_at(v, s->name);
        n->file = text_at(v, s->file);
        n->func = text_at(v, s->func);
        n->group = text_at(v, s->group);
        n->line = s->line;
        n->kind = s->kind < LIVE_SITE_KINDS ? s->kind : LIVE_ZONE;
        n->is_demoted = s->demoted != 0;
        n->is_traced = FATHOM_GET_(s->mode) >= FATHOM_MODE_TRACE;
        n->is_precise = FATHOM_GET_(s->mode) == FATHOM_MODE_PRECISE;
        n->backend = name_at(v, raw->backend);
        n->label = name_at(v, raw->label);
    } else if (raw->parent) {
        n->context = raw->backend;
        n->name = name_at(v, raw->label);
    }
}

static void read_node(const struct live_view *v, struct live_node *n,
                      const struct fathom_node_ *raw)
{
    n->seq = raw->seq;
    n->count = live_word(&raw->count);
    n->total = live_word(&raw->total);
    n->min = live_word(&raw->min);
    n->max = live_word(&raw->max);
    n->first = live_word(&raw->first);
    n->squares = live_double(live_word(&raw->squares));
    n->open_since = live_word(&raw->open);
    n->hist = histogram_of(v, live_word(&raw->hist));
    n->ext = ext_of(v, live_word(&raw->ext));
    describe(v, n, raw);
}

static uint32_t list_nodes(struct live_view *v, uint64_t *key)
{
    uint32_t n = 0, first = 0;

    for (uint32_t page = 1; page < v->head.n_pages; page++) {
        const struct fathom_node_ *raw = page_data(v, page);

        if (kind_of(v, page) != LIVE_NODES)
            continue;
        if (first + LIVE_NODES_PER_PAGE > v->n_slots)
            break; /* pages were added meanwhile */
        v->page_at[page] = first + 1;
        for (uint32_t i = 0; i < LIVE_NODES_PER_PAGE; i++) {
            uint32_t seq = i ? __atomic_load_n(&raw[i].seq, __ATOMIC_ACQUIRE) : 0;

            v->index[first + i] = LIVE_NO_NODE;
            if (seq)
                key[n++] = (uint64_t)seq << 32 | (uint64_t)page << 5 | i;
        }
        first += LIVE_NODES_PER_PAGE;
    }
    live_sort_u64(key, n);
    return n;
}

static void read_nodes(struct live_view *v, uint64_t *key)
{
    uint32_t n = list_nodes(v, key);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t page = (uint32_t)key[i] >> 5;
        uint32_t slot = key[i] & 31, task, up = LIVE_NO_NODE;
        const struct fathom_node_ *raw = (const struct fathom_node_ *)page_data(v, page) + slot;
        const struct live_slot0 *head = page_data(v, page);
        struct live_node *to = &v->node[v->n_nodes];

        task = task_of(v, page_of(v, head->thread, LIVE_THREAD));
        if (task == UINT32_MAX)
            continue; /* its thread was cleared or is incomplete */
        if (raw->parent) {
            uint32_t at = slot_of(v, (uint64_t)(uintptr_t)raw->parent);

            up = at == UINT32_MAX ? LIVE_NO_NODE : v->index[at];
            if (up == LIVE_NO_NODE || v->node[up].task != task || v->node[up].seq >= raw->seq) {
                v->bad++;
                continue;
            }
        }
        memset(to, 0, sizeof *to);
        to->parent = up;
        to->task = task;
        read_node(v, to, raw);
        v->index[v->page_at[page] - 1 + slot] = v->n_nodes++;
    }
}

/* The current node of a running thread and its ancestors are open. */
static void mark_open(struct live_view *v)
{
    for (uint32_t i = 0; i < v->n_tasks; i++) {
        const struct live_thread *t = page_data(v, v->task[i].page);
        uint32_t slot, at;

        slot = slot_of(v, (uint64_t)(uintptr_t)__atomic_load_n(&t->hot.cur, __ATOMIC_RELAXED));
        at = slot == UINT32_MAX ? LIVE_NO_NODE : v->index[slot];
        if (at != LIVE_NO_NODE && v->node[at].task != i)
            at = LIVE_NO_NODE; /* so that no node is visited for two threads */
        for (; at != LIVE_NO_NODE; at = v->node[at].parent) {
            struct live_node *n = &v->node[at];

            if (n->kind > LIVE_OP && n->kind != LIVE_LOCK_WAIT)
                continue;
            n->is_open = n->open_since > 1; /* 1: being counted */
            if (n->is_open && n->open_since > v->now)
                v->now = n->open_since;
        }
    }
}

int live_open(struct live_view *v, const void *data, size_t size)
{
    uint32_t node_pages, threads;
    size_t keys;

    memset(v, 0, sizeof *v);
    v->data = data;
    v->size = size;
    if (check_header(v) < 0)
        return -1;
    count_pages(v, &node_pages, &threads);
    if (take_memory(v, node_pages, threads) < 0)
        return -1;
    keys = (size_t)node_pages * LIVE_NODES_PER_PAGE * sizeof *v->node +
           (size_t)threads * sizeof *v->task;
    read_tasks(v, threads);
    read_nodes(v, (uint64_t *)((char *)v->memory + keys));
    mark_open(v);
    return 0;
}

void live_close(struct live_view *v)
{
    if (v->memory)
        munmap(v->memory, v->bytes);
    memset(v, 0, sizeof *v);
}

/* ---- Records ---- */

static void each_in_page(const struct live_view *v, const struct live_chunk *c,
                         void (*visit)(const struct live_record *, void *), void *arg)
{
    const uint64_t *r = (const uint64_t *)((const char *)c + LIVE_HEAD);
    const uint64_t *end = r + 2 * LIVE_RECORDS;
    const char *thread = name_at(v, FATHOM_GET_(c->name));

    for (; r < end; r += 2) {
        uint64_t start = live_word(&r[0]), word = live_word(&r[1]);
        uint64_t low = (word - (v->head.base >> 7)) & 0xffffff;
        struct live_record out = { .tid = c->tid, .start = start, .thread = thread,
                                   .duration = word >> 24, .in_trace = c->trace != 0 };
        uint32_t slot;

        if (start == 0)
            continue;
        if (out.duration >= LIVE_VALUE) {
            r += 2;
            if (r >= end)
                return;
            out.value = live_word(&r[0]);
            out.has_value = out.duration == LIVE_VALUE;
            out.duration = out.has_value ? 0 : out.value;
        }
        slot = slot_of(v, v->head.base + (low << 7));
        out.node = slot == UINT32_MAX ? LIVE_NO_NODE : v->index[slot];
        if (out.node != LIVE_NO_NODE && start + out.duration >= v->head.cleared_ticks)
            visit(&out, arg);
    }
}

void live_each_record(const struct live_view *v,
                      void (*visit)(const struct live_record *, void *), void *arg)
{
    for (uint32_t page = 1; page < v->head.n_pages; page++)
        if (kind_of(v, page) == LIVE_CHUNK) {
            const struct live_chunk *c = page_data(v, page);

            if (c->trace || !v->head.no_percentiles)
                each_in_page(v, c, visit, arg);
        }
}
