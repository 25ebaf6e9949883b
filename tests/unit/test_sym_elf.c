/* test_sym_elf.c - names from symbol tables made by hand.  SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/mem.h"
#include "symbol/symbolizer.h"
#include "test.h"

enum { TEXT = 0x1000, TEXT_SIZE = 0x200, N_SECTIONS = 5 };

struct named {
    const char *name;
    uint64_t value, size;
    unsigned bind, type, section; /* section 1 is .text */
};

static uint32_t add_text(struct buf *b, const char *s)
{
    uint32_t at = (uint32_t)b->n;

    buf_add(b, s, strlen(s) + 1);
    return at;
}

/* A program with a .text and the symbols LIST, which ends with a nameless one. */
static struct buf elf_of(const struct named *list)
{
    Elf64_Ehdr eh = { .e_ident = ELFMAG "\2\1\1", .e_type = ET_EXEC, .e_machine = EM_X86_64,
                      .e_version = 1, .e_ehsize = sizeof eh, .e_shentsize = sizeof(Elf64_Shdr),
                      .e_shnum = N_SECTIONS, .e_shstrndx = 4 };
    Elf64_Shdr sh[N_SECTIONS] = { { 0 } };
    struct buf elf = { 0 }, symbols = { 0 }, names = { 0 }, titles = { 0 };

    buf_u8(&names, 0);
    buf_u8(&titles, 0);
    buf_add(&symbols, &(Elf64_Sym){ 0 }, sizeof(Elf64_Sym));
    for (; list->name; list++) {
        Elf64_Sym s = { .st_name = add_text(&names, list->name), .st_value = list->value,
                        .st_size = list->size, .st_shndx = (uint16_t)list->section,
                        .st_info = ELF64_ST_INFO(list->bind, list->type) };

        buf_add(&symbols, &s, sizeof s);
    }
    sh[1] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                          .sh_addr = TEXT, .sh_size = TEXT_SIZE, .sh_addralign = 1 };
    sh[2] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = 3, .sh_entsize = sizeof(Elf64_Sym),
                          .sh_size = symbols.n, .sh_addralign = 8 };
    sh[3] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_size = names.n, .sh_addralign = 1 };
    sh[4] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_addralign = 1 };
    sh[1].sh_name = add_text(&titles, ".text");
    sh[2].sh_name = add_text(&titles, ".symtab");
    sh[3].sh_name = add_text(&titles, ".strtab");
    sh[4].sh_name = add_text(&titles, ".shstrtab");
    sh[4].sh_size = titles.n;
    buf_add(&elf, &eh, sizeof eh);
    const struct buf *parts[] = { NULL, NULL, &symbols, &names, &titles };
    sh[1].sh_offset = elf.n;
    for (int i = 0; i < TEXT_SIZE; i++)
        buf_u8(&elf, 0x90);
    for (int i = 2; i < N_SECTIONS; i++) {
        while (elf.n % 8)
            buf_u8(&elf, 0);
        sh[i].sh_offset = elf.n;
        buf_add(&elf, parts[i]->data, parts[i]->n);
    }
    while (elf.n % 8)
        buf_u8(&elf, 0);
    ((Elf64_Ehdr *)(void *)elf.data)->e_shoff = elf.n;
    buf_add(&elf, sh, sizeof sh);
    buf_release(&symbols);
    buf_release(&names);
    buf_release(&titles);
    return elf;
}

static struct sym_module *module;
static struct buf image;

static void use(const struct named *list)
{
    image = elf_of(list);
    module = sym_module_open_memory(image.data, image.n, "/made/here");
}

static void done(void)
{
    sym_module_close(module);
    buf_release(&image);
}

static const char *name_at(uint64_t address)
{
    const struct sym_line *c;

    return sym_module_find(module, address, &c) ? c[0].name : "";
}

TEST(sym_elf_prefers_global_functions_among_aliases)
{
    use((struct named[]){ { "local", TEXT, 16, STB_LOCAL, STT_FUNC, 1 },
                          { "global", TEXT, 16, STB_GLOBAL, STT_FUNC, 1 },
                          { "weak", TEXT, 16, STB_WEAK, STT_FUNC, 1 },
                          { "label", TEXT, 16, STB_GLOBAL, STT_NOTYPE, 1 },
                          { "only_weak", TEXT + 16, 16, STB_WEAK, STT_FUNC, 1 },
                          { "only_local", TEXT + 16, 16, STB_LOCAL, STT_FUNC, 1 },
                          { NULL } });
    CHECK_STR(name_at(TEXT), "global");
    CHECK_STR(name_at(TEXT + 15), "global");
    CHECK_STR(name_at(TEXT + 16), "only_weak");
    done();
}

TEST(sym_elf_prefers_plain_names)
{
    use((struct named[]){ { "__libc_free", TEXT, 16, STB_GLOBAL, STT_FUNC, 1 },
                          { "cfree@GLIBC_2.2.5", TEXT, 16, STB_GLOBAL, STT_FUNC, 1 },
                          { "free", TEXT, 16, STB_GLOBAL, STT_FUNC, 1 },
                          { "pthread_create@@GLIBC_2.34", TEXT + 16, 16, STB_GLOBAL, STT_FUNC, 1 },
                          { "read", TEXT + 32, 16, STB_GLOBAL, STT_FUNC, 1 },
                          { "__read", TEXT + 32, 16, STB_GLOBAL, STT_FUNC, 1 },
                          { "__write", TEXT + 48, 16, STB_GLOBAL, STT_FUNC, 1 },
                          { "write", TEXT + 48, 16, STB_GLOBAL, STT_FUNC, 1 },
                          { NULL } });
    CHECK_STR(name_at(TEXT), "free");
    CHECK_STR(name_at(TEXT + 16), "pthread_create");
    CHECK_STR(name_at(TEXT + 32), "read"); /* in any order */
    CHECK_STR(name_at(TEXT + 48), "write");
    done();
}

/* Comparing all names for each address would take 40 billion steps. */
TEST(sym_elf_compares_the_aliases_of_a_function_once)
{
    enum { ALIASES = 200000, LOOKUPS = 200000 };
    struct named *list = mem_zalloc((ALIASES + 1) * sizeof *list);
    struct rlimit cpu = { 20, 20 };

    for (size_t i = 0; i < ALIASES; i++)
        list[i] = (struct named){ i == 1 ? "plain" : "_odd", TEXT, TEXT_SIZE, STB_GLOBAL, STT_FUNC,
                                  1 };
    use(list);
    CHECK_EQ(setrlimit(RLIMIT_CPU, &cpu), 0);
    for (uint64_t i = 0; i < LOOKUPS; i++)
        CHECK_STR(name_at(TEXT + i % TEXT_SIZE), "plain");
    done();
    free(list);
}

TEST(sym_elf_uses_only_code_symbols_of_this_file)
{
    use((struct named[]){ { "elsewhere", TEXT, 16, STB_GLOBAL, STT_FUNC, SHN_UNDEF },
                          { "data", TEXT + 32, 16, STB_GLOBAL, STT_OBJECT, 1 },
                          { "here", TEXT + 64, 16, STB_GLOBAL, STT_FUNC, 1 },
                          { NULL } });
    CHECK_STR(name_at(TEXT), "");
    CHECK_STR(name_at(TEXT + 32), "");
    CHECK_STR(name_at(TEXT + 64), "here");
    CHECK_STR(name_at(TEXT + 80), "");
    done();
}

TEST(sym_elf_ends_a_label_at_the_next_or_with_its_section)
{
    use((struct named[]){ { "first", TEXT, 0, STB_GLOBAL, STT_NOTYPE, 1 },
                          { "second", TEXT + 0x40, 0, STB_GLOBAL, STT_NOTYPE, 1 },
                          { NULL } });
    CHECK_STR(name_at(TEXT + 0x3f), "first");
    CHECK_STR(name_at(TEXT + 0x40), "second");
    CHECK_STR(name_at(TEXT + TEXT_SIZE - 1), "second");
    CHECK_STR(name_at(TEXT + TEXT_SIZE), "");
    done();
}
