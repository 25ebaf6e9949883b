/* sym_elf.c - names from .symtab (of the file or its debug file), or else from .dynsym and
 * .gnu_debugdata together, because the latter omits what the former has.
 *
 * Reading a table takes one pass and one sort.  Names are read only for the addresses looked up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_elf.h"

#include <stdlib.h>
#include <string.h>

#include "base/elf_file.h"
#include "base/hash.h"
#include "symbol/sym_table.h"

enum { TEXTS_MAX = 4, SYMBOLS_MAX = 64 << 20, CODE_SECTIONS_MAX = 64, MOST_NAME = 64 << 10 };

struct elf_state {
    struct sym_table table;
    struct elf_text {
        const char *text;
        size_t size;
        enum sym_source source;
    } text[TEXTS_MAX];
    size_t n_texts;
    struct sym_image *file, *mini; /* mini is owned */
    struct {
        uint64_t start, end;
    } code[CODE_SECTIONS_MAX];
    size_t n_code;
    struct umap alias; /* entry index + 1 -> index + 1 of the best alias */
    struct sym_names names; /* by entry index */
    enum sym_source best;
};

/* Aliases of one address: prefer functions to labels, global to weak to local. */
static uint16_t rank_of(const GElf_Sym *s)
{
    unsigned bind = GELF_ST_BIND(s->st_info);

    return (uint16_t)((GELF_ST_TYPE(s->st_info) == STT_NOTYPE ? 0 : 4) +
                      (bind == STB_GLOBAL ? 2 : bind == STB_WEAK ? 1 : 0));
}

static bool is_function(const GElf_Sym *s, const bool *exec, size_t n_sections)
{
    unsigned type = GELF_ST_TYPE(s->st_info);

    if (s->st_shndx == SHN_UNDEF || s->st_value == 0)
        return false;
    if (type == STT_FUNC || type == STT_GNU_IFUNC)
        return true;
    return type == STT_NOTYPE && s->st_shndx < n_sections && exec[s->st_shndx];
}

static bool *exec_sections(Elf *elf, size_t *n)
{
    bool *exec;

    if (elf_getshdrnum(elf, n) < 0)
        *n = 0;
    exec = mem_zalloc(*n + 1);
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        GElf_Shdr sh;

        if (elf_ndxscn(s) < *n && gelf_getshdr(s, &sh))
            exec[elf_ndxscn(s)] = (sh.sh_flags & SHF_EXECINSTR) != 0;
    }
    return exec;
}

static void add_symbols(struct elf_state *st, Elf *elf, Elf_Data *d, size_t n)
{
    size_t n_sections;
    bool *exec = exec_sections(elf, &n_sections);

    vec_reserve(&st->table.entry, st->table.entry.n + n);
    for (size_t i = 1; i < n; i++) {
        GElf_Sym s;

        if (!gelf_getsym(d, (int)i, &s) || !is_function(&s, exec, n_sections))
            continue;
        sym_table_add(&st->table, (struct sym_entry){ s.st_value, s.st_value + s.st_size,
                                                      s.st_name, (uint16_t)st->n_texts,
                                                      rank_of(&s) });
    }
    free(exec);
}

/* Read the symbol table of TYPE in IM; false when there is none. */
static bool add_table(struct elf_state *st, struct sym_image *im, unsigned type,
                      enum sym_source source)
{
    for (Elf_Scn *s = NULL; (s = elf_nextscn(im->elf, s));) {
        GElf_Shdr sh;
        Elf_Data *d, *text;
        size_t n;

        if (!gelf_getshdr(s, &sh) || sh.sh_type != type || !sh.sh_entsize)
            continue;
        d = elf_getdata(s, NULL);
        text = elf_getdata(elf_getscn(im->elf, sh.sh_link), NULL);
        n = d ? d->d_size / sh.sh_entsize : 0;
        if (n < 2 || n > SYMBOLS_MAX || !text || !text->d_buf || st->n_texts == TEXTS_MAX)
            continue;
        st->text[st->n_texts] = (struct elf_text){ text->d_buf, text->d_size, source };
        add_symbols(st, im->elf, d, n);
        st->n_texts++;
        if (source > st->best)
            st->best = source;
        return true;
    }
    return false;
}

static void read_tables(struct elf_state *st, struct sym_module *m)
{
    struct sym_image *debug;

    if (st->file && add_table(st, st->file, SHT_SYMTAB, SYM_SYMTAB))
        return;
    debug = sym_module_debug(m);
    if (debug && add_table(st, debug, SHT_SYMTAB, SYM_SYMTAB))
        return;
    if (!st->file)
        return;
    add_table(st, st->file, SHT_DYNSYM, SYM_DYNSYM);
    st->mini = sym_image_open_mini(st->file);
    if (st->mini)
        add_table(st, st->mini, SHT_SYMTAB, SYM_MINI);
}

static void read_code_sections(struct elf_state *st, Elf *elf)
{
    for (Elf_Scn *s = NULL; st->n_code < CODE_SECTIONS_MAX && (s = elf_nextscn(elf, s));) {
        GElf_Shdr sh;

        if (!gelf_getshdr(s, &sh) || !(sh.sh_flags & SHF_EXECINSTR))
            continue;
        st->code[st->n_code].start = sh.sh_addr;
        st->code[st->n_code++].end = sh.sh_addr + sh.sh_size;
    }
}

/* A label without a size cannot extend past its section. */
static uint64_t section_end(void *arg, uint64_t address)
{
    const struct elf_state *st = arg;

    for (size_t i = 0; i < st->n_code; i++)
        if (address >= st->code[i].start && address < st->code[i].end)
            return st->code[i].end;
    return address;
}

static void elf_close(void *state)
{
    struct elf_state *st = state;

    sym_table_release(&st->table);
    umap_release(&st->alias);
    sym_names_release(&st->names);
    sym_image_close(st->mini);
    free(st);
}

static void *elf_open(struct sym_module *m)
{
    struct elf_state *st = mem_zalloc(sizeof *st);
    struct sym_image *layout;

    st->file = sym_module_file(m);
    read_tables(st, m);
    if (!st->table.entry.n) {
        elf_close(st);
        return NULL;
    }
    layout = st->file ? st->file : m->debug;
    if (layout)
        read_code_sections(st, layout->elf);
    sym_table_finish(&st->table, section_end, st);
    return st;
}

/* Drop the version: "pthread_create@@GLIBC_2.34" becomes "pthread_create". */
static const char *without_version(struct sym_module *m, const char *name)
{
    size_t n = strcspn(name, "@");

    return name[n] && n ? arena_strndup(&m->arena, name, n) : name;
}

static const char *text_of(const struct elf_state *st, const struct sym_entry *e)
{
    const struct elf_text *t = &st->text[e->owner];

    return elf_file_name(t->text, t->size, e->name, MOST_NAME);
}

/* Lower for more common spellings: "free" before "cfree@GLIBC_2.2.5" before "__libc_free". */
static size_t oddness(const char *name)
{
    return 2 * strspn(name, "_") + (strchr(name, '@') != NULL);
}

/* Among aliases of equal rank, the one with the lowest oddness. */
static const struct sym_entry *best_alias(const struct elf_state *st, long at)
{
    const struct sym_entry *first = st->table.entry.v, *best = &first[at];
    const struct sym_entry *end = first + st->table.entry.n;
    const char *best_name = text_of(st, best);

    while (at > 0 && first[at - 1].start == best->start)
        at--;
    for (const struct sym_entry *e = &first[at]; e < end && e->start == best->start; e++) {
        const char *name = text_of(st, e);

        if (*name && (!*best_name || (e->rank == best->rank &&
                                      oddness(name) < oddness(best_name)))) {
            best = e;
            best_name = name;
        }
    }
    return best;
}

/* Compare the aliases once: many addresses are in a function, and a hostile file has a million. */
static const struct sym_entry *entry_at(struct elf_state *st, uint64_t address)
{
    long at = st ? sym_table_find(&st->table, address) : -1;
    const struct sym_entry *e;
    uint32_t best;

    if (at < 0)
        return NULL;
    best = umap_find(&st->alias, (uint64_t)at + 1);
    if (!best) {
        best = (uint32_t)(best_alias(st, at) - st->table.entry.v) + 1;
        umap_put(&st->alias, (uint64_t)at + 1, best);
    }
    e = &st->table.entry.v[best - 1];
    return *text_of(st, e) ? e : NULL;
}

static const struct sym_name *name_of(struct sym_module *m, struct elf_state *st,
                                      const struct sym_entry *e)
{
    uint64_t key = (uint64_t)(e - st->table.entry.v);
    const struct sym_name *known = sym_names_find(&st->names, key);

    return known ? known : sym_names_add(&st->names, m, key, without_version(m, text_of(st, e)));
}

bool sym_elf_symbol(struct sym_module *m, uint64_t address, struct sym_elf_symbol *s)
{
    struct elf_state *st = sym_module_state(m, &symbolizer_elf);
    const struct sym_entry *e = entry_at(st, address);
    const struct sym_name *name;

    if (!e)
        return false;
    name = name_of(m, st, e);
    *s = (struct sym_elf_symbol){ name->plain, name->linkage, e->start, e->end,
                                  st->text[e->owner].source };
    return true;
}

static bool elf_find(struct sym_module *m, void *state, uint64_t address)
{
    struct sym_elf_symbol s;
    struct sym_line *l;

    if (!sym_elf_symbol(m, address, &s))
        return false;
    l = sym_module_add(m);
    l->name = s.name;
    l->linkage_name = s.linkage;
    l->start = s.start;
    l->end = s.end;
    l->source = s.source;
    return true;
}

static enum sym_source elf_best(void *state)
{
    return ((struct elf_state *)state)->best;
}

const struct symbolizer symbolizer_elf = {
    .name = "elf",
    .about = ".symtab, .dynsym and minidebuginfo",
    .source = SYM_SYMTAB,
    .open = elf_open,
    .close = elf_close,
    .find = elf_find,
    .best = elf_best,
};
