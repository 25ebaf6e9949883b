/* doc_code.c - what the first instructions of functions tell.  A flag on a command line may not
 * have reached every file; the code cannot lie.  SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "disasm/disasm.h"
#include "doctor/doc_build.h"

enum {
    LOOK_BYTES = 1024,      /* of a function, for a call */
    ENTRY_INSTRUCTIONS = 16, /* in which a frame pointer is set up */
    LEAST_BYTES = 32,
    FUNCTIONS_MOST = 5000,
};

/* Compilers leave the frame pointer out of functions that call nothing, whatever they are told,
 * and no stack needs it there: only functions with a call are judged. */
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

void doc_code_read(struct doc_code *c, struct sym_module *m)
{
    bool disassembles = *disasm_refusal("x86_64") == 0;
    const uint64_t *start;
    uint64_t low, high;
    GElf_Ehdr eh;
    size_t n;

    *c = (struct doc_code){ 0 };
    start = sym_ehframe_starts(m, &n);
    if (!start || !in_text(m, &low, &high) || !gelf_getehdr(sym_module_file(m)->elf, &eh))
        return;
    for (size_t i = 0; i < n && c->functions < FUNCTIONS_MOST; i++) {
        uint64_t end = i + 1 < n ? start[i + 1] : high, size = end - start[i];
        const unsigned char *p;
        struct entry e;

        if (start[i] < low || end > high || size < LEAST_BYTES || start[i] == eh.e_entry)
            continue;
        size = size < LOOK_BYTES ? size : LOOK_BYTES;
        p = sym_image_code(sym_module_file(m), start[i], size);
        if (!p)
            continue;
        e = eh.e_machine == EM_AARCH64 ? look_arm(p, size)
            : disassembles             ? look_x86(p, size, start[i])
                                       : look_x86_bytes(p, size);
        if (!e.calls)
            continue;
        c->functions++;
        c->frame_pointers += e.sets_frame;
        c->spills += e.spills;
    }
}
