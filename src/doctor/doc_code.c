/* doc_code.c - inspect the first instructions of functions.  The code is reliable; recorded
 * compiler flags may not apply to every file.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "disasm/disasm.h"
#include "doctor/doc_build.h"

enum {
    LOOK_BYTES = 1024,      /* of a function, searched for a call */
    ENTRY_INSTRUCTIONS = 16, /* in which a frame pointer is set up */
    LEAST_BYTES = 32,
    FUNCTIONS_MOST = 5000,
};

/* Compilers omit the frame pointer in leaf functions whatever the flags, and unwinding does not
 * need it there.  Therefore only functions with a call count. */
struct entry {
    bool sets_frame, spills, calls;
};

/* mov [rbp+disp8], rdi or edi: the first argument goes to memory, as only -O0 does. */
static bool is_spill(const unsigned char *p, size_t n)
{
    if (n >= 4 && p[0] == 0x48)
        p++, n--;
    return n >= 3 && p[0] == 0x89 && p[1] == 0x7d;
}

static struct entry look_x86(const unsigned char *p, size_t n, uint64_t address)
{
    struct entry e = { 0 };
    struct disasm_line l;

    for (int i = 0; !e.calls && disasm_one(p, n, address, &l) && l.kind != DISASM_BAD; i++) {
        if (i < ENTRY_INSTRUCTIONS) {
            e.sets_frame |= l.sets_frame;
            e.spills |= e.sets_frame && is_spill(p, n);
        }
        e.calls = l.kind == DISASM_CALL;
        p += l.size;
        n -= l.size;
        address += l.size;
    }
    return e;
}

/* Without a disassembler: push rbp; mov rbp, rsp in one of its two encodings, and the byte of a
 * near call. */
static struct entry look_x86_bytes(const unsigned char *p, size_t n)
{
    struct entry e = { .calls = memchr(p, 0xe8, n) != NULL };

    for (size_t i = 0; i + 4 <= n && i < 4 * ENTRY_INSTRUCTIONS && !e.sets_frame; i++)
        e.sets_frame = p[i] == 0x55 && p[i + 1] == 0x48 &&
                       ((p[i + 2] == 0x89 && p[i + 3] == 0xe5) ||
                        (p[i + 2] == 0x8b && p[i + 3] == 0xec));
    return e;
}

/* mov x29, sp or add x29, sp, #n; bl and blr.  Instructions of 4 bytes, little-endian. */
static struct entry look_arm(const unsigned char *p, size_t n)
{
    struct entry e = { 0 };

    for (size_t i = 0; i + 4 <= n; i += 4) {
        uint32_t x;

        memcpy(&x, p + i, 4);
        if (i < 4 * ENTRY_INSTRUCTIONS)
            e.sets_frame |= (x & 0xffc003ff) == 0x910003fd;
        e.calls |= (x & 0xfc000000) == 0x94000000 || (x & 0xfffffc1f) == 0xd63f0000;
    }
    return e;
}

static bool in_text(struct sym_module *m, uint64_t *low, uint64_t *high)
{
    GElf_Shdr sh;

    if (!sym_image_section(sym_module_file(m), ".text", &sh))
        return false;
    *low = sh.sh_addr;
    *high = sh.sh_addr + sh.sh_size;
    return true;
}

struct range {
    uint64_t start, end;
};
struct ranges {
    VEC(struct range) v;
};

/* Functions from the table of .eh_frame_hdr, which stripped files have too. */
static void add_unwound(struct ranges *r, struct sym_module *m, uint64_t high)
{
    size_t n;
    const uint64_t *start = sym_ehframe_starts(m, &n);

    for (size_t i = 0; start && i < n; i++)
        vec_push(&r->v, ((struct range){ start[i], i + 1 < n ? start[i + 1] : high }));
}

/* Functions from the symbols: static programs and Go programs have no such table. */
static void add_named(struct ranges *r, struct sym_image *im)
{
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;

    while ((scn = elf_nextscn(im->elf, scn))) {
        Elf_Data *d;
        GElf_Sym s;

        if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB || !sh.sh_entsize)
            continue;
        d = elf_getdata(scn, NULL);
        for (size_t i = 0; d && i < d->d_size / sh.sh_entsize; i++)
            if (gelf_getsym(d, (int)i, &s) && GELF_ST_TYPE(s.st_info) == STT_FUNC && s.st_size &&
                s.st_value + s.st_size > s.st_value)
                vec_push(&r->v, ((struct range){ s.st_value, s.st_value + s.st_size }));
    }
}

static void look(struct doc_code *c, struct sym_module *m, const struct range *r, int machine)
{
    static const char native[] = "x86_64";
    uint64_t size = r->end - r->start;
    const unsigned char *p;
    struct entry e;

    size = size < LOOK_BYTES ? size : LOOK_BYTES;
    p = sym_image_code(sym_module_file(m), r->start, size);
    if (!p)
        return;
    e = machine == EM_AARCH64      ? look_arm(p, size)
        : *disasm_refusal(native) == 0 ? look_x86(p, size, r->start)
                                       : look_x86_bytes(p, size);
    if (!e.calls)
        return;
    c->functions++;
    c->frame_pointers += e.sets_frame;
    c->spills += e.spills;
}

void doc_code_read(struct doc_code *c, struct sym_module *m)
{
    struct ranges r = { 0 };
    uint64_t low, high;
    GElf_Ehdr eh;

    *c = (struct doc_code){ 0 };
    if (!in_text(m, &low, &high) || !gelf_getehdr(sym_module_file(m)->elf, &eh))
        return;
    c->bytes = high - low;
    c->covered = sym_ehframe_covers(m, low, high);
    add_unwound(&r, m, high);
    if (!r.v.n)
        add_named(&r, sym_module_file(m));
    for (size_t i = 0; i < r.v.n && c->functions < FUNCTIONS_MOST; i++) {
        const struct range *f = &r.v.v[i];

        if (f->start >= low && f->end <= high && f->end - f->start >= LEAST_BYTES &&
            f->start != eh.e_entry)
            look(c, m, f, eh.e_machine);
    }
    vec_release(&r.v);
}
