/* sym_plt.c - PLT entries: `malloc@plt`.  An entry jumps through a slot of the global offset
 * table; the relocation of that slot names the function. x86-64; for other machines the next
 * symbolizer is tried.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elf_file.h"
#include "symbol/sym_table.h"
#include "symbol/symbolizer.h"

enum { ENTRY = 16, RELOCATIONS_MAX = 1 << 22, UNDERSCORES_MAX = 8, MOST_NAME = 4096 };

struct plt_state {
    struct sym_table slots; /* GOT slots with the name's offset in .dynstr */
    const char *text;
    size_t text_size;
    struct {
        uint64_t start, end;
    } part[4];
    size_t n_parts;
    bool has_names;
    bool read; /* the relocations were read; a large library has many */
};

/* The rank of symbol S among those of one resolver: as in sym_ifunc.c. */
static uint16_t rank_of(const struct plt_state *st, const GElf_Sym *s)
{
    unsigned score = 2 * UNDERSCORES_MAX + (GELF_ST_BIND(s->st_info) != STB_WEAK);

    for (size_t i = 0; i < UNDERSCORES_MAX; i++) {
        if (s->st_name + i >= st->text_size || st->text[s->st_name + i] != '_')
            break;
        score -= 2;
    }
    return (uint16_t)score;
}

/* The exported resolvers, by address: a library calls its own without a symbol. */
static void read_resolvers(const struct plt_state *st, struct sym_table *resolvers, Elf_Data *syms)
{
    GElf_Sym s;

    for (int i = 1; gelf_getsym(syms, i, &s); i++)
        if (GELF_ST_TYPE(s.st_info) == STT_GNU_IFUNC)
            sym_table_add(resolvers, (struct sym_entry){ s.st_value, s.st_value + 1, s.st_name, 0,
                                                         rank_of(st, &s) });
    sym_table_finish(resolvers, NULL, NULL);
}

/* Offset of the name of the function whose address R stores, or 0. */
static uint32_t name_of_slot(const GElf_Rela *r, Elf_Data *syms, const struct sym_table *resolvers)
{
    GElf_Sym s;
    long at;

    switch (GELF_R_TYPE(r->r_info)) {
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_GLOB_DAT:
        return gelf_getsym(syms, (int)GELF_R_SYM(r->r_info), &s) ? s.st_name : 0;
    case R_X86_64_IRELATIVE:
        at = sym_table_find(resolvers, (uint64_t)r->r_addend);
        return at >= 0 ? resolvers->entry.v[at].name : 0;
    default:
        return 0;
    }
}

/* Read at most *LEFT relocations: sections may overlap, so that a small file has many. */
static void add_slots(struct plt_state *st, Elf_Data *rela, Elf_Data *syms,
                      const struct sym_table *resolvers, size_t *left)
{
    size_t n = rela->d_size / sizeof(Elf64_Rela);

    for (size_t i = 0; i < n && *left; i++, --*left) {
        GElf_Rela r;
        uint32_t name;

        if (!gelf_getrela(rela, (int)i, &r))
            break;
        name = name_of_slot(&r, syms, resolvers);
        if (name)
            sym_table_add(&st->slots, (struct sym_entry){ r.r_offset, r.r_offset + 8, name, 0, 0 });
    }
}

static void read_parts(struct plt_state *st, struct sym_image *im)
{
    static const char *const parts[] = { ".plt", ".plt.sec", ".plt.got" };
    GElf_Shdr sh;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (sym_image_section(im, parts[i], &sh)) {
            st->part[st->n_parts].start = sh.sh_addr;
            st->part[st->n_parts++].end = sh.sh_addr + sh.sh_size;
        }
}

static void read_slots(struct plt_state *st, struct sym_image *im)
{
    struct sym_table resolvers = { 0 };
    size_t left = RELOCATIONS_MAX;
    Elf_Data *known = NULL; /* the only table of dynamic symbols */
    GElf_Shdr sh;

    for (Elf_Scn *s = NULL; (s = elf_nextscn(im->elf, s));) {
        Elf_Data *d, *syms, *text;
        GElf_Shdr of;

        if (!gelf_getshdr(s, &sh) || sh.sh_type != SHT_RELA || !(d = elf_getdata(s, NULL)) ||
            !gelf_getshdr(elf_getscn(im->elf, sh.sh_link), &of) || of.sh_type != SHT_DYNSYM)
            continue;
        syms = elf_getdata(elf_getscn(im->elf, sh.sh_link), NULL);
        text = elf_getdata(elf_getscn(im->elf, of.sh_link), NULL);
        if (!syms || !text || !text->d_buf || (known && known != syms))
            continue;
        if (!known) {
            known = syms;
            st->text = text->d_buf;
            st->text_size = text->d_size;
            read_resolvers(st, &resolvers, syms);
        }
        add_slots(st, d, syms, &resolvers, &left);
    }
    sym_table_release(&resolvers);
    sym_table_finish(&st->slots, NULL, NULL);
    st->read = true;
}

static void plt_close(void *state)
{
    struct plt_state *st = state;

    sym_table_release(&st->slots);
    free(st);
}

static void *plt_open(struct sym_module *m)
{
    struct sym_image *im = sym_module_file(m);
    struct plt_state *st;
    GElf_Shdr sh;
    GElf_Ehdr eh;

    if (!im || !gelf_getehdr(im->elf, &eh) || eh.e_machine != EM_X86_64)
        return NULL;
    st = mem_zalloc(sizeof *st);
    st->has_names = sym_image_section(im, ".dynsym", &sh) != NULL;
    read_parts(st, im);
    if (st->n_parts)
        return st;
    plt_close(st);
    return NULL;
}

/* The slot that the entry at START jumps through: ff 25, offset from the next instruction. */
static uint64_t slot_of(struct sym_image *im, uint64_t start)
{
    const unsigned char *p = sym_image_code(im, start, ENTRY);

    for (unsigned i = 0; p && i + 6 <= ENTRY; i++)
        if (p[i] == 0xff && p[i + 1] == 0x25) {
            int32_t distance;

            memcpy(&distance, p + i + 2, 4);
            return start + i + 6 + (uint64_t)(int64_t)distance;
        }
    return 0;
}

static const char *entry_name(const struct plt_state *st, struct sym_image *im, uint64_t start)
{
    uint64_t slot = slot_of(im, start);
    long at = slot ? sym_table_find(&st->slots, slot) : -1;
    size_t offset = at >= 0 ? st->slots.entry.v[at].name : 0;
    const char *name = elf_file_name(st->text, offset ? st->text_size : 0, offset, MOST_NAME);

    return *name ? name : NULL;
}

static bool plt_find(struct sym_module *m, void *state, uint64_t address)
{
    struct plt_state *st = state;

    for (size_t i = 0; i < st->n_parts; i++) {
        uint64_t start = address - (address - st->part[i].start) % ENTRY;
        const char *name, *linkage;
        struct sym_line *l;
        char *text;

        if (address < st->part[i].start || address >= st->part[i].end)
            continue;
        if (!st->read)
            read_slots(st, m->file);
        name = entry_name(st, m->file, start);
        text = name ? mem_printf("%s@plt", sym_module_name(m, name, &linkage))
                    : mem_printf("plt_%llx [%s]", (unsigned long long)st->part[i].start, m->base);
        l = sym_module_add(m);
        l->name = arena_strndup(&m->arena, text, strlen(text));
        l->start = start;
        l->end = start + ENTRY;
        l->source = SYM_DYNSYM;
        free(text);
        return true;
    }
    return false;
}

/* A static program has entries for its own resolvers, which have no names. */
static enum sym_source plt_best(void *state)
{
    return ((struct plt_state *)state)->has_names ? SYM_DYNSYM : SYM_EH_FRAME;
}

const struct symbolizer symbolizer_plt = {
    .name = "plt",
    .about = "PLT entries",
    .source = SYM_DYNSYM,
    .open = plt_open,
    .close = plt_close,
    .find = plt_find,
    .best = plt_best,
};
