/* test_sym_slots.c - what a resolver can return, by its code.  SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbol/sym_slots.h"
#include "test.h"

enum { TEXT = 0x5000 };

static struct sym_slots code_at_text(const void *code, size_t n, uint16_t machine)
{
    return (struct sym_slots){ .elf = { .image = code, .fd = -1, .size = n, .machine = machine,
                                        .segment = { { 0, n, TEXT, n, true } }, .n_segments = 1 } };
}

static bool can_choose(struct sym_slots *s, uint64_t at, uint64_t size, uint64_t address)
{
    return sym_slots_can_choose(s, &(struct sym_resolver){ .address = at, .size = size }, address);
}

TEST(sym_slots_x86_resolvers_choose_what_they_load_and_not_what_they_call)
{
    static const unsigned char code[] = {
        0x90,                                     /* of another function */
        0xe8, 0xfa, 0x0f, 0x00, 0x00,             /* call TEXT+0x1000 */
        0x48, 0x8d, 0x05, 0xf3, 0x1f, 0x00, 0x00, /* lea TEXT+0x2000,%rax */
        0x4c, 0x8d, 0x15, 0xec, 0xef, 0xff, 0xff, /* lea TEXT-0x1000,%r10 */
        0xc3,
        0x48, 0x8d, 0x05, 0xe4, 0x2f, 0x00, 0x00, /* lea TEXT+0x3000,%rax of the next function */
        0x48, 0x8d, 0x80, 0xdd, 0x3f, 0x00, 0x00, /* lea 0x3fdd(%rax),%rax */
    };
    struct sym_slots s = code_at_text(code, sizeof code, EM_X86_64);

    CHECK(can_choose(&s, TEXT + 1, 20, TEXT + 0x2000));
    CHECK(can_choose(&s, TEXT + 1, 20, TEXT - 0x1000));
    CHECK(!can_choose(&s, TEXT + 1, 20, TEXT + 0x1000));
    CHECK(!can_choose(&s, TEXT + 1, 20, TEXT + 0x3000));
    CHECK(can_choose(&s, TEXT + 21, 7, TEXT + 0x3000));
    CHECK(can_choose(&s, TEXT + 21, UINT64_MAX, TEXT + 0x3000)); /* to the end of the segment */
    CHECK(!can_choose(&s, TEXT + 28, 7, TEXT + 0x4000));
    CHECK(!can_choose(&s, TEXT + 22, 0, TEXT + 0x3000));
    CHECK(!can_choose(&s, UINT64_MAX, 8, TEXT + 0x2000));
}

TEST(sym_slots_aarch64_resolvers_choose_what_they_load)
{
    static const uint32_t code[] = {
        0x910dc021, /* add x1, x1, #0x370: nothing is known of x1 */
        0xb0000001, /* adrp x1, TEXT+0x1000 */
        0xf0ffffe0, /* adrp x0, TEXT-0x1000 */
        0x910dc021, /* add x1, x1, #0x370 */
        0x910de000, /* add x0, x0, #0x378 */
        0x10ffff62, /* adr x2, TEXT */
        0x97fffff8, /* bl */
    };
    struct sym_slots s = code_at_text(code, sizeof code, EM_AARCH64);

    CHECK(can_choose(&s, TEXT, sizeof code, TEXT + 0x1370));
    CHECK(can_choose(&s, TEXT, sizeof code, TEXT - 0x1000 + 0x378));
    CHECK(can_choose(&s, TEXT, sizeof code, TEXT));
    CHECK(!can_choose(&s, TEXT, sizeof code, 0x370));
    CHECK(!can_choose(&s, TEXT, 8, TEXT + 0x1370));
    CHECK(!can_choose(&s, TEXT, sizeof code, TEXT + 0x1000 + 0x378));
}

TEST(sym_slots_of_a_library_are_those_that_can_hold_a_variant)
{
    static struct sym_slots s;
    FILE *f = fopen(test_workload("libifunc.so"), "rb");
    size_t internal = 0, named = 0;

    CHECK(f && elf_file_read(&s.elf, fileno(f)));
    sym_slots_read(&s);
    CHECK(!s.has_symtab);
    CHECK_EQ(s.resolver.n, 2);
    for (size_t i = 0; i < s.slot.n; i++) {
        internal += s.slot.v[i].is_irelative;
        named += !s.slot.v[i].is_irelative;
    }
    CHECK_EQ(internal, 1);
    CHECK(named < 8); /* of the start-up code, and no data */
    fclose(f);
    sym_slots_release(&s);
}

TEST(sym_slots_of_a_file_with_symbols_are_marked)
{
    static struct sym_slots s;
    FILE *f = fopen(test_workload("libifunc-full.so"), "rb");

    CHECK(f && elf_file_read(&s.elf, fileno(f)));
    sym_slots_read(&s);
    CHECK(s.has_symtab);
    fclose(f);
    sym_slots_release(&s);
}

/* Hashing the names of all relocations of all sections would take minutes. */
TEST(sym_slots_of_overlapping_sections_are_read_within_a_limit)
{
    enum { SECTIONS = 1000, RELOCATIONS = 250000, NAME = 1000,
           NAMES_AT = SECTIONS * sizeof(Elf64_Shdr), SYMBOLS_AT = NAMES_AT + 2 + NAME,
           RELOCATIONS_AT = SYMBOLS_AT + 2 * sizeof(Elf64_Sym),
           SIZE = RELOCATIONS_AT + RELOCATIONS * sizeof(Elf64_Rela) };
    struct rlimit cpu = { 20, 20 };
    unsigned char *file = mem_zalloc(SIZE);
    Elf64_Sym function = { .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) };
    Elf64_Rela one = { .r_info = ELF64_R_INFO(1, R_X86_64_GLOB_DAT) };
    struct sym_slots s = { .elf = { .image = file, .fd = -1, .size = SIZE, .machine = EM_X86_64,
                                    .n_sections = SECTIONS } };

    for (unsigned i = 1; i < SECTIONS; i++) {
        Elf64_Shdr h = { .sh_type = SHT_RELA, .sh_flags = SHF_ALLOC, .sh_offset = RELOCATIONS_AT,
                         .sh_size = SIZE - RELOCATIONS_AT };

        if (i == 1)
            h = (Elf64_Shdr){ .sh_type = SHT_DYNSYM, .sh_offset = SYMBOLS_AT,
                              .sh_size = 2 * sizeof function };
        if (i == 2)
            h = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_flags = SHF_ALLOC, .sh_offset = NAMES_AT,
                              .sh_size = 2 + NAME };
        memcpy(file + i * sizeof h, &h, sizeof h);
    }
    memset(file + NAMES_AT + 1, 'f', NAME);
    memcpy(file + SYMBOLS_AT + sizeof function, &function, sizeof function);
    for (uint64_t i = 0; i < RELOCATIONS; i++) {
        one.r_offset = i;
        memcpy(file + RELOCATIONS_AT + i * sizeof one, &one, sizeof one);
    }
    CHECK_EQ(setrlimit(RLIMIT_CPU, &cpu), 0);
    sym_slots_read(&s);
    CHECK(s.slot.n > 0 && s.slot.v[1].address == 1);
    sym_slots_release(&s);
    free(file);
}

/* Sections may overlap, so a small file can have many times its size of relocations. */
TEST(sym_slots_of_all_sections_together_are_limited)
{
    enum { LIMIT = 64 << 20, ONE = 24 };
    static struct {
        Elf64_Ehdr header;
        Elf64_Shdr section[5];
        Elf64_Sym symbol[2];
        char name[8];
        Elf64_Rela slot;
    } f = { .header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
                        .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
                        .e_ehsize = sizeof f.header, .e_shnum = 5,
                        .e_shentsize = sizeof *f.section, .e_shoff = sizeof f.header } };
    const uint64_t at[] = { 0, (char *)f.symbol - (char *)&f, (char *)f.name - (char *)&f,
                            sizeof f, (char *)&f.slot - (char *)&f };
    const uint64_t size[] = { 0, sizeof f.symbol, sizeof f.name, LIMIT - ONE, ONE };
    const uint32_t type[] = { 0, SHT_DYNSYM, SHT_STRTAB, SHT_RELA, SHT_RELA };
    FILE *to = tmpfile();

    for (size_t i = 1; i < ARRAY_LEN(at); i++)
        f.section[i] = (Elf64_Shdr){ .sh_type = type[i], .sh_flags = SHF_ALLOC,
                                     .sh_offset = at[i], .sh_size = size[i] };
    f.slot = (Elf64_Rela){ TEXT, R_X86_64_IRELATIVE, TEXT };
    for (size_t found = 0; found < 2; found++) {
        struct sym_slots s = { .has_symtab = false };

        f.section[3].sh_size = LIMIT - found * ONE;
        CHECK(to && pwrite(fileno(to), &f, sizeof f, 0) == sizeof f);
        CHECK_EQ(ftruncate(fileno(to), LIMIT + 4096), 0);
        CHECK(elf_file_read(&s.elf, fileno(to)));
        sym_slots_read(&s);
        CHECK_EQ(s.slot.n, found);
        sym_slots_release(&s);
    }
    fclose(to);
}
