/* sym_resolve.c - see sym_resolve.h.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "symbol/sym_debuginfod.h"
#include "symbol/symbolizer.h"

void sym_resolve_init(struct sym_resolve *s, struct intern *in)
{
    *s = (struct sym_resolve){ .in = in };
}

void sym_resolve_release(struct sym_resolve *s)
{
    sym_debuginfod_start();
    for (size_t i = 0; i < s->module.n; i++)
        sym_module_close(s->module.v[i].open);
    vec_release(&s->module);
    umap_release(&s->text);
    arena_release(&s->arena);
}

static struct sym_resolve_module *module_at(struct sym_resolve *s, uint32_t id)
{
    if (id == 0 || id > s->in->module.n)
        return NULL;
    while (s->module.n < id)
        vec_push(&s->module, (struct sym_resolve_module){ 0 });
    return &s->module.v[id - 1];
}

void sym_resolve_where(struct sym_resolve *s, uint32_t module, const char *root, int64_t pid,
                       int64_t ns_pid)
{
    struct sym_resolve_module *m = module_at(s, module);

    if (!m)
        return;
    m->root = arena_strndup(&s->arena, root, strlen(root));
    m->pid = pid;
    m->ns_pid = ns_pid;
}

void sym_resolve_user(struct sym_resolve *s, uint32_t module, const struct named_user *user)
{
    struct sym_resolve_module *m = module_at(s, module);

    if (m)
        m->user = user;
}

void sym_resolve_file(struct sym_resolve *s, uint32_t module, int file)
{
    struct sym_resolve_module *m = module_at(s, module);

    if (m)
        m->file = file;
}

void sym_resolve_variants(struct sym_resolve *s, uint32_t module, const struct sym_variant *v,
                          size_t n)
{
    struct sym_resolve_module *m = module_at(s, module);

    if (m) {
        m->variant = v;
        m->n_variants = n;
    }
}

void sym_resolve_opened(struct sym_resolve *s, uint32_t module, struct sym_module *open)
{
    struct sym_resolve_module *m = module_at(s, module);

    if (m && !m->open)
        m->open = open;
    else
        sym_module_close(open);
}

void sym_resolve_quick(struct sym_resolve *s, uint32_t module)
{
    struct sym_resolve_module *m = module_at(s, module);

    if (m)
        m->quick = true;
}

static struct sym_resolve_module *open_module(struct sym_resolve *s, uint32_t id)
{
    struct sym_resolve_module *m = module_at(s, id);
    const struct module *of;

    if (!m || m->open)
        return m;
    of = &s->in->module.v[id - 1];
    m->open = sym_module_open(&(struct sym_request){
        .path = intern_text_of(s->in, of->path), .kind = of->kind, .root = m->root, .user = m->user,
        .build_id = of->build_id, .build_id_size = of->build_id_size, .pid = m->pid,
        .ns_pid = m->ns_pid, .file = m->file, .variant = m->variant,
        .n_variants = m->n_variants, .is_past = s->is_past, .quick = m->quick });
    return m;
}

/* Names come from files and may contain any bytes; make them UTF-8. */
static uint32_t clean_id(struct intern *in, const char *s, size_t n)
{
    struct buf b = { 0 };
    uint32_t id;

    if (n == 0 || utf8_is_clean(s, n))
        return n ? intern_string(in, s, n) : 0;
    buf_add_clean(&b, s, n);
    id = intern_string(in, (const char *)b.data, b.n);
    buf_release(&b);
    return id;
}

/* Strings do not move while their module is open, so each is checked once. */
static uint32_t text_id(struct sym_resolve *s, const char *text)
{
    uint32_t id;

    if (!text || !*text)
        return 0;
    id = umap_find(&s->text, (uintptr_t)text);
    if (!id) {
        id = clean_id(s->in, text, strlen(text));
        umap_put(&s->text, (uintptr_t)text, id);
    }
    return id;
}

static struct location location_of(struct sym_resolve *s, uint32_t module,
                                   const struct sym_line *l)
{
    const char *file = l->decl_file ? l->decl_file : l->file;
    struct function f = {
        .name = text_id(s, l->name),
        .linkage_name = s->no_linkage ? 0 : text_id(s, l->linkage_name),
        .file = text_id(s, file),
        .line = l->decl_line,
        .module = module,
    };
    /* A line of another file (an included list, a macro) would be taken for a line of this one. */
    bool same = file && l->file && (file == l->file || strcmp(file, l->file) == 0);

    return (struct location){ intern_function(s->in, &f), same ? l->line : 0 };
}

static uint64_t place_of(const struct frame *f)
{
    return f->address - ((f->flags & FRAME_RETURN) && f->address);
}

static struct location unnamed(struct sym_resolve *s, uint32_t module)
{
    struct function f = { .module = module };
    const char *base = s->module.v[module - 1].open->base;
    char name[300];

    snprintf(name, sizeof name, base[0] == '[' ? "%.280s" : "[%.280s]", *base ? base : "anonymous");
    f.name = clean_id(s->in, name, strlen(name));
    return (struct location){ intern_function(s->in, &f), 0 };
}

/* Store the functions at PLACE of MODULE in CHAIN (SYM_CHAIN_MAX entries); 0 if there are none. */
static size_t chain_at(struct sym_resolve *s, uint32_t module, uint64_t place,
                       struct location *chain)
{
    struct sym_resolve_module *m = open_module(s, module);
    const struct sym_line *line;
    size_t n;

    if (!m)
        return 0;
    n = sym_module_find(m->open, place, &line);
    m->frames++;
    m->unnamed += n == 0;
    m->by_start += n && line[0].source == SYM_EH_FRAME;
    if (n == 0) {
        chain[0] = unnamed(s, module);
        return 1;
    }
    if (n > SYM_CHAIN_MAX)
        n = SYM_CHAIN_MAX;
    for (size_t i = 0; i < n; i++)
        chain[i] = location_of(s, module, &line[i]);
    return n;
}

/* Resolve FRAME; 0 if it needs no resolution. */
static size_t chain_of(struct sym_resolve *s, uint32_t frame, struct location *chain)
{
    const struct frame f = s->in->frame.v[frame - 1];

    if (s->in->named_frame.v[frame - 1].function)
        return 0;
    return chain_at(s, f.module, place_of(&f), chain);
}

static void send_chain(struct sym_resolve *s, uint32_t frame, const struct location *chain,
                       size_t n)
{
    if (n)
        sink_resolve(s->in->out, frame, chain, n);
}

void sym_resolve_line(struct sym_resolve *s, const struct line_row *row)
{
    struct location chain[SYM_CHAIN_MAX];
    size_t n = chain_at(s, row->module, row->address, chain);

    if (n)
        sink_line(s->in->out, row, chain, n);
}

struct lookup {
    uint64_t address;
    uint32_t module, frame;
};

static int by_place(const void *a, const void *b)
{
    const struct lookup *x = a, *y = b;

    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->frame < y->frame ? -1 : 1;
}

struct result {
    uint32_t first, n;
};

/* Look up in address order, in which neighbors share units, tables and name prefixes.  Write in
 * frame order, which makes the file smallest. */
void sym_resolve_run(struct sym_resolve *s)
{
    uint32_t from = s->frames_done;
    VEC(struct lookup) all = { 0 };
    VEC(struct location) pool = { 0 };
    struct result *result = mem_zalloc((s->in->frame.n - from + 1) * sizeof *result);

    for (; s->frames_done < s->in->frame.n; s->frames_done++) {
        const struct frame *f = &s->in->frame.v[s->frames_done];

        vec_push(&all, ((struct lookup){ f->address, f->module, s->frames_done + 1 }));
    }
    if (all.n)
        qsort(all.v, all.n, sizeof *all.v, by_place);
    for (size_t i = 0; i < all.n; i++) {
        size_t n;

        vec_reserve(&pool, pool.n + SYM_CHAIN_MAX);
        n = chain_of(s, all.v[i].frame, pool.v + pool.n);
        result[all.v[i].frame - from - 1] = (struct result){ (uint32_t)pool.n, (uint32_t)n };
        pool.n += n;
    }
    for (uint32_t i = 0; i < all.n; i++)
        send_chain(s, from + i + 1, pool.v + result[i].first, result[i].n);
    vec_release(&all);
    vec_release(&pool);
    free(result);
}

static uint32_t fact_id(struct sym_resolve *s, const char *text)
{
    return *text ? clean_id(s->in, text, strlen(text)) : 0;
}

void sym_resolve_modules(struct sym_resolve *s)
{
    for (uint32_t id = 1; id <= s->module.n; id++) {
        const struct sym_resolve_module *m = &s->module.v[id - 1];
        struct module facts = { 0 };

        if (!m->open)
            continue;
        facts.symbols = fact_id(s, sym_source_name(sym_module_source(m->open)));
        facts.problem = fact_id(s, sym_module_problem(m->open));
        if (m->unnamed + m->by_start)
            facts.advice = fact_id(s, sym_module_advice(m->open));
        sink_update_module(s->in->out, id, &facts);
    }
}

const struct sym_resolve_module *sym_resolve_facts(const struct sym_resolve *s, uint32_t module)
{
    static const struct sym_resolve_module none;

    return module && module <= s->module.n ? &s->module.v[module - 1] : &none;
}
