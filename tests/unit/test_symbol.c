/* test_symbol.c - names, lines and inlined calls of programs with known builds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/map.h"
#include "symbol/sym_debuginfod.h"
#include "symbol/sym_unpack.h"
#include "symbol/symbolizer.h"
#include "test.h"

static const char *workload(const char *name)
{
    return test_workload(name);
}

static struct sym_module *open_at(const char *path)
{
    return sym_module_open(&(struct sym_request){ .path = path });
}

/* Address of the place on LINE that the program marked. */
static uint64_t mark(const char *path, uint64_t line)
{
    struct sym_image *im = sym_image_open_fd(open(path, O_RDONLY), path, NULL);
    const unsigned char *p;
    uint64_t address = 0;
    struct cursor c;
    size_t n = 0;

    CHECK(im);
    p = sym_image_bytes(im, "marks", &n);
    c = cursor_of(p, n);
    while (cur_left(&c) >= 16) {
        uint64_t key = cur_u64(&c), value = cur_u64(&c);

        if (key == line)
            address = value;
    }
    sym_image_close(im);
    CHECK(address);
    return address;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = s ? strlen(s) : 0, k = strlen(end);

    return n >= k && strcmp(s + n - k, end) == 0;
}

/* An absolute path without detours. */
static bool is_whole(const char *path, const char *end)
{
    return ends_with(path, end) && path[0] == '/' && !strstr(path, "/../");
}

static void copy_file(const char *from, const char *to, const char *more)
{
    struct map m = { 0 };
    FILE *f;

    CHECK(map_open(&m, from, NULL) == 0);
    f = fopen(to, "wb");
    CHECK(f && fwrite(m.data, 1, m.size, f) == m.size);
    CHECK(fputs(more, f) >= 0 && fclose(f) == 0);
    map_close(&m);
}

/* The whole inline chain of inlined.c; PATH has the debug information or leads to it. */
static void check_chain(const char *path, const char *marks)
{
    struct sym_module *m = open_at(path);
    const struct sym_line *c;

    CHECK_EQ(sym_module_find(m, mark(marks, 103), &c), 3);
    CHECK_STR(c[0].name, "outermost");
    CHECK_STR(c[1].name, "middle");
    CHECK_STR(c[2].name, "innermost");
    CHECK_EQ(c[0].line, 117);
    CHECK_EQ(c[1].line, 110);
    CHECK(c[2].line == 103 || c[2].line == 102); /* an empty asm may share its neighbor's row */
    CHECK_EQ(c[0].decl_line, 113);
    CHECK_EQ(c[2].decl_line, 100);
    for (int i = 0; i < 3; i++)
        CHECK(is_whole(c[i].file, "/inlined.c") && is_whole(c[i].decl_file, "/inlined.c"));
    CHECK(c[0].start && c[0].start <= mark(marks, 103) && mark(marks, 103) < c[0].end);
    CHECK_EQ(sym_module_find(m, mark(marks, 109), &c), 2);
    CHECK_STR(c[1].name, "middle");
    CHECK_EQ(sym_module_find(m, mark(marks, 123), &c), 1);
    CHECK_STR(c[0].name, "hidden");
    CHECK_EQ(sym_module_source(m), SYM_DWARF);
    CHECK_STR(sym_module_problem(m), "");
    sym_module_close(m);
}

#define CHAIN_TEST(id, file)              \
    TEST(id)                              \
    {                                     \
        const char *path = workload(file); \
        check_chain(path, path);          \
    }
CHAIN_TEST(symbol_dwarf5_gives_the_inlined_calls, "inlined")
CHAIN_TEST(symbol_dwarf4_gives_the_inlined_calls, "inlined-dwarf4")
CHAIN_TEST(symbol_dwarf_paths_are_whole_and_without_detours, "inlined-odd-path")
CHAIN_TEST(symbol_dwarf_without_aranges_gives_the_inlined_calls, "inlined-no-aranges")
CHAIN_TEST(symbol_split_dwarf_gives_the_inlined_calls, "inlined-split")
CHAIN_TEST(symbol_debuglink_leads_to_the_inlined_calls, "inlined-linked")
CHAIN_TEST(symbol_debuglink_without_build_id_is_taken_by_its_checksum, "inlined-crc")

/* The unpacked copy is cached; a damaged copy is not used. */
TEST(symbol_compressed_dwarf_gives_the_inlined_calls)
{
    const char *dir = test_dir(), *path = workload("inlined-compressed");
    char command[256];

    setenv("FATHOM_CACHE", dir, 1);
    check_chain(path, path);
    check_chain(path, path);
    snprintf(command, sizeof command,
             "for f in %s/symbol/*.debug.zst; do echo damage >\"$f\" || exit 1; done", dir);
    CHECK(system(command) == 0);
    check_chain(path, path);
}

TEST(symbol_compressed_section_that_is_shorter_than_it_claims_is_not_used)
{
    struct sym_image *im, *unpacked;
    struct map m = { 0 };
    unsigned char *bytes;
    Elf64_Chdr ch;
    GElf_Shdr sh;

    CHECK(map_open(&m, workload("inlined-compressed"), NULL) == 0);
    bytes = mem_alloc(m.size);
    memcpy(bytes, m.data, m.size);
    im = sym_image_open_memory(bytes, m.size, true, "/made/here", NULL);
    CHECK(im && sym_image_section(im, ".debug_info", &sh) && (sh.sh_flags & SHF_COMPRESSED));
    unpacked = sym_unpack(im);
    CHECK(unpacked);
    sym_image_close(unpacked);
    memcpy(&ch, bytes + sh.sh_offset, sizeof ch);
    ch.ch_size++;
    memcpy(bytes + sh.sh_offset, &ch, sizeof ch);
    CHECK(sym_unpack(im) == NULL);
    sym_image_close(im);
    map_close(&m);
}

TEST(symbol_debuglink_with_a_wrong_checksum_is_not_used)
{
    const char *dir = test_dir();
    char program[256], debug[256];
    struct sym_module *m;
    const struct sym_line *c;

    snprintf(program, sizeof program, "%s/program", dir);
    snprintf(debug, sizeof debug, "%s/crc.debug", dir);
    copy_file(workload("inlined-crc"), program, "");
    copy_file(workload("crc.debug"), debug, "changed");
    m = open_at(program);
    CHECK_EQ(sym_module_find(m, mark(program, 103), &c), 1);
    CHECK_EQ(sym_module_source(m), SYM_DYNSYM);
    sym_module_close(m);
    copy_file(workload("crc.debug"), debug, "");
    m = open_at(program);
    CHECK_EQ(sym_module_find(m, mark(program, 103), &c), 3);
    sym_module_close(m);
}

TEST(symbol_debug_file_is_found_by_build_id_under_the_root)
{
    const char *dir = test_dir();
    char folder[512], debug[768], program[512];
    struct sym_image *im;
    struct sym_module *m;
    const struct sym_line *c;
    int fd = open(workload("inlined"), O_RDONLY);

    im = sym_image_open_fd(fd, "inlined", NULL);
    CHECK(im && im->build_id_size == 20);
    snprintf(folder, sizeof folder, "%s/usr/lib/debug/.build-id/%02x", dir, im->build_id[0]);
    snprintf(debug, sizeof debug, "%s/", folder);
    for (size_t i = 1; i < im->build_id_size; i++)
        snprintf(debug + strlen(debug), 3, "%02x", im->build_id[i]);
    strcpy(debug + strlen(debug), ".debug");
    sym_image_close(im);
    test_make_dirs(debug);
    copy_file(workload("linked.debug"), debug, "");
    snprintf(program, sizeof program, "%s/program", dir);
    copy_file(workload("inlined-linked"), program, "");
    m = sym_module_open(&(struct sym_request){ .path = "/program", .root = dir });
    CHECK_EQ(sym_module_find(m, mark(program, 103), &c), 3);
    CHECK_STR(c[2].name, "innermost");
    sym_module_close(m);
}

TEST(symbol_links_of_a_container_stay_inside_its_root)
{
    const char *dir = test_dir();
    char program[512], link[512];
    struct sym_module *m;
    const struct sym_line *c;

    snprintf(program, sizeof program, "%s/program", dir);
    snprintf(link, sizeof link, "%s/link", dir);
    copy_file(workload("inlined"), program, "");
    CHECK(symlink("/program", link) == 0);
    m = sym_module_open(&(struct sym_request){ .path = "/link", .root = dir });
    CHECK_EQ(sym_module_find(m, mark(program, 103), &c), 3);
    sym_module_close(m);
}

TEST(symbol_minidebuginfo_names_local_functions)
{
    const char *path = workload("inlined-mini");
    struct sym_module *m = open_at(path);
    const struct sym_line *c;

    CHECK_EQ(sym_module_find(m, mark(path, 123), &c), 1);
    CHECK_STR(c[0].name, "hidden");
    CHECK_EQ(c[0].source, SYM_MINI);
    CHECK_EQ(sym_module_source(m), SYM_MINI);
    sym_module_close(m);
}

/* Name the function hidden() of a copy of inlined-mini with other bytes in .gnu_debugdata. */
static void check_mini(const void *bytes, size_t n, enum sym_source want)
{
    const char *from = workload("inlined-mini");
    char program[512];
    struct sym_module *m;
    const struct sym_line *c;
    Elf64_Shdr sh;
    Elf64_Ehdr eh;
    GElf_Shdr old;
    FILE *f;

    snprintf(program, sizeof program, "%s/program", test_dir());
    copy_file(from, program, "");
    m = open_at(program);
    CHECK(sym_module_file(m) && sym_image_section(m->file, ".gnu_debugdata", &old));
    sym_module_close(m);
    f = fopen(program, "r+b");
    CHECK(f && fread(&eh, sizeof eh, 1, f) == 1);
    for (unsigned i = 0; i < eh.e_shnum; i++) {
        long at = (long)(eh.e_shoff + i * sizeof sh);

        CHECK(fseek(f, at, SEEK_SET) == 0 && fread(&sh, sizeof sh, 1, f) == 1);
        if (sh.sh_offset != old.sh_offset || sh.sh_type != SHT_PROGBITS)
            continue;
        CHECK(fseek(f, 0, SEEK_END) == 0);
        sh.sh_offset = (uint64_t)ftell(f);
        sh.sh_size = n;
        CHECK(fwrite(bytes, 1, n, f) == n);
        CHECK(fseek(f, at, SEEK_SET) == 0 && fwrite(&sh, sizeof sh, 1, f) == 1);
    }
    CHECK(fclose(f) == 0);
    m = open_at(program);
    CHECK_EQ(sym_module_find(m, mark(from, 123), &c), 1);
    CHECK_EQ(c[0].source, want);
    if (want == SYM_MINI)
        CHECK_STR(c[0].name, "hidden");
    CHECK_EQ(sym_module_find(m, mark(from, 116), &c), 1); /* the file is usable */
    sym_module_close(m);
}

/* Compress N bytes with PRESET into a new buffer. */
static unsigned char *xz(const void *bytes, size_t n, uint32_t preset, size_t *out)
{
    size_t cap = lzma_stream_buffer_bound(n);
    unsigned char *to = malloc(cap);

    *out = 0;
    CHECK(to && lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC64, NULL, bytes, n, to, out, cap) ==
                    LZMA_OK);
    return to;
}

/* The symbols of inlined-mini, uncompressed, in CAP bytes of which the rest is 0. */
static unsigned char *mini_symbols(size_t cap, size_t *n)
{
    unsigned char *elf = calloc(1, cap);
    struct map m = { 0 };
    uint64_t memory = UINT64_MAX;
    size_t in = 0;

    *n = 0;
    CHECK(elf && map_open(&m, workload("mini.xz"), NULL) == 0);
    CHECK(lzma_stream_buffer_decode(&memory, 0, NULL, m.data, &in, m.size, elf, n, cap) == LZMA_OK);
    map_close(&m);
    return elf;
}

TEST(symbol_minidebuginfo_may_use_the_largest_dictionary_of_xz)
{
    size_t n, packed;
    unsigned char *elf = mini_symbols(1 << 20, &n), *best = xz(elf, n, 9, &packed);

    check_mini(best, packed, SYM_MINI);
    free(best);
    free(elf);
}

TEST(symbol_wrong_minidebuginfo_is_ignored_and_the_file_still_used)
{
    static const char text[] = "not an ELF file";
    struct map m = { 0 };
    unsigned char *bytes, *bomb;
    size_t n, large = (size_t)65 << 20;

    bytes = xz(text, sizeof text, 6, &n);
    check_mini(bytes, n, SYM_EH_FRAME);
    free(bytes);
    check_mini(text, sizeof text, SYM_EH_FRAME); /* not compressed */
    CHECK(map_open(&m, workload("mini.xz"), NULL) == 0);
    check_mini(m.data, m.size / 2, SYM_EH_FRAME);
    bytes = malloc(m.size);
    memcpy(bytes, m.data, m.size);
    bytes[m.size / 2] ^= 1;
    check_mini(bytes, m.size, SYM_EH_FRAME); /* the checksum is wrong */
    free(bytes);
    bytes = mini_symbols(large, &n);
    bomb = xz(bytes, large, 1, &n);
    check_mini(bomb, n, SYM_EH_FRAME); /* expands to more than any symbol table needs */
    free(bomb);
    free(bytes);
    map_close(&m);
}

TEST(symbol_stripped_code_is_named_by_dynsym_or_by_its_start)
{
    const char *path = workload("inlined-stripped");
    struct sym_module *m = open_at(path);
    const struct sym_line *c;
    char want[64];

    CHECK_EQ(sym_module_find(m, mark(path, 116), &c), 1);
    CHECK_STR(c[0].name, "outermost");
    CHECK_EQ(c[0].source, SYM_DYNSYM);
    CHECK_EQ(sym_module_find(m, mark(path, 123), &c), 1);
    CHECK_EQ(c[0].source, SYM_EH_FRAME);
    CHECK(c[0].start <= mark(path, 123) && mark(path, 123) < c[0].end);
    snprintf(want, sizeof want, "fn_%llx [inlined-stripped]", (unsigned long long)c[0].start);
    CHECK_STR(c[0].name, want);
    sym_module_close(m);
}

TEST(symbol_stripped_static_code_is_named_by_its_start)
{
    struct sym_module *bare = open_at(workload("split-bare")), *full;
    const struct sym_line *c;
    const uint64_t *starts;
    size_t n, found = 0;
    GElf_Shdr sh;

    starts = sym_ehframe_starts(bare, &n);
    CHECK(starts && n > 100);
    CHECK(!sym_image_section(bare->file, ".eh_frame_hdr", &sh)); /* or this tests nothing */
    full = open_at(workload("split-static"));
    for (size_t i = 0; i < n; i++) {
        CHECK(i == 0 || starts[i] > starts[i - 1]);
        if (sym_module_find(full, starts[i], &c) &&
            (strcmp(c[0].name, "one") == 0 || strcmp(c[0].name, "main") == 0)) {
            CHECK_EQ(c[0].start, starts[i]);
            CHECK_EQ(sym_module_find(bare, starts[i] + 1, &c), 1);
            CHECK_EQ(c[0].start, starts[i]);
            found++;
        }
    }
    CHECK_EQ(found, 2);
    CHECK_EQ(sym_module_source(bare), SYM_EH_FRAME);
    sym_module_close(bare);
    sym_module_close(full);
}

TEST(symbol_code_behind_a_function_is_not_part_of_it)
{
    static const char *const names[] = { "split-bare", "split-bare-hdr" };

    for (size_t i = 0; i < 2; i++) {
        const char *path = workload(names[i]);
        struct sym_module *m = open_at(path);
        uint64_t undescribed = mark(path, 1), last = 0;
        const struct sym_line *c;
        const uint64_t *starts;
        GElf_Shdr sh;
        size_t n;

        starts = sym_ehframe_starts(m, &n);
        CHECK_EQ(sym_image_section(m->file, ".eh_frame_hdr", &sh) != NULL, i);
        for (size_t k = 0; k < n && starts[k] <= undescribed; k++)
            last = starts[k];
        CHECK(last && last < undescribed); /* or this tests nothing */
        CHECK_EQ(sym_module_find(m, undescribed, &c), 0);
        CHECK_EQ(sym_module_find(m, last, &c), 1);
        CHECK(c[0].start == last && last < c[0].end && c[0].end <= undescribed);
        CHECK_EQ(sym_module_find(m, c[0].end - 1, &c), 1);
        sym_module_close(m);
    }
}

TEST(symbol_replaced_file_is_noticed_and_not_used)
{
    const uint8_t other[20] = { 1, 2, 3 };
    const char *path = workload("inlined-other");
    struct sym_module *m = sym_module_open(
        &(struct sym_request){ .path = path, .build_id = other, .build_id_size = sizeof other });
    const struct sym_line *c;

    CHECK_EQ(sym_module_find(m, mark(path, 103), &c), 0);
    CHECK(strstr(sym_module_problem(m), "was replaced after the recording"));
    CHECK_EQ(sym_module_source(m), SYM_NONE);
    sym_module_close(m);
}

TEST(symbol_missing_file_is_reported)
{
    struct sym_module *m = open_at("/nonexistent/program (deleted)");
    const struct sym_line *c;

    CHECK_EQ(sym_module_find(m, 0x1234, &c), 0);
    CHECK(strstr(sym_module_problem(m), "/nonexistent/program cannot be read"));
    sym_module_close(m);
}

TEST(symbol_code_bytes_come_from_the_file)
{
    const char *path = workload("inlined");
    struct sym_module *m = open_at(path);
    const struct sym_line *c;

    CHECK(sym_module_find(m, mark(path, 116), &c) >= 1);
    CHECK(sym_module_code(m, c[0].start, (size_t)(c[0].end - c[0].start)));
    CHECK(!sym_module_code(m, c[0].start, 1 << 30));
    CHECK(!sym_module_code(m, ~(uint64_t)0, 2));
    sym_module_close(m);
}

TEST(symbol_linkage_entries_carry_their_function)
{
    struct sym_module *m = open_at(workload("split"));
    const struct sym_line *c;
    GElf_Shdr sh;

    CHECK(sym_module_file(m) && sym_image_section(m->file, ".plt", &sh));
    CHECK_EQ(sym_module_find(m, sh.sh_addr + 20, &c), 1);
    CHECK(ends_with(c[0].name, "@plt"));
    sym_module_close(m);
}

TEST(symbol_linkage_entries_of_internal_resolvers_carry_their_exported_name)
{
    struct sym_module *m = open_at(workload("libifunc.so"));
    const struct sym_line *c;
    GElf_Shdr sh;

    CHECK(sym_module_file(m) && sym_image_section(m->file, ".plt", &sh));
    CHECK_EQ(sym_module_find(m, sh.sh_addr + 16, &c), 1);
    if (!ends_with(c[0].name, "@plt"))
        test_skip("PLT entries of this machine type have no names");
    CHECK_STR(c[0].name, "step@plt");
    sym_module_close(m);
}

TEST(symbol_cxx_names_have_their_scope)
{
    const char *path = workload("scopes");
    struct sym_module *m = open_at(path);
    const struct sym_line *c;

    CHECK_EQ(sym_module_find(m, mark(path, 105), &c), 1);
    CHECK_STR(c[0].name, "outer::Box<long, 3>::put(long)");
    CHECK(c[0].linkage_name && strncmp(c[0].linkage_name, "_Z", 2) == 0);
    CHECK_EQ(sym_module_find(m, mark(path, 112), &c), 2);
    CHECK(strstr(c[0].name, "outer::(anonymous namespace)::Local::run"));
    CHECK(strstr(c[1].name, "outer::(anonymous namespace)::unseen"));
    CHECK_EQ(c[0].line, 118);
    CHECK(sym_module_find(m, mark(path, 131), &c) >= 1); /* a lambda, defined inside go() */
    CHECK_STR(c[0].name, "outer::go(unsigned long)::{lambda()#1}::operator()() const");
    CHECK_EQ(c[0].source, SYM_DWARF);
    CHECK(c[0].line == 131 || c[0].line == 130);
    CHECK_EQ(sym_module_find(m, mark(path, 141), &c), 1);
    CHECK_STR(c[0].name, "main");
    sym_module_close(m);
}

TEST(symbol_vdso_is_read_from_memory)
{
    struct sym_module *m = sym_module_open(
        &(struct sym_request){ .path = "[vdso]", .kind = MODULE_VDSO });
    const struct sym_line *c;
    size_t found = 0;

    if (!sym_module_file(m))
        test_skip("no vDSO here");
    for (uint64_t a = 0; a < 8192; a += 16)
        if (sym_module_find(m, a, &c) && strstr(c[0].name, "clock_gettime"))
            found++;
    CHECK(found > 0);
    sym_module_close(m);
}

TEST(symbol_memory_without_an_elf_file_is_refused)
{
    struct sym_module *m = sym_module_open_memory("not an ELF file", 15, "x");
    const struct sym_line *c;

    CHECK_EQ(sym_module_find(m, 5, &c), 0);
    CHECK(strstr(sym_module_problem(m), "not an ELF file"));
    sym_module_close(m);
}

TEST(symbol_advice_is_given_where_names_are_missing)
{
    struct sym_module *m = open_at(workload("inlined-stripped"));

    CHECK(*sym_module_advice(m));
    sym_module_close(m);
    m = open_at(workload("inlined"));
    CHECK_STR(sym_module_advice(m), "");
    sym_module_close(m);
}

TEST(symbol_advice_for_a_container_names_no_package_of_this_machine)
{
    const char *dir = test_dir();
    char program[512];
    struct sym_module *m;

    snprintf(program, sizeof program, "%s/usr/lib/libc.so.6", dir);
    test_make_dirs(program);
    copy_file(workload("inlined-stripped"), program, "");
    m = sym_module_open(&(struct sym_request){ .path = "/usr/lib/libc.so.6", .root = dir });
    CHECK(strstr(sym_module_advice(m), "in its container"));
    sym_module_close(m);
}

/* The cache of debuginfod is used at once; missing files are fetched in the background. */
TEST(symbol_debuginfod_is_asked_in_the_background)
{
    const char *dir = test_dir();
    char program[512], cache[512], served[1024], urls[600], hex[64] = "";
    struct sym_image *im;
    struct sym_module *m;
    const struct sym_line *c;

    snprintf(program, sizeof program, "%s/program", dir);
    copy_file(workload("inlined-linked"), program, "");
    im = sym_image_open_fd(open(program, O_RDONLY), program, NULL);
    CHECK(im);
    for (size_t i = 0; i < im->build_id_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", im->build_id[i]);
    snprintf(served, sizeof served, "%s/server/buildid/%s/debuginfo", dir, hex);
    test_make_dirs(served);
    copy_file(workload("linked.debug"), served, "");
    snprintf(cache, sizeof cache, "%s/cache", dir);
    snprintf(urls, sizeof urls, "file://%s/server", dir);
    setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
    CHECK(!sym_debuginfod_cached(im->build_id, im->build_id_size));
    setenv("DEBUGINFOD_URLS", urls, 1);
    m = open_at(program);
    CHECK_EQ(sym_module_find(m, mark(program, 103), &c), 1); /* without waiting */
    sym_module_close(m);
    sym_debuginfod_start();
    CHECK(sym_debuginfod_wait(100000));
    if (!sym_debuginfod_cached(im->build_id, im->build_id_size))
        test_skip("no libdebuginfod here, or it cannot read file: addresses");
    m = open_at(program);
    CHECK_EQ(sym_module_find(m, mark(program, 103), &c), 3);
    sym_module_close(m);
    sym_image_close(im);
}

TEST(symbol_lookups_survive_that_the_file_is_truncated)
{
    const struct sym_line *chain;
    struct map whole = { 0 };
    struct sym_module *m;
    char path[300];
    int fd;

    CHECK_EQ(map_open(&whole, workload("inlined"), NULL), 0);
    snprintf(path, sizeof path, "%s/program", test_dir());
    fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && write(fd, whole.data, whole.size) == (ssize_t)whole.size);
    m = open_at(path);
    CHECK_EQ(sym_module_find(m, 1, &chain), 0); /* maps it */
    CHECK_STR(sym_module_problem(m), "");
    CHECK(ftruncate(fd, 64) == 0);
    sym_module_find(m, mark(workload("inlined"), 103), &chain);
    CHECK(strstr(sym_module_problem(m), "was truncated while it was read"));
    sym_module_close(m);
    map_close(&whole);
    close(fd);
}
