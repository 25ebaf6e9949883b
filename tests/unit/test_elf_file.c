/* test_elf_file.c - headers of ELF files.  SPDX-License-Identifier: Apache-2.0 */
#include "base/elf_file.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/map.h"
#include "test.h"

TEST(elf_file_places_offsets_by_the_code_segment)
{
    struct elf_file f = { .n_segments = 2,
                          .segment = { { 0, 0x1800, 0, 0x1800, false },
                                       { 0x1800, 0x1000, 0x2800, 0x1000, true } } };

    CHECK_EQ(elf_file_address(&f, 0x1000), 0x2000);
    CHECK_EQ(elf_file_address(&f, 0x2000), 0x3000);
    CHECK_EQ(elf_file_address(&f, 0x100), 0x100);
    CHECK_EQ(elf_file_address(&f, 0x99000), 0x99000);
}

TEST(elf_file_keeps_the_byte_after_a_segment_out_of_it)
{
    struct elf_file f = { .n_segments = 1, .segment = { { 0x1000, 0x800, 0x5000, 0x800, true } } };

    CHECK_EQ(elf_file_address(&f, 0x17ff), 0x57ff);
    CHECK_EQ(elf_file_address(&f, 0x1800), 0x1800);
}

TEST(elf_file_finds_the_build_id_that_elfutils_finds)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct elf_file f;
    const void *id;
    Elf *elf;

    CHECK(elf_file_read(&f, fd));
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ, NULL);
    CHECK_EQ(dwelf_elf_gnu_build_id(elf, &id), f.build_id_size);
    CHECK(f.build_id_size > 0 && memcmp(id, f.build_id, f.build_id_size) == 0);
    elf_end(elf);
    close(fd);
}

TEST(elf_file_reads_a_file_and_its_image_alike)
{
    struct elf_file f, g;
    struct elf_section s, t;
    struct map m = { 0 };
    bool text = false;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    CHECK(map_fd(&m, fd, NULL) == 0);
    CHECK(elf_file_read(&f, fd) && elf_file_read_image(&g, m.data, m.size));
    CHECK(f.n_segments >= 2 && f.n_segments == g.n_segments);
    CHECK(memcmp(f.segment, g.segment, sizeof f.segment) == 0);
    CHECK(f.n_sections > 10 && f.n_sections == g.n_sections);
    CHECK(f.eh_frame_hdr.size > 0 && f.machine == g.machine);
    for (unsigned i = 0; i < f.n_sections; i++) {
        CHECK(elf_file_section(&f, i, &s) && elf_file_section(&g, i, &t));
        CHECK_STR(s.name, t.name);
        if (strcmp(s.name, ".text") == 0)
            text = elf_file_address(&f, s.offset) == s.address;
    }
    CHECK(text);
    map_close(&m);
    close(fd);
}

/* An ELF file with one note segment of alignment ALIGN: another note, then the build id. */
static size_t make_elf(unsigned char *to, uint64_t align)
{
    static const unsigned char id[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    Elf64_Ehdr h = { .e_phoff = sizeof h, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
                     .e_machine = EM_AARCH64 };
    Elf64_Phdr ph = { .p_type = PT_NOTE, .p_offset = sizeof h + sizeof ph, .p_align = align };
    Elf64_Nhdr first = { 4, 4, NT_GNU_PROPERTY_TYPE_0 }, second = { 4, 8, NT_GNU_BUILD_ID };
    size_t at = ph.p_offset;

    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    memset(to, 0, 512);
    memcpy(to + at, &first, sizeof first);
    memcpy(to + at + 12, "GNU", 4);
    at += 16 + align; /* four bytes, padded */
    memcpy(to + at, &second, sizeof second);
    memcpy(to + at + 12, "GNU", 4);
    memcpy(to + at + 16, id, sizeof id);
    at += 16 + sizeof id;
    ph.p_filesz = at - ph.p_offset;
    memcpy(to, &h, sizeof h);
    memcpy(to + sizeof h, &ph, sizeof ph);
    return at;
}

TEST(elf_file_reads_notes_of_both_alignments_and_other_machines)
{
    unsigned char bytes[512];
    struct elf_file f;

    for (uint64_t align = 4; align <= 8; align += 4) {
        CHECK(elf_file_read_image(&f, bytes, make_elf(bytes, align)));
        CHECK_EQ(f.build_id_size, 8);
        CHECK_EQ(f.build_id[7], 8);
        CHECK_EQ(f.machine, EM_AARCH64);
    }
}

TEST(elf_file_reads_no_byte_past_the_end)
{
    unsigned char whole[512];
    size_t n = make_elf(whole, 4);
    struct elf_file f;

    for (size_t cut = 0; cut < n; cut++) {
        unsigned char *copy = malloc(cut + !cut); /* exact size, for the sanitizers */

        memcpy(copy, whole, cut);
        CHECK_EQ(elf_file_read_image(&f, copy, cut), cut >= sizeof(Elf64_Ehdr));
        CHECK_EQ(f.build_id_size, 0);
        free(copy);
    }
    whole[EI_CLASS] = ELFCLASS32;
    CHECK(!elf_file_read_image(&f, whole, n));
}

TEST(elf_file_finds_a_build_id_that_no_segment_contains)
{
    struct {
        Elf64_Ehdr h;
        Elf64_Shdr section[3];
        Elf64_Nhdr note;
        char name[4];
        unsigned char id[8];
    } file = { .h = { .e_shoff = sizeof file.h, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3 },
               .section = { [2] = { .sh_type = SHT_NOTE, .sh_size = 24, .sh_addralign = 4,
                                    .sh_offset = sizeof file.h + sizeof file.section } },
               .note = { 4, 8, NT_GNU_BUILD_ID }, .name = "GNU", .id = { 1, 2, 3, 4, 5, 6, 7, 8 } };
    struct elf_file f;

    memcpy(file.h.e_ident, ELFMAG, SELFMAG);
    file.h.e_ident[EI_CLASS] = ELFCLASS64;
    file.h.e_ident[EI_DATA] = ELFDATA2LSB;
    CHECK(elf_file_read_image(&f, &file, sizeof file));
    CHECK_EQ(f.build_id_size, 8);
    CHECK(memcmp(f.build_id, file.id, 8) == 0);
    file.section[2].sh_type = SHT_PROGBITS;
    CHECK(elf_file_read_image(&f, &file, sizeof file));
    CHECK_EQ(f.build_id_size, 0);
}

TEST(elf_file_takes_names_from_the_table_of_names_only)
{
    struct {
        Elf64_Ehdr h;
        Elf64_Shdr section[2];
        char names[16];
    } file = { .h = { .e_shoff = sizeof file.h, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 2 },
               .section = { { .sh_offset = sizeof file.h + sizeof file.section, .sh_size = 6 },
                            { .sh_name = 1 } },
               .names = "\0.text beyond" };
    size_t whole = sizeof file.h + sizeof file.section + 6;
    struct elf_section s;
    struct elf_file f;

    memcpy(file.h.e_ident, ELFMAG, SELFMAG);
    file.h.e_ident[EI_CLASS] = ELFCLASS64;
    file.h.e_ident[EI_DATA] = ELFDATA2LSB;
    for (size_t more = 0; more <= 7; more += 7) { /* the table ends the file, or does not */
        CHECK(elf_file_read_image(&f, &file, whole + more) && elf_file_section(&f, 1, &s));
        CHECK_STR(s.name, ".text");
    }
    file.section[1].sh_name = 7;
    CHECK(elf_file_section(&f, 1, &s));
    CHECK_STR(s.name, "");
}

TEST(elf_file_name_ends_within_the_table_and_the_limit)
{
    static const char names[] = { 0, 'a', 'b', 'c', 0, 'd' };

    CHECK_STR(elf_file_name(names, sizeof names, 1, 4), "abc");
    CHECK_STR(elf_file_name(names, sizeof names, 2, 3), "bc");
    CHECK_STR(elf_file_name(names, sizeof names, 1, 3), "");
    CHECK_STR(elf_file_name(names, sizeof names, 5, 9), "");
    CHECK_STR(elf_file_name(names, sizeof names, 6, 9), "");
    CHECK_STR(elf_file_name(names, sizeof names, UINT64_MAX, 9), "");
    CHECK_STR(elf_file_name(NULL, 0, 0, 9), "");
}

TEST(elf_file_vdso_is_a_whole_elf_file)
{
    size_t size;
    const void *image = elf_file_vdso(&size);
    struct elf_section s;
    struct elf_file f;

    if (!image)
        return;
    CHECK(elf_file_read_image(&f, image, size));
    CHECK(f.n_sections > 0 && elf_file_section(&f, f.n_sections - 1, &s));
    CHECK_EQ(f.n_segments, 1);
}
