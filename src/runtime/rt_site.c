/* rt_site.c - sites, and which of them are on.  Inlined code tests the mode word of a site.  This
 * file computes it from the global mode, the rules by pattern, and demotion.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <link.h>
#include <string.h>

enum { DEMOTED_EVERY = 64 };

struct live_site *rt_site(uint32_t id)
{
    uint32_t page;

    if (id == 0 || id > LIVE_MAX_SITES)
        return NULL;
    page = __atomic_load_n(&rt.head->site_page[(id - 1) / LIVE_SITES_PER_PAGE], __ATOMIC_ACQUIRE);
    if (!page)
        return NULL;
    return (struct live_site *)(uintptr_t)(rt.pool.base + (uint64_t)page * LIVE_PAGE) +
           (id - 1) % LIVE_SITES_PER_PAGE;
}

/* * matches any run of characters; no other character is special. */
static bool matches(const char *pattern, const char *text)
{
    const char *star = NULL, *again = NULL;

    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            again = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static const char *text_at(uint32_t ref)
{
    return ref ? (const char *)(uintptr_t)(rt.pool.base + ref) : "";
}

static bool rule_fits(const struct rt_rule *r, const struct live_site *s)
{
    return matches(r->pattern, text_at(s->name)) || matches(r->pattern, text_at(s->group));
}

static void apply_rules(struct live_site *l, const struct fathom_site *s)
{
    int mode = rt.mode;
    uint32_t sample = s ? s->sample : l->sample;

    for (uint32_t i = 0; i < rt.n_rules; i++) {
        if (!rule_fits(&rt.rule[i], l))
            continue;
        if (rt.rule[i].mode >= 0)
            mode = rt.rule[i].mode;
        if (rt.rule[i].sample)
            sample = rt.rule[i].sample;
    }
    if (l->demoted && sample < DEMOTED_EVERY)
        sample = DEMOTED_EVERY;
    __atomic_store_n(&l->mode, (uint32_t)mode, __ATOMIC_RELAXED);
    __atomic_store_n(&l->sample, sample, __ATOMIC_RELAXED);
}

uint32_t rt_site_special(const struct live_site *s)
{
    uint32_t mode = __atomic_load_n(&s->mode, __ATOMIC_RELAXED), special = 0;

    if (mode == FATHOM_MODE_COUNT)
        special |= LIVE_COUNTED;
    if (mode == FATHOM_MODE_PRECISE)
        special |= LIVE_PRECISE;
    if (__atomic_load_n(&s->sample, __ATOMIC_RELAXED) > 1)
        special |= LIVE_SAMPLED;
    if (rt.slow_clock)
        special |= LIVE_SLOW_CLOCK;
    if (s->kind == LIVE_OP)
        special |= LIVE_IS_OP;
    return special;
}

static void set_mode(struct fathom_site *s, struct live_site *l)
{
    uint32_t mode = 0;

    apply_rules(l, s);
    if (l->mode < FATHOM_MODE_TRACE)
        __atomic_store_n(&rt.all_traced, false, __ATOMIC_RELAXED);
    if (rt.enabled && l->mode != FATHOM_MODE_OFF)
        mode = rt_site_special(l) ? 3 : 1;
    __atomic_store_n(&s->mode, mode, __ATOMIC_RELAXED);
}

static struct live_site *new_site(uint32_t *id)
{
    uint32_t at = rt.head->n_sites;
    uint32_t *page = &rt.head->site_page[at / LIVE_SITES_PER_PAGE];

    if (at >= LIVE_MAX_SITES)
        return NULL;
    if (!*page) {
        uint64_t fresh = rt_page_locked(LIVE_SITES);

        if (!fresh)
            return NULL;
        __atomic_store_n(page, (uint32_t)((fresh - rt.pool.base) / LIVE_PAGE), __ATOMIC_RELEASE);
    }
    *id = at + 1;
    __atomic_store_n(&rt.head->n_sites, at + 1, __ATOMIC_RELEASE);
    return rt_site(*id);
}

/* The same site after its library was unloaded and loaded again: keep its number. */
static uint32_t known_site(const struct fathom_site *s)
{
    for (uint32_t id = 1; id <= rt.head->n_sites; id++) {
        const struct live_site *l = rt_site(id);

        if (!rt.site[id] && l->line == s->line && l->kind == s->kind &&
            !strcmp(text_at(l->name), s->name) && !strcmp(text_at(l->file), s->file ? s->file : ""))
            return id;
    }
    return 0;
}

void rt_site_register(struct fathom_site *s)
{
    uint32_t id;
    struct live_site *l;

    if (!rt.head || s->id)
        return;
    id = known_site(s);
    l = id ? rt_site(id) : new_site(&id);
    if (!l) {
        __atomic_store_n(&s->mode, 0, __ATOMIC_RELAXED);
        rt_lose(FATHOM_LOST_NODE, 1);
        return;
    }
    if (!l->name) {
        l->file = rt_text(s->file);
        l->func = rt_text(s->func);
        l->group = rt_text(s->group);
        l->line = s->line;
        l->kind = s->kind;
        l->name = rt_text(s->name && *s->name ? s->name : "?");
    }
    rt.site[id] = s;
    __atomic_store_n(&s->id, id, __ATOMIC_RELEASE);
    set_mode(s, l);
}

bool rt_site_usable(struct fathom_site *s)
{
    if (FATHOM_GET_(s->mode) == 2) {
        if (!tgt_lock_unless_held(&rt.lock)) {
            rt_lose(FATHOM_LOST_SIGNAL, 1);
            return false;
        }
        if (rt.head)
            rt_site_register(s);
        tgt_unlock(&rt.lock);
    }
    return FATHOM_GET_(s->mode) & 1; /* 1 or 3 */
}

/* The site determines what a node does at its end.  Called after each change of the site. */
void rt_node_refresh(struct fathom_node_ *n, struct live_thread *t)
{
    const struct live_site *l = rt_site(n->site_id);
    bool trace;

    if (!l)
        return;
    trace = FATHOM_GET_(l->mode) >= FATHOM_MODE_TRACE &&
            !__atomic_load_n(&t->trace_full, __ATOMIC_RELAXED);
    FATHOM_PUT_(n->ring, &t->hot.ring[trace]);
    FATHOM_PUT_(n->special, rt_site_special(l) | (rt_was_cleared(t) ? LIVE_CLEARED : 0));
}

bool rt_sites_traced(void)
{
    bool traced = rt.mode >= FATHOM_MODE_TRACE;

    for (uint32_t i = 0; i < rt.n_rules; i++)
        traced |= rt.rule[i].mode >= FATHOM_MODE_TRACE;
    return traced && rt.head && rt.enabled;
}

void rt_sites_refresh(void)
{
    __atomic_store_n(&rt.all_traced, true, __ATOMIC_RELAXED);
    for (uint32_t id = 1; id <= rt.head->n_sites; id++) {
        if (rt.site[id])
            set_mode(rt.site[id], rt_site(id));
    }
    for (struct live_thread *t = rt_first_thread(); t; t = rt_next_thread(t))
        rt_thread_refresh(t);
}

void rt_site_demote(uint32_t id)
{
    struct live_site *l = rt_site(id);

    if (!l || l->demoted || !tgt_lock_try(&rt.lock))
        return;
    l->demoted = 1;
    rt_sites_refresh();
    tgt_unlock(&rt.lock);
}

static int add_rule(const char *pattern, int mode, uint32_t sample)
{
    struct rt_rule *r = &rt.rule[rt.n_rules];
    int n = 0;

    if (!pattern || strlen(pattern) >= RT_PATTERN)
        return FATHOM_E_FORMAT;
    tgt_lock(&rt.lock);
    for (uint32_t i = 0; i < rt.n_rules; i++)
        if (!strcmp(rt.rule[i].pattern, pattern) && (rt.rule[i].mode < 0) == (mode < 0))
            r = &rt.rule[i];
    if (r == &rt.rule[rt.n_rules]) {
        if (rt.n_rules == RT_RULES) {
            tgt_unlock(&rt.lock);
            return FATHOM_E_MEMORY;
        }
        rt.n_rules++;
    }
    strcpy(r->pattern, pattern);
    r->mode = mode;
    r->sample = sample;
    if (rt.head) {
        for (uint32_t id = 1; id <= rt.head->n_sites; id++)
            n += rule_fits(r, rt_site(id));
        rt_sites_refresh();
    }
    tgt_unlock(&rt.lock);
    if (rt_sites_traced())
        rt_helper_start();
    return n;
}

int fathom_mode(const char *pattern, enum fathom_mode mode)
{
    if ((int)mode < FATHOM_MODE_OFF || mode > FATHOM_MODE_PRECISE)
        return FATHOM_E_FORMAT;
    return add_rule(pattern, (int)mode, 0);
}

int fathom_sample(const char *pattern, uint32_t every)
{
    return add_rule(pattern, -1, every ? every : 1);
}

/* Arrays of sites of libraries that were loaded before the start. */
enum { MAX_ARRAYS = 512 };
static struct array { struct fathom_site *from, *to; } arrays[MAX_ARRAYS];
static uint32_t n_arrays;

void rt_sites_add_waiting(void)
{
    for (uint32_t i = 0; i < n_arrays; i++)
        for (struct fathom_site *s = arrays[i].from; s < arrays[i].to; s++)
            rt_site_register(s);
}

void fathom_sites_add_(struct fathom_site *from, struct fathom_site *to)
{
    if (from == to)
        return;
    tgt_lock(&rt.lock);
    for (uint32_t i = 0; i < n_arrays; i++)
        if (arrays[i].from == from && arrays[i].to == to)
            goto out; /* every file of a library registers it */
    if (n_arrays < MAX_ARRAYS)
        arrays[n_arrays++] = (struct array){ from, to };
    for (struct fathom_site *s = from; s < to; s++)
        rt_site_register(s);
out:
    tgt_unlock(&rt.lock);
}

static void forget_nodes(struct live_thread *t, uintptr_t from, uintptr_t to)
{
    for (uint64_t page = __atomic_load_n(&t->node_page, __ATOMIC_ACQUIRE); page;
         page = ((struct live_slot0 *)(uintptr_t)page)->next) {
        struct fathom_node_ *n = (struct fathom_node_ *)(uintptr_t)page;

        for (int i = 1; i < LIVE_NODES_PER_PAGE; i++) {
            uintptr_t site = (uintptr_t)FATHOM_GET_(n[i].site);

            if (site >= from && site < to)
                FATHOM_PUT_(n[i].site, NULL);
        }
    }
}

struct image {
    uintptr_t inside, from, to;
};

static int find_image(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct image *im = arg;
    uintptr_t from = UINTPTR_MAX, to = 0;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;

        if (p->p_type != PT_LOAD)
            continue;
        from = at < from ? at : from;
        to = at + p->p_memsz > to ? at + p->p_memsz : to;
    }
    if (im->inside < from || im->inside >= to)
        return 0;
    im->from = from;
    im->to = to;
    return 1;
}

/* A library is unloaded.  The memory of its sites may be reused by another library. */
void fathom_sites_remove_(const void *from, const void *to)
{
    uintptr_t lo = (uintptr_t)from, hi = (uintptr_t)to;

    if (lo && !to) {
        struct image im = { lo, 0, 0 };

        dl_iterate_phdr(find_image, &im);
        lo = im.from;
        hi = im.to;
    }
    if (lo == hi)
        return;
    tgt_lock(&rt.lock);
    for (uint32_t i = 0; i < n_arrays; i++)
        if ((uintptr_t)arrays[i].from == lo)
            arrays[i--] = arrays[--n_arrays];
    for (uint32_t id = 1; rt.head && id <= rt.head->n_sites; id++) {
        struct fathom_site *s = rt.site[id];

        if ((uintptr_t)s < lo || (uintptr_t)s >= hi)
            continue;
        FATHOM_PUT_(s->mode, 0);
        FATHOM_PUT_(s->id, 0);
        rt.site[id] = NULL;
    }
    for (struct live_thread *t = rt_first_thread(); t; t = rt_next_thread(t))
        forget_nodes(t, lo, hi);
    tgt_unlock(&rt.lock);
}

/* Sites created by name are in pages of their own.  They are few, so a linear search finds them. */
struct fathom_site *fathom_site_get(const char *name, const char *group, const char *file,
                                    uint32_t line, int kind)
{
    static uint64_t page;
    static uint32_t at;
    struct fathom_site *s = NULL;

    if (!name || rt_prepare() < 0)
        return NULL;
    tgt_lock(&rt.lock);
    for (uint32_t id = 1; id <= rt.head->n_sites; id++) {
        struct live_site *l = rt_site(id);

        if (rt.site[id] && (int)l->kind == kind && l->line == line &&
            !strcmp(text_at(l->name), name) && !strcmp(text_at(l->file), file ? file : "") &&
            !strcmp(text_at(l->group), group ? group : "")) {
            s = rt.site[id];
            goto out;
        }
    }
    if (!page || at == LIVE_PAGE / sizeof *s) {
        page = rt_page_locked(LIVE_OTHER);
        at = 0;
        if (!page)
            goto out;
    }
    s = (struct fathom_site *)(uintptr_t)page + at++;
    *s = (struct fathom_site){ .name = name, .group = group, .file = file, .line = line,
                               .kind = (uint32_t)kind };
    rt_site_register(s);
    s->name = text_at(rt_site(s->id) ? rt_site(s->id)->name : 0);
    s->group = s->file = s->func = NULL;
out:
    tgt_unlock(&rt.lock);
    return s;
}
