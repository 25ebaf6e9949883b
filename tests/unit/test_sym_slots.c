/* test_sym_slots.c - what a resolver can return, by its code, and which slots may hold it.
 * SPDX-License-Identifier: Apache-2.0 */
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

/* --- a file in memory --- */

enum { SYMBOLS = 5000, RELOCATIONS = 70000 };

static struct image {
    Elf64_Shdr section[6];
    char other_names[32], names[32];
    Elf64_Sym symbol[SYMBOLS];
    Elf64_Rela rela[RELOCATIONS], of_debug[1];
} image;
static size_t n_symbols, n_rela;

static struct sym_slots read_image(uint16_t machine)
{
    static const char names[32] = "\0one\0two\0three\0four\0five";
    const struct { uint32_t type; uint64_t flags; void *at; size_t size; } sections[] = {
        { SHT_NULL, 0, NULL, 0 }, { SHT_STRTAB, 0, image.other_names, sizeof image.other_names },
        { SHT_DYNSYM, SHF_ALLOC, image.symbol, n_symbols * sizeof *image.symbol },
        { SHT_STRTAB, SHF_ALLOC, image.names, sizeof image.names },
        { SHT_RELA, SHF_ALLOC, image.rela, n_rela * sizeof *image.rela },
        { SHT_RELA, 0, image.of_debug, sizeof image.of_debug } };
    struct sym_slots s = { .elf = { .image = (unsigned char *)&image, .fd = -1,
                                    .size = sizeof image, .machine = machine,
                                    .sections_at = offsetof(struct image, section),
                                    .n_sections = 6 } };

    memcpy(image.names, names, sizeof names);
    for (size_t i = 1; i < 6; i++)
        image.section[i] = (Elf64_Shdr){
            .sh_type = sections[i].type, .sh_flags = sections[i].flags, .sh_size = sections[i].size,
            .sh_offset = (uint64_t)((char *)sections[i].at - (char *)&image) };
    sym_slots_read(&s);
    return s;
}

static void add_symbol(uint32_t name, unsigned char type, uint16_t section, uint64_t value)
{
    image.symbol[n_symbols++] = (Elf64_Sym){ .st_name = name, .st_shndx = section,
                                             .st_info = ELF64_ST_INFO(STB_GLOBAL, type),
                                             .st_value = value, .st_size = 8 };
}

static void add_rela(uint64_t type, uint64_t symbol, int64_t addend)
{
    image.rela[n_rela] = (Elf64_Rela){ 0x100 * (n_rela + 1), ELF64_R_INFO(symbol, type), addend };
    n_rela++;
}

static void start_image(void)
{
    memset(&image, 0, sizeof image);
    n_symbols = n_rela = 0;
    add_symbol(0, STT_NOTYPE, SHN_UNDEF, 0);
}

/* Relocations of which only the slots at WANT may contain a variant. */
static void check_slots(uint16_t machine, const uint64_t *want, size_t n)
{
    struct sym_slots s = read_image(machine);

    CHECK_EQ(s.slot.n, n);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(s.slot.v[i].address, want[i]);
        CHECK_EQ(s.slot.v[i].is_irelative, i == n - 1);
    }
    CHECK_EQ(s.slot.v[n - 1].key, 0x1234);
    sym_slots_release(&s);
}

static void add_imports(void)
{
    start_image();
    add_symbol(1, STT_FUNC, SHN_UNDEF, 0);
    add_symbol(5, STT_NOTYPE, SHN_UNDEF, 0);
    add_symbol(9, STT_OBJECT, SHN_UNDEF, 0);
    add_symbol(15, STT_FUNC, 1, 0x40); /* its own */
    add_symbol(20, STT_GNU_IFUNC, 1, 0x50);
}

TEST(sym_slots_are_words_for_imported_functions_and_resolvers_on_both_machines)
{
    static const uint64_t x86[] = { 0x100, 0x200, 0x500, 0x800 }, arm[] = { 0x100, 0x200, 0x500, 0x800 };

    add_imports();
    add_rela(R_X86_64_JUMP_SLOT, 1, 0);
    add_rela(R_X86_64_GLOB_DAT, 2, 0);
    add_rela(R_X86_64_JUMP_SLOT, 3, 0);
    add_rela(R_X86_64_JUMP_SLOT, 4, 0);
    add_rela(R_X86_64_64, 5, 0);
    add_rela(R_X86_64_64, 1, 8); /* inside the function */
    add_rela(R_AARCH64_IRELATIVE, 0, 0x1234);
    add_rela(R_X86_64_IRELATIVE, 0, 0x1234);
    image.of_debug[0] = image.rela[0];
    check_slots(EM_X86_64, x86, 4);
    add_imports();
    add_rela(R_AARCH64_JUMP_SLOT, 1, 0);
    add_rela(R_AARCH64_GLOB_DAT, 2, 0);
    add_rela(R_AARCH64_JUMP_SLOT, 3, 0);
    add_rela(R_AARCH64_JUMP_SLOT, 4, 0);
    add_rela(R_AARCH64_ABS64, 5, 0);
    add_rela(R_AARCH64_ABS64, 1, 8);
    add_rela(R_X86_64_IRELATIVE, 0, 0x1234);
    add_rela(R_AARCH64_IRELATIVE, 0, 0x1234);
    check_slots(EM_AARCH64, arm, 4);
}

TEST(sym_slots_of_many_relocations_are_read_in_parts)
{
    static const uint64_t last[] = { 0x100 * 9001 };

    start_image();
    add_symbol(1, STT_FUNC, SHN_UNDEF, 0);
    for (int i = 0; i < 9000; i++)
        add_rela(R_X86_64_NONE, 0, 0);
    add_rela(R_X86_64_IRELATIVE, 0, 0x1234);
    check_slots(EM_X86_64, last, 1);
}

TEST(sym_slots_have_the_resolvers_that_a_file_exports)
{
    struct sym_slots s;

    start_image();
    add_symbol(1, STT_GNU_IFUNC, 1, 0x40);
    add_symbol(5, STT_GNU_IFUNC, SHN_UNDEF, 0);
    add_symbol(0, STT_GNU_IFUNC, 1, 0x50); /* without a name */
    add_symbol(9, STT_FUNC, 1, 0x60);
    add_symbol(15, STT_GNU_IFUNC, 1, 0x70);
    s = read_image(EM_X86_64);
    CHECK_EQ(s.resolver.n, 2);
    CHECK_EQ(s.resolver.v[0].address, 0x40);
    CHECK_EQ(s.resolver.v[1].address, 0x70);
    CHECK(s.resolver.v[0].key != s.resolver.v[1].key);
    sym_slots_release(&s);
}

TEST(sym_slots_and_resolvers_of_a_file_are_limited)
{
    struct sym_slots s;

    start_image();
    while (n_symbols < SYMBOLS)
        add_symbol(1, STT_GNU_IFUNC, 1, 0x40);
    while (n_rela < RELOCATIONS)
        add_rela(R_X86_64_IRELATIVE, 0, 0x40);
    s = read_image(EM_X86_64);
    CHECK_EQ(s.resolver.n, 4096);
    CHECK_EQ(s.slot.n, 65536);
    sym_slots_release(&s);
}

TEST(sym_slots_resolvers_have_code_only_where_it_can_run)
{
    static const unsigned char code[] = { 0x48, 0x8d, 0x05, 0xf9, 0x1f, 0x00, 0x00 };
    struct sym_slots s = code_at_text(code, sizeof code, EM_X86_64);

    CHECK(can_choose(&s, TEXT, 7, TEXT + 0x2000));
    s.elf.segment[0].exec = false;
    CHECK(!can_choose(&s, TEXT, 7, TEXT + 0x2000));
}
