/* sym_slots.c - see sym_slots.h.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_slots.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum {
    SECTIONS_MAX = 1024,
    TABLE_MAX = 64 << 20, /* bytes of symbols, of their names and of all relocations */
    NAME_MAX_BYTES = 1024,
    SLOTS_MAX = 1 << 16,
    RESOLVERS_MAX = 4096,
    CODE_MAX = 4096, /* bytes of a resolver */
    PART = 4096,     /* relocations read at once */
};

struct tables {
    unsigned char *symbols, *names;
    uint64_t symbols_size, names_size;
};

/* Replace *TO by the bytes of section S. */
static bool load(struct elf_file *f, const struct elf_section *s, unsigned char **to, uint64_t *n)
{
    free(*to);
    *to = s->size <= TABLE_MAX && s->size <= f->size ? mem_try_alloc(s->size + 1) : NULL;
    *n = *to && elf_file_bytes(f, s->offset, s->size, *to) ? s->size : 0;
    return *n != 0;
}

static bool get_symbol(const struct tables *t, uint64_t number, Elf64_Sym *y)
{
    if (number >= t->symbols_size / sizeof *y)
        return false;
    memcpy(y, t->symbols + number * sizeof *y, sizeof *y);
    return true;
}

/* Hash of the name of Y; 0 if it has none, or a long one. */
static uint64_t key_of(const struct tables *t, const Elf64_Sym *y)
{
    const char *name = elf_file_name(t->names, t->names_size, y->st_name, NAME_MAX_BYTES);

    return *name ? hash_bytes(name, strlen(name)) : 0;
}

static void add_resolvers(struct sym_slots *s, const struct tables *t)
{
    Elf64_Sym y;

    for (uint64_t i = 1; get_symbol(t, i, &y) && s->resolver.n < RESOLVERS_MAX; i++) {
        uint64_t key;

        if (ELF64_ST_TYPE(y.st_info) != STT_GNU_IFUNC || y.st_shndx == SHN_UNDEF)
            continue;
        key = key_of(t, &y);
        if (key)
            vec_push(&s->resolver, ((struct sym_resolver){ y.st_value, y.st_size, key }));
    }
}

/* Only these can be bound to a resolver: imported functions, and exported resolvers. */
static bool may_be_chosen(const Elf64_Sym *y)
{
    unsigned type = ELF64_ST_TYPE(y->st_info);

    return type == STT_GNU_IFUNC ||
           (y->st_shndx == SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE));
}

enum what { OTHER, SYMBOL, IRELATIVE };

static enum what kind_of(const struct elf_file *f, const Elf64_Rela *r)
{
    bool arm = f->machine == EM_AARCH64;

    switch (ELF64_R_TYPE(r->r_info)) {
    case R_X86_64_IRELATIVE:
        return arm ? OTHER : IRELATIVE;
    case R_AARCH64_IRELATIVE:
        return arm ? IRELATIVE : OTHER;
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_GLOB_DAT:
    case R_X86_64_64:
        return arm || r->r_addend ? OTHER : SYMBOL;
    case R_AARCH64_JUMP_SLOT:
    case R_AARCH64_GLOB_DAT:
    case R_AARCH64_ABS64:
        return arm && !r->r_addend ? SYMBOL : OTHER;
    default:
        return OTHER;
    }
}

static void add_slot(struct sym_slots *s, const struct tables *t, const Elf64_Rela *r)
{
    enum what kind = kind_of(&s->elf, r);
    struct sym_slot slot = { .address = r->r_offset };
    Elf64_Sym y;

    if (kind == IRELATIVE) {
        slot.key = (uint64_t)r->r_addend;
        slot.is_irelative = true;
    } else if (kind == SYMBOL && get_symbol(t, ELF64_R_SYM(r->r_info), &y) && may_be_chosen(&y)) {
        slot.key = key_of(t, &y);
    }
    if (slot.key)
        vec_push(&s->slot, slot);
}

/* Read at most *LEFT bytes: sections may overlap, so that a small file has many relocations. */
static void add_slots(struct sym_slots *s, const struct tables *t, const struct elf_section *from,
                      uint64_t *left)
{
    Elf64_Rela *part = mem_alloc(PART * sizeof *part);
    uint64_t size = from->size < *left ? from->size : *left, all = size / sizeof *part, n;

    *left -= size;
    for (uint64_t at = 0; at < all && s->slot.n < SLOTS_MAX; at += n) {
        n = all - at < PART ? all - at : PART;
        if (!elf_file_bytes(&s->elf, from->offset + at * sizeof *part, n * sizeof *part, part))
            break;
        for (uint64_t i = 0; i < n && s->slot.n < SLOTS_MAX; i++)
            add_slot(s, t, &part[i]);
    }
    free(part);
}

/* A file has one table of dynamic symbols, and its names are in the only loaded string table. */
static bool load_tables(struct sym_slots *s, struct tables *t)
{
    for (unsigned i = 0; i < s->elf.n_sections && i < SECTIONS_MAX; i++) {
        struct elf_section x;

        if (!elf_file_section(&s->elf, i, &x))
            break;
        s->has_symtab |= x.type == SHT_SYMTAB;
        if (x.type == SHT_DYNSYM && !t->symbols_size)
            load(&s->elf, &x, &t->symbols, &t->symbols_size);
        if (x.type == SHT_STRTAB && (x.flags & SHF_ALLOC) && !t->names_size)
            load(&s->elf, &x, &t->names, &t->names_size);
    }
    return t->symbols_size && t->names_size;
}

void sym_slots_read(struct sym_slots *s)
{
    bool known = s->elf.machine == EM_X86_64 || s->elf.machine == EM_AARCH64;
    struct tables t = { 0 };
    uint64_t left = TABLE_MAX;

    if (known && load_tables(s, &t)) {
        add_resolvers(s, &t);
        for (unsigned i = 0; i < s->elf.n_sections && i < SECTIONS_MAX; i++) {
            struct elf_section x;

            if (elf_file_section(&s->elf, i, &x) && x.type == SHT_RELA && (x.flags & SHF_ALLOC))
                add_slots(s, &t, &x, &left);
        }
    }
    free(t.symbols);
    free(t.names);
}

void sym_slots_release(struct sym_slots *s)
{
    vec_release(&s->slot);
    vec_release(&s->resolver);
}

/* Copy at most CAP bytes of R's code; returns their number. */
static size_t code_of(struct elf_file *f, const struct sym_resolver *r, unsigned char *code,
                      size_t cap)
{
    size_t n = r->size < cap ? (size_t)r->size : cap;

    for (size_t i = 0; i < f->n_segments; i++) {
        const struct elf_segment *g = &f->segment[i];

        if (!g->exec || r->address < g->address || r->address - g->address >= g->size)
            continue;
        if (n > g->size - (r->address - g->address))
            n = (size_t)(g->size - (r->address - g->address));
        return elf_file_bytes(f, g->offset + (r->address - g->address), n, code) ? n : 0;
    }
    return 0;
}

/* lea DISTANCE(%rip),REGISTER: the distance is from the next instruction. */
static bool x86_refers(const unsigned char *code, size_t n, uint64_t at, uint64_t address)
{
    for (size_t i = 0; i + 7 <= n; i++) {
        int32_t distance;

        if ((code[i] & 0xf8) != 0x48 || code[i + 1] != 0x8d || (code[i + 2] & 0xc7) != 0x05)
            continue;
        memcpy(&distance, code + i + 3, 4);
        if (at + i + 7 + (uint64_t)(int64_t)distance == address)
            return true;
    }
    return false;
}

/* adrp REGISTER,PAGE and a later add of that register; or adr. */
static bool arm_refers(const unsigned char *code, size_t n, uint64_t at, uint64_t address)
{
    uint64_t page[32];
    uint32_t has_page = 0; /* by register */

    for (size_t i = 0; i + 4 <= n; i += 4) {
        uint32_t word, low, to, from;
        uint64_t far;

        memcpy(&word, code + i, 4);
        to = word & 31;
        far = (uint64_t)((int64_t)((uint64_t)(word >> 5 & 0x7ffff) << 45) >> 43) | (word >> 29 & 3);
        low = word >> 10 & 0xfff;
        from = word >> 5 & 31;
        if ((word & 0x9f000000) == 0x90000000) { /* adrp */
            page[to] = ((at + i) & ~(uint64_t)0xfff) + (far << 12);
            has_page |= 1u << to;
        } else if ((word & 0x9f000000) == 0x10000000) { /* adr */
            if (at + i + far == address)
                return true;
        } else if ((word & 0xffc00000) == 0x91000000) { /* add */
            if ((has_page >> from & 1) && page[from] + low == address)
                return true;
        }
    }
    return false;
}

bool sym_slots_can_choose(struct sym_slots *s, const struct sym_resolver *r, uint64_t address)
{
    unsigned char code[CODE_MAX];
    size_t n = code_of(&s->elf, r, code, sizeof code);

    return s->elf.machine == EM_AARCH64 ? arm_refers(code, n, r->address, address)
                                        : x86_refers(code, n, r->address, address);
}
