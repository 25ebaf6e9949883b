/* live_region.c - see live_region.h.  SPDX-License-Identifier: Apache-2.0 */
#include "live_region.h"

#include <stdbool.h>

#include "test.h"

#define BASE ((uint64_t)0x7f1234560000u)

static _Alignas(4096) unsigned char region[REGION_BYTES];

static struct { /* used so far */
    uint32_t page, text, strings_page, sites, names, seq;
    uint64_t thread[2], nodes[2], extras;
    uint32_t n_nodes[2], n_extras;
} at;

static const char *node_name[2][32];

static void *page_data(uint64_t page)
{
    return region + page * LIVE_PAGE;
}

static uint64_t address_of(const void *p)
{
    return BASE + (uint64_t)((const unsigned char *)p - region);
}

static uint64_t new_page(enum live_kind kind)
{
    CHECK(at.page < REGION_PAGES);
    region[LIVE_PAGE + at.page] = (unsigned char)kind;
    return at.page++;
}

static uint32_t text(const char *s)
{
    uint32_t ref = at.strings_page * LIVE_PAGE + at.text;

    strcpy((char *)region + ref, s);
    at.text += (uint32_t)strlen(s) + 1;
    return ref;
}

static uint32_t name(const char *s)
{
    uint32_t *refs = page_data(live_region_header()->names_page);

    refs[++at.names] = text(s);
    return at.names;
}

struct live_header *live_region_header(void)
{
    return (struct live_header *)region;
}

static void make_header(void)
{
    struct live_header *h = live_region_header();

    new_page(LIVE_HEADER);
    new_page(LIVE_HEADER); /* the table of kinds */
    *h = (struct live_header){ .version = LIVE_VERSION, .page_bytes = LIVE_PAGE, .base = BASE,
                               .region_bytes = REGION_BYTES, .n_pages = REGION_PAGES,
                               .table_pages = 1, .clock = LIVE_NANOSECONDS,
                               .start_ticks = REGION_START, .start_ns = REGION_START,
                               .last_ticks = REGION_END, .last_ns = REGION_END, .epoch = 7,
                               .cost = { { 10, 24 }, { 12, 40 } }, .pid = 4242,
                               .parent_pid = 1, .comm = "made" };
    memcpy(h->magic, LIVE_MAGIC, 8);
    h->lost[FATHOM_LOST_TRACE] = 3;
    at.strings_page = (uint32_t)new_page(LIVE_STRINGS);
    at.text = 1;
    h->names_page = (uint32_t)new_page(LIVE_NAMES);
    h->site_page[0] = (uint32_t)new_page(LIVE_SITES);
}

static uint32_t site(const char *s, enum live_site_kind kind, enum fathom_mode mode)
{
    struct live_site *list = page_data(live_region_header()->site_page[0]);

    list[at.sites] = (struct live_site){ .name = text(s), .file = text("made.c"),
                                         .line = 10 + at.sites, .kind = kind, .mode = mode };
    return ++at.sites;
}

static struct live_thread *make_thread(int i, uint32_t tid, const char *s)
{
    struct live_thread *t;
    struct live_slot0 *head;

    at.thread[i] = new_page(LIVE_THREAD);
    at.nodes[i] = new_page(LIVE_NODES);
    t = page_data(at.thread[i]);
    t->tid = tid;
    t->name = name(s);
    t->epoch = 7;
    t->state = tid ? 1 : 2;
    head = page_data(at.nodes[i]);
    head->thread = address_of(t);
    return t;
}

struct live_thread *live_region_thread(int thread)
{
    return page_data(at.thread[thread]);
}

static struct fathom_node_ *add(int thread, struct fathom_node_ *parent, uint32_t site_id,
                                const char *s)
{
    struct fathom_node_ *n = (struct fathom_node_ *)page_data(at.nodes[thread]) +
                             ++at.n_nodes[thread];

    n->seq = ++at.seq;
    n->site_id = site_id;
    n->min = UINT64_MAX;
    n->parent = parent ? (void *)(uintptr_t)address_of(parent) : NULL;
    node_name[thread][at.n_nodes[thread]] = s;
    return n;
}

struct fathom_node_ *live_region_node(int thread, const char *s)
{
    for (uint32_t i = 1; i <= at.n_nodes[thread]; i++)
        if (!strcmp(node_name[thread][i], s))
            return (struct fathom_node_ *)page_data(at.nodes[thread]) + i;
    return NULL;
}

static void times(struct fathom_node_ *n, uint64_t count, uint64_t total, uint64_t min,
                  uint64_t max)
{
    n->count = count;
    n->total = total;
    n->min = min;
    n->max = max;
    n->first = min + 1;
    n->squares = live_bits((double)total * (double)total / (double)count);
}

static struct live_ext *extra(struct fathom_node_ *n)
{
    struct live_ext *x;

    if (!at.extras)
        at.extras = new_page(LIVE_EXTRAS);
    x = (struct live_ext *)page_data(at.extras) + ++at.n_extras;
    n->ext = address_of(x);
    return x;
}

static void histogram(struct fathom_node_ *n, const uint64_t (*pairs)[2], size_t n_pairs)
{
    uint64_t page = new_page(LIVE_HISTOGRAM), *words = page_data(page);

    for (size_t i = 0; i < n_pairs; i++)
        words[live_bucket(pairs[i][0])] += pairs[i][1];
    n->hist = BASE + page * LIVE_PAGE;
}

struct sites {
    uint32_t work, leaf, sampled, precise, open, gauge, counter, flow, frame, inside;
};

/* 10 calls of work with 100 of leaf inside; leaf: 90 of 300 ns and 10 of 1,000. */
static void make_running(const struct sites *s)
{
    struct live_thread *t = make_thread(0, 100, "main");
    struct fathom_node_ *root = add(0, NULL, 0, "root"), *n;
    struct fathom_node_ *work = add(0, root, s->work, "work");
    static const uint64_t leaf_times[][2] = { { 300, 90 }, { 1000, 10 } };
    struct live_ext *x;

    t->root = address_of(root);
    t->trace_full = 1;
    t->lost[FATHOM_LOST_TRACE] = 4;
    times(work, 10, 100000, 500, 40000);
    n = add(0, work, s->leaf, "leaf");
    times(n, 100, 30000, 290, 1010);
    histogram(n, leaf_times, 2);
    n = add(0, root, s->sampled, "sampled");
    times(n, 100, 5000, 400, 600);
    extra(n)->untimed = 90;
    n = add(0, root, s->precise, "precise");
    times(n, 10, 5000, 500, 500);
    n->backend = (uint16_t)name("cpu");
    n->label = (uint16_t)name("big");
    n = add(0, root, s->gauge, "gauge");
    n->count = 2;
    x = extra(n);
    x->last = live_bits(5), x->low = live_bits(-3), x->high = live_bits(8);
    n = add(0, root, s->counter, "counter");
    n->count = 4;
    extra(n)->bytes = live_bits(12);
    add(0, root, s->flow, "flow")->count = 1;
    times(add(0, root, s->frame, "frame"), 3, 60000, 20000, 20000);
    n = add(0, root, 0, "request"); /* a context */
    n->count = 1;
    n->backend = 1;
    n->label = (uint16_t)name("request");
    times(add(0, n, s->inside, "inside"), 2, 2020, 1000, 1020);
    n = add(0, root, s->open, "open");
    n->open = REGION_END - 100000;
    t->hot.cur = (void *)(uintptr_t)address_of(n);
}

/* Two ended threads: 5 calls of work with 20 of leaf; the longest call was in another thread. */
static void make_ended(const struct sites *s)
{
    struct live_thread *t = make_thread(1, 0, "pool");
    struct fathom_node_ *root = add(1, NULL, 0, "root");
    struct fathom_node_ *work = add(1, root, s->work, "work"), *leaf;

    t->ended = 2;
    t->lost[FATHOM_LOST_NODE] = 2;
    t->root = address_of(root);
    t->hot.cur = (void *)(uintptr_t)address_of(root);
    times(work, 5, 50000, 300, 20000);
    work->open = 30000; /* the maximum of the two threads */
    leaf = add(1, work, s->leaf, "leaf");
    times(leaf, 20, 10000, 500, 500);
}

static uint64_t *record(uint64_t *r, uint64_t start, uint64_t duration,
                        const struct fathom_node_ *n, const uint64_t *value)
{
    uint64_t bits = address_of(n) >> 7 & 0xffffff;

    *r++ = start;
    *r++ = (value ? LIVE_VALUE : duration) << 24 | bits;
    if (value) {
        *r++ = *value;
        *r++ = 0;
    }
    return r;
}

static uint64_t *make_chunk(uint32_t tid, uint32_t thread_name, bool trace)
{
    struct live_chunk *c = page_data(new_page(LIVE_CHUNK));

    c->tid = tid;
    c->name = thread_name;
    c->trace = trace;
    return (uint64_t *)((char *)c + LIVE_HEAD);
}

/* The ended leaves are in the trace of thread 103.  Two calls of work in the running thread did
 * not fit there; they are in its scratch page, which is not folded yet. */
static void make_records(void)
{
    const uint64_t gauge = live_bits(5), flow = 77;
    uint64_t *r = make_chunk(103, live_region_thread(1)->name, true);

    for (uint64_t i = 0; i < 20; i++)
        r = record(r, 2000 + 1000 * i, 500, live_region_node(1, "leaf"), NULL);
    r = record(r, 30000, 0, live_region_node(0, "gauge"), &gauge);
    r = record(r, 40000, 0, live_region_node(0, "flow"), &flow);
    r = make_chunk(100, live_region_thread(0)->name, false);
    r = record(r, 50000, 9000, live_region_node(0, "work"), NULL);
    r = record(r, REGION_END, 500, live_region_node(0, "work"), NULL);
}

unsigned char *live_region(void)
{
    struct sites s;

    memset(region, 0, sizeof region);
    memset(&at, 0, sizeof at);
    make_header();
    s = (struct sites){
        .work = site("work", LIVE_ZONE, FATHOM_MODE_TRACE),
        .leaf = site("leaf", LIVE_OP, FATHOM_MODE_TRACE),
        .sampled = site("sampled", LIVE_ZONE, FATHOM_MODE_AGGREGATE),
        .precise = site("precise", LIVE_ZONE, FATHOM_MODE_PRECISE),
        .open = site("open", LIVE_ZONE, FATHOM_MODE_AGGREGATE),
        .gauge = site("gauge", LIVE_GAUGE, FATHOM_MODE_TRACE),
        .counter = site("counter", LIVE_COUNTER, FATHOM_MODE_TRACE),
        .flow = site("flow", LIVE_FLOW, FATHOM_MODE_TRACE),
        .frame = site("frame", LIVE_FRAME, FATHOM_MODE_AGGREGATE),
        .inside = site("inside", LIVE_ZONE, FATHOM_MODE_AGGREGATE),
    };
    make_running(&s);
    make_ended(&s);
    make_records();
    return region;
}
