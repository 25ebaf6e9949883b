/* col_keep.c - see col_keep.h.
 *
 * Code is stored for the most expensive functions until nearly all cost is covered.  Within them,
 * a row of the line table is written only where the inline chain changes.  Of source files only
 * the lines near measured ones are stored.  The others become empty lines, so that line numbers
 * stay valid and the rest of the file stays on the machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_keep.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/map.h"
#include "disasm/disasm.h"

enum {
    MOST_FUNCTIONS = 48,
    MOST_CODE = 16 << 10,      /* bytes of one function */
    MOST_CODE_ALL = 192 << 10, /* of all */
    MOST_FILE = 4 << 20,
    MOST_FILES = 64,
    BEFORE = 6, /* lines kept around a measured one */
    AFTER = 6,
};
static const double ENOUGH = 0.95;  /* share of the cost whose code is kept */
static const double LITTLE = 0.005; /* share below which a function's code is not read */

struct hot { /* one physical function */
    uint32_t module;
    uint64_t start, end, cost;
    bool has_lines;
};

struct text { /* a source file and the lines to store */
    uint32_t file;
    const char *root; /* root directory of the process that named it */
    const struct named_user *user; /* of the processes that named it, who may read least */
    VEC(uint32_t) line;
};

struct keeper {
    const struct col_keep *s;
    uint64_t whole;
    VEC(struct hot) hot;
    struct index by_start;
    struct text text[MOST_FILES];
    size_t n_texts;
};

static void want_line(struct keeper *k, const struct sym_resolve_module *m, uint32_t file,
                      uint32_t line)
{
    const char *root = m->root ? m->root : "";
    size_t i = 0;

    if (!file || !line)
        return;
    while (i < k->n_texts && k->text[i].file != file)
        i++;
    if (i == MOST_FILES)
        return;
    if (i == k->n_texts)
        k->text[k->n_texts++] = (struct text){ .file = file, .root = root, .user = m->user };
    if (strcmp(k->text[i].root, root) != 0)
        return; /* another file of the same name */
    k->text[i].user = named_user_weaker(k->text[i].user, m->user);
    vec_push(&k->text[i].line, line);
}

static void want_chain(struct keeper *k, const struct sym_resolve_module *m,
                       const struct sym_line *chain, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *decl = chain[i].decl_file ? chain[i].decl_file : chain[i].file;

        want_line(k, m, intern_cstr(k->s->names->in, chain[i].file), chain[i].line);
        want_line(k, m, intern_cstr(k->s->names->in, decl), chain[i].decl_line);
    }
}

static const struct sym_resolve_module *module_of(const struct keeper *k, uint32_t module)
{
    return module && module <= k->s->names->module.n ? &k->s->names->module.v[module - 1] : NULL;
}

static void add_hot(struct keeper *k, uint32_t module, const struct sym_line *outer, uint64_t cost)
{
    uint64_t h = hash_pair(module, outer->start);
    uint32_t id;

    for (uint32_t at = index_first(&k->by_start, h); (id = index_id(&k->by_start, h, &at));) {
        struct hot *f = &k->hot.v[id - 1];

        if (f->module == module && f->start == outer->start) {
            f->cost += cost;
            return;
        }
    }
    *vec_add(&k->hot) = (struct hot){ module, outer->start, outer->end, cost,
                                           outer->file != NULL };
    index_add(&k->by_start, h, (uint32_t)k->hot.n);
}

/* Visit every frame: mark its source lines, and its code if cost was measured on it. */
static void mark_frames(struct keeper *k)
{
    const struct col_keep *s = k->s;
    size_t n = s->names->in->frame.n;

    for (size_t i = 0; i < n; i++) {
        struct frame f = s->names->in->frame.v[i];
        uint64_t cost = i < s->n_self ? s->self[i] : 0;
        const struct sym_resolve_module *m = module_of(k, f.module);
        const struct sym_line *chain;
        size_t length;

        k->whole += cost;
        if (f.kind != FRAME_NATIVE || !m || !m->open || !f.address)
            continue;
        if (!cost && sym_module_source(m->open) != SYM_DWARF)
            continue; /* no line information */
        length = sym_module_find(m->open, f.address - !!(f.flags & FRAME_RETURN), &chain);
        if (!length)
            continue;
        want_chain(k, m, chain, length);
        if (cost && chain[0].end > chain[0].start)
            add_hot(k, f.module, &chain[0], cost);
    }
}

static int by_cost(const void *a, const void *b)
{
    const struct hot *x = a, *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? 1 : -1;
    return x->start < y->start ? -1 : x->start > y->start;
}

static bool same_chain(const struct sym_line *a, const struct sym_line *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].line != b[i].line || a[i].name != b[i].name || a[i].file != b[i].file)
            return false;
    return true;
}

enum { DEEPEST = 64 };

/* Write a row wherever the inline chain changes within the function's code. */
static void keep_rows(struct keeper *k, const struct hot *f, struct sym_module *m,
                      const unsigned char *bytes, size_t size)
{
    struct sym_line before[DEEPEST];
    size_t n_before = 0, at = 0;
    struct disasm_line d;

    while (disasm_one(bytes + at, size - at, f->start + at, &d)) {
        const struct sym_line *chain;
        size_t n = sym_module_find(m, d.address, &chain);

        at += d.size;
        if (!n || n > DEEPEST || (n == n_before && same_chain(chain, before, n)))
            continue;
        memcpy(before, chain, n * sizeof *chain);
        n_before = n;
        sym_resolve_line(k->s->names, &(struct line_row){ f->module, d.address });
    }
}

static void keep_code(struct keeper *k)
{
    double covered = 0;
    size_t left = MOST_CODE_ALL;

    if (k->hot.n)
        qsort(k->hot.v, k->hot.n, sizeof *k->hot.v, by_cost);
    for (size_t i = 0; i < k->hot.n && i < MOST_FUNCTIONS; i++) {
        const struct hot *f = &k->hot.v[i];
        size_t size = f->end - f->start < MOST_CODE ? (size_t)(f->end - f->start) : MOST_CODE;
        struct sym_module *m = module_of(k, f->module)->open;
        const unsigned char *bytes = size <= left ? sym_module_code(m, f->start, size) : NULL;

        if (covered >= ENOUGH * (double)k->whole || (double)f->cost < LITTLE * (double)k->whole)
            break;
        covered += (double)f->cost;
        if (!bytes)
            continue;
        left -= size;
        sink_code(k->s->names->in->out, &(struct code_bytes){ f->module, f->start, bytes, size });
        if (f->has_lines)
            keep_rows(k, f, m, bytes, size);
    }
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Store the lines near marked ones and empty lines between them; stop after the last. */
static void cut_text(const struct text *t, const struct map *m, struct buf *out)
{
    const char *s = (const char *)m->data, *end = s + m->size;
    size_t next = 0;

    for (uint32_t number = 1; s < end && next < t->line.n; number++) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        size_t n = (size_t)((stop ? stop : end) - s);

        while (next < t->line.n && t->line.v[next] + AFTER < number)
            next++;
        if (next < t->line.n && number + BEFORE >= t->line.v[next])
            buf_add(out, s, n);
        buf_u8(out, '\n');
        s = stop ? stop + 1 : end;
    }
}

static void keep_text(struct keeper *k, struct text *t)
{
    const char *file = intern_text_of(k->s->names->in, t->file);
    struct map m = { 0 };
    struct buf cut = { 0 };
    int fd = -1;

    if (t->line.n)
        qsort(t->line.v, t->line.n, sizeof *t->line.v, by_number);
    if (file[0] == '/' || !*t->root) /* the directory of a relative one is not known there */
        fd = named_open(t->root, file, t->user, 0, NULL);
    if (fd < 0)
        return;
    if (map_copy(&m, fd, MOST_FILE, NULL) == 0 && m.size && !memchr(m.data, 0, m.size)) {
        cut_text(t, &m, &cut);
        sink_source(k->s->names->in->out,
                    &(struct source_text){ t->file, (char *)cut.data, cut.n });
    }
    buf_release(&cut);
    map_close(&m);
    close(fd);
}

void col_keep(const struct col_keep *s)
{
    struct keeper k = { .s = s };

    mark_frames(&k);
    keep_code(&k);
    for (size_t i = 0; i < k.n_texts; i++) {
        keep_text(&k, &k.text[i]);
        vec_release(&k.text[i].line);
    }
    vec_release(&k.hot);
    index_release(&k.by_start);
}
