/* fuzz_dwarf.c - arbitrary debug sections.  The input is a list of sections, each with a kind, a
 * 16-bit size and bytes.  They are wrapped in a valid ELF file, so that the fuzzer spends its time
 * on DWARF.  SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "symbol/symbol.h"

enum { KINDS = 12, QUESTIONS = 64, TEXT_AT = 0x1000, TEXT_SIZE = 0x400 };
static const char *const kinds[KINDS] = {
    ".debug_info", ".debug_abbrev", ".debug_line",   ".debug_str",     ".debug_line_str", ".debug_rnglists",
    ".debug_ranges", ".debug_aranges", ".debug_addr", ".debug_str_offsets", ".debug_types", ".eh_frame_hdr"
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_sections(struct cursor c, struct buf *section)
{
    while (cur_left(&c) >= 3) {
        unsigned kind = cur_u8(&c) % KINDS;
        size_t n = cur_u16(&c);

        if (n > cur_left(&c))
            n = cur_left(&c);
        buf_add(&section[kind], cur_bytes(&c, n), n);
    }
}

static void make_elf(struct buf *elf, const struct buf *section)
{
    Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
                      .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
                      .e_ehsize = sizeof eh, .e_phoff = sizeof eh, .e_phnum = 1,
                      .e_phentsize = sizeof(Elf64_Phdr), .e_shentsize = sizeof(Elf64_Shdr),
                      .e_shnum = KINDS + 2, .e_shstrndx = KINDS + 1 };
    Elf64_Phdr ph = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = sizeof eh + sizeof ph,
                      .p_vaddr = TEXT_AT, .p_filesz = TEXT_SIZE, .p_memsz = TEXT_SIZE };
    Elf64_Shdr sh[KINDS + 2] = { 0 };
    struct buf names = { 0 };

    buf_add(elf, &eh, sizeof eh);
    buf_add(elf, &ph, sizeof ph);
    buf_reserve(elf, TEXT_SIZE);
    memset(elf->data + elf->n, 0x90, TEXT_SIZE);
    elf->n += TEXT_SIZE;
    buf_u8(&names, 0);
    for (int i = 0; i < KINDS; i++) {
        sh[i + 1] = (Elf64_Shdr){ .sh_name = (uint32_t)names.n, .sh_type = SHT_PROGBITS,
                                  .sh_offset = elf->n, .sh_size = section[i].n, .sh_addralign = 1 };
        buf_add(&names, kinds[i], strlen(kinds[i]) + 1);
        buf_add(elf, section[i].data, section[i].n);
    }
    sh[KINDS + 1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = elf->n, .sh_size = names.n,
                                  .sh_addralign = 1 };
    buf_add(elf, names.data, names.n);
    while (elf->n % 8)
        buf_u8(elf, 0);
    eh.e_shoff = elf->n;
    memcpy(elf->data, &eh, sizeof eh);
    buf_add(elf, sh, sizeof sh);
    buf_release(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf section[KINDS] = { 0 }, elf = { 0 };
    const struct sym_line *c;
    struct sym_module *m;

    read_sections(cursor_of(data, size), section);
    make_elf(&elf, section);
    m = sym_module_open_memory(elf.data, elf.n, "x");
    for (uint64_t i = 0; i < QUESTIONS; i++)
        sym_module_find(m, TEXT_AT + TEXT_SIZE / QUESTIONS * i, &c);
    sym_module_close(m);
    for (int i = 0; i < KINDS; i++)
        buf_release(&section[i]);
    buf_release(&elf);
    return 0;
}
