/* perf_ifunc.c - see perf_ifunc.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_ifunc.h"

#include <stdlib.h>
#include <string.h>

enum {
    WATCHES_MAX = 64,    /* processes at a time */
    BUILDS_MAX = 16,     /* searches in one program: some map memory all the time */
    LOOKS_MAX = 64,      /* processes searched for one library: later ones rarely add anything */
    WATCH_SLOTS_MAX = 4096,
    VARIANTS_MAX = 1024, /* of one library */
    CHECKS_MAX = 1 << 14, /* of resolvers' code, a few us each, in one look */
};

void perf_ifunc_init(struct perf_ifuncs *f, struct perf_processes *p)
{
    *f = (struct perf_ifuncs){ .processes = p };
}

void perf_ifunc_release(struct perf_ifuncs *f)
{
    for (size_t i = 0; i < f->file.n; i++) {
        sym_slots_release(&f->file.v[i].slots);
        umap_release(&f->file.v[i].by_key);
        umap_release(&f->file.v[i].by_address);
    }
    for (size_t i = 0; i < f->watch.n; i++)
        vec_release(&f->watch.v[i].slot);
    vec_release(&f->file);
    vec_release(&f->watch);
}

/* --- files --- */

static void read_file(struct perf_ifunc_file *x, int fd)
{
    x->is_read = true;
    if (fd < 0 || !elf_file_read(&x->slots.elf, fd))
        return;
    sym_slots_read(&x->slots);
    for (size_t i = 0; i < x->slots.resolver.n; i++) {
        umap_put(&x->by_key, x->slots.resolver.v[i].key, 1);
        umap_put(&x->by_address, x->slots.resolver.v[i].address, 1);
    }
}

static uint32_t number_of(const struct unw_range *r)
{
    return r->module & ~PERF_PENDING;
}

static struct perf_ifunc_file *file_of(struct perf_ifuncs *f, uint32_t number)
{
    const struct perf_module *m = perf_module_get(f->processes->modules, number);

    if (!m || m->kind != MODULE_FILE)
        return NULL;
    while (f->file.n < number)
        vec_push(&f->file, (struct perf_ifunc_file){ 0 });
    if (!f->file.v[number - 1].is_read)
        read_file(&f->file.v[number - 1], m->fd);
    return &f->file.v[number - 1];
}

/* --- the slots of a process --- */

static bool has(const struct perf_ifunc_libraries *l, uint32_t number)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->number[i] == number)
            return true;
    return false;
}

static void find_libraries(struct perf_ifuncs *f, const struct unw_space *s,
                           struct perf_ifunc_libraries *l)
{
    for (size_t i = 0; i < s->n && l->n < PERF_IFUNC_LIBRARIES; i++) {
        const struct unw_range *r = &s->range[i];
        const struct perf_ifunc_file *x =
            r->module & PERF_PENDING ? NULL : file_of(f, r->module);

        if (x && x->slots.resolver.n && !x->slots.has_symtab && x->looks < LOOKS_MAX &&
            !has(l, r->module))
            l->number[l->n++] = r->module;
    }
}

static void add_slot(struct perf_ifunc_watch *w, const struct sym_slot *slot, uint64_t bias,
                     uint32_t library)
{
    if (w->slot.n < WATCH_SLOTS_MAX)
        vec_push(&w->slot, ((struct perf_ifunc_slot){ slot->address + bias, slot->key, library,
                                                      slot->is_irelative }));
}

/* Add the slots of module NUMBER at BIAS that may contain a variant of one of the libraries L. */
static void add_slots(const struct perf_ifuncs *f, struct perf_ifunc_watch *w, uint32_t number,
                      uint64_t bias, const struct perf_ifunc_libraries *l)
{
    const struct sym_slots *slots = &f->file.v[number - 1].slots;

    for (size_t i = 0; i < slots->slot.n; i++) {
        const struct sym_slot *slot = &slots->slot.v[i];

        for (size_t k = 0; k < l->n; k++) {
            const struct perf_ifunc_file *of = &f->file.v[l->number[k] - 1];

            if (slot->is_irelative ? l->number[k] == number && umap_find(&of->by_address, slot->key)
                                   : umap_find(&of->by_key, slot->key))
                add_slot(w, slot, bias, l->number[k]);
        }
    }
}

static uint64_t bias_of(const struct perf_ifunc_file *x, const struct unw_range *r)
{
    /* A pending range has the difference of address and file offset. */
    return r->module & PERF_PENDING
               ? r->start - elf_file_address(&x->slots.elf, r->start - r->bias)
               : r->bias;
}

/* Find the slots of W's process that may contain variants of the libraries L. */
static void build(struct perf_ifuncs *f, struct perf_ifunc_watch *w,
                  const struct perf_ifunc_libraries *l)
{
    const struct unw_space *s = w->process->space->unw;
    uint32_t last = 0;

    vec_clear(&w->slot);
    for (size_t i = 0; i < s->n; i++) {
        const struct unw_range *r = &s->range[i];
        const struct perf_ifunc_file *x = number_of(r) == last ? NULL : file_of(f, number_of(r));

        last = number_of(r);
        if (x)
            add_slots(f, w, last, bias_of(x, r), l);
    }
    w->libraries = *l;
    w->generation = w->process->space->generation;
    w->builds++;
}

/* --- what they contain --- */

static void add_variant(struct perf_module *m, struct sym_variant v)
{
    for (size_t i = 0; i < m->variant.n; i++)
        if (m->variant.v[i].start == v.start && m->variant.v[i].resolver == v.resolver)
            return;
    if (m->variant.n < VARIANTS_MAX)
        vec_push(&m->variant, v);
}

/* SLOT contains VALUE.  Returns whether that is a variant. */
static bool take_value(struct perf_ifuncs *f, const struct perf_ifunc_watch *w,
                       const struct perf_ifunc_slot *slot, uint64_t value)
{
    const struct unw_range *r = unw_space_find(w->process->space->unw, value);
    struct perf_ifunc_file *x = &f->file.v[slot->library - 1];
    bool found = false;

    if (!r || r->module != slot->library)
        return false; /* not bound yet, or bound to another definition */
    for (size_t i = 0; i < x->slots.resolver.n && f->checks < CHECKS_MAX; i++) {
        const struct sym_resolver *by = &x->slots.resolver.v[i];

        if ((slot->is_irelative ? by->address : by->key) != slot->key)
            continue;
        f->checks++;
        if (!sym_slots_can_choose(&x->slots, by, value - r->bias))
            continue;
        add_variant(perf_module_get(f->processes->modules, slot->library),
                    (struct sym_variant){ value - r->bias, by->address });
        found = true;
    }
    return found;
}

/* Read the slots of W and keep those without a variant.  Returns false when the process cannot be
 * read. */
static bool read_slots(struct perf_ifuncs *f, struct perf_ifunc_watch *w)
{
    const struct perf_host *host = f->processes->modules->host;
    size_t n = w->slot.n, kept = 0, at = 0;
    uint64_t *address = mem_alloc((n + 1) * sizeof *address);
    uint64_t *word = mem_alloc((n + 1) * sizeof *word);
    long got = 0;

    f->checks = 0;
    for (size_t i = 0; i < n; i++)
        address[i] = w->slot.v[i].address;
    while (at < n && (got = host->words(w->process->pid, address + at, n - at, word + at)) >= 0) {
        for (size_t i = 0; i < (size_t)got; i++)
            if (!take_value(f, w, &w->slot.v[at + i], word[at + i]))
                w->slot.v[kept++] = w->slot.v[at + i];
        at += (size_t)got + 1; /* skip one that cannot be read */
    }
    w->slot.n = kept;
    free(address);
    free(word);
    return got >= 0;
}

/* --- processes --- */

static struct perf_ifunc_watch *find_watch(struct perf_ifuncs *f, const struct perf_process *p)
{
    for (size_t i = 0; i < f->watch.n; i++)
        if (f->watch.v[i].process == p)
            return &f->watch.v[i];
    return NULL;
}

static void drop_ended(struct perf_ifuncs *f)
{
    size_t kept = 0;

    for (size_t i = 0; i < f->watch.n; i++) {
        if (f->watch.v[i].process->ended || f->watch.v[i].process->is_opaque)
            vec_release(&f->watch.v[i].slot);
        else
            f->watch.v[kept++] = f->watch.v[i];
    }
    f->watch.n = kept;
}

static struct perf_ifunc_watch *add_watch(struct perf_ifuncs *f, struct perf_process *p)
{
    if (f->watch.n == WATCHES_MAX)
        drop_ended(f);
    if (f->watch.n == WATCHES_MAX)
        return NULL;
    vec_push(&f->watch, ((struct perf_ifunc_watch){ .process = p, .execs = p->execs }));
    return &f->watch.v[f->watch.n - 1];
}

static bool has_new(const struct perf_ifunc_watch *w, const struct perf_ifunc_libraries *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (!has(&w->libraries, l->number[i]))
            return true;
    return false;
}

static void look_at(struct perf_ifuncs *f, struct perf_process *p)
{
    struct perf_ifunc_watch *w = find_watch(f, p);
    struct perf_ifunc_libraries l = { .n = 0 }, before;

    find_libraries(f, p->space->unw, &l);
    if (!w && l.n)
        w = add_watch(f, p);
    if (!w)
        return;
    if (w->execs != p->execs) {
        vec_release(&w->slot);
        *w = (struct perf_ifunc_watch){ .process = p, .execs = p->execs };
    }
    before = w->libraries;
    if (w->builds < BUILDS_MAX && (has_new(w, &l) || w->generation != p->space->generation))
        build(f, w, &l);
    p->is_opaque = !read_slots(f, w);
    for (size_t i = 0; !p->is_opaque && i < w->libraries.n; i++)
        if (!has(&before, w->libraries.number[i]))
            f->file.v[w->libraries.number[i] - 1].looks++;
}

void perf_ifunc_look(struct perf_ifuncs *f)
{
    struct perf_processes *p = f->processes;

    for (size_t i = 0; i < p->fresh.n; i++) {
        struct perf_process *x = p->fresh.v[i];

        x->is_fresh = false;
        if (!x->ended && !x->is_opaque)
            look_at(f, x);
    }
    vec_clear(&p->fresh);
}
