/* test_unwind_table.c - tables as files: cache, damage, lazy opening; address spaces; walks
 * without a rule.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cache.h"
#include "base/map.h"
#include "unw_self.h"
#include "cfi/cfi_table.h"

static const uint8_t build_id[] = { 0xab, 0xcd, 0x01, 0x02, 0x03 };

static int open_libc(void)
{
    Dl_info info;
    int fd;

    CHECK(dladdr(&fopen, &info) != 0);
    fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        test_skip("the C library is not a file");
    return fd;
}

static void use_own_cache(void)
{
    setenv("FATHOM_CACHE", test_dir(), 1);
}

/* The only file of the cache. */
static const char *cache_file(void)
{
    static char path[4096];
    DIR *d;
    int n = 0;
    char dir[2048];

    cache_dir(dir, sizeof dir, "unwind");
    d = opendir(dir);
    CHECK(d != NULL);
    for (struct dirent *it; (it = readdir(d));)
        if (it->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", dir, it->d_name);
            n++;
        }
    closedir(d);
    CHECK_EQ(n, 1);
    return path;
}

static void check_same_tables(struct unw_table *a, struct unw_table *b)
{
    struct cfi_table_info x = cfi_table_info(a), y = cfi_table_info(b);

    CHECK(x.rows == y.rows && x.rules == y.rules && x.low == y.low && x.high == y.high);
    for (uint64_t at = x.low; at < x.high; at += 61) {
        const struct unw_rule *r = unw_table_rule(a, at), *s = unw_table_rule(b, at);

        CHECK(!r == !s);
        CHECK(!r || memcmp(r, s, sizeof *r) == 0);
    }
}

TEST(unwind_table_comes_back_from_the_cache)
{
    int fd = open_libc();
    struct unw_table *built, *cached;

    use_own_cache();
    built = cfi_table_open(fd, build_id, sizeof build_id, NULL);
    CHECK(built != NULL);
    CHECK(!cfi_table_info(built).from_cache);
    cached = cfi_table_open(fd, build_id, sizeof build_id, NULL);
    close(fd); /* the tables do not need it */
    CHECK(cfi_table_info(cached).from_cache);
    CHECK(cfi_table_info(cached).rows > 1000);
    check_same_tables(built, cached);
    cfi_table_free(built);
    cfi_table_free(cached);
}

TEST(unwind_table_rebuilds_a_damaged_cache_file)
{
    int fd = open_libc();
    struct unw_table *good = cfi_table_open(fd, NULL, 0, NULL), *t;
    struct map m = { 0 };
    struct err e = { 0 };

    use_own_cache();
    cfi_table_prepare(t = cfi_table_open(fd, build_id, sizeof build_id, NULL));
    cfi_table_free(t);
    CHECK_EQ(map_open(&m, cache_file(), &e), 0);
    for (int i = 0; i < 8; i++) {
        size_t n = m.size, at = i < 4 ? (size_t)i * 16 : n / 8 * (size_t)i;
        unsigned char *copy = malloc(n);

        memcpy(copy, m.data, n);
        copy[at] ^= 0x40;
        if (i == 7)
            n -= 4;
        test_write(cache_file(), copy, n);
        free(copy);
        t = cfi_table_open(fd, build_id, sizeof build_id, NULL);
        CHECK(!cfi_table_info(t).from_cache);
        check_same_tables(good, t);
        cfi_table_free(t);
        t = cfi_table_open(fd, build_id, sizeof build_id, NULL);
        CHECK(cfi_table_info(t).from_cache); /* rewritten */
        cfi_table_free(t);
    }
    map_close(&m);
    cfi_table_free(good);
    close(fd);
}

TEST(unwind_table_is_complete_if_no_descriptor_is_left)
{
    int fd = open_libc();
    struct unw_table *good = cfi_table_open(fd, NULL, 0, NULL), *t;
    struct rlimit limit = { (rlim_t)fd + 1, (rlim_t)fd + 1 };

    cfi_table_prepare(good);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (dup(fd) >= 0)
        ;
    t = cfi_table_open(fd, NULL, 0, NULL);
    CHECK(t != NULL);
    close(fd);
    check_same_tables(good, t);
    cfi_table_free(t);
    cfi_table_free(good);
}

TEST(unwind_table_works_where_the_cache_cannot_be_written)
{
    int fd = open_libc();
    struct unw_table *t;

    setenv("FATHOM_CACHE", "/dev/null/none", 1);
    t = cfi_table_open(fd, build_id, sizeof build_id, NULL);
    CHECK(cfi_table_info(t).rows > 1000);
    cfi_table_free(t);
    close(fd);
}

/* A file that is truncated between opening and first use must not poison the cache. */
TEST(unwind_table_of_a_truncated_file_is_not_cached)
{
    struct map m = { 0 };
    struct err e = { 0 };
    const char *path;
    char dir[2048];
    struct unw_table *t;
    int fd;

    use_own_cache();
    CHECK_EQ(map_open(&m, "/proc/self/exe", &e), 0);
    path = test_file(m.data, m.size);
    map_close(&m);
    fd = open(path, O_RDWR | O_CLOEXEC);
    t = cfi_table_open(fd, build_id, sizeof build_id, NULL);
    CHECK(t != NULL);
    CHECK_EQ(ftruncate(fd, 5000), 0);
    cfi_table_prepare(t);
    CHECK_EQ(cfi_table_info(t).rows, 0);
    cache_dir(dir, sizeof dir, "unwind");
    CHECK(access(dir, F_OK) != 0);
    cfi_table_free(t);
    close(fd);
}

/* Nor must a file whose contents changed but not its size. */
TEST(unwind_table_of_a_changed_file_is_not_cached)
{
    struct map m = { 0 };
    struct err e = { 0 };
    char dir[2048];
    struct unw_table *t;
    int fd;

    use_own_cache();
    CHECK_EQ(map_open(&m, "/proc/self/exe", &e), 0);
    fd = open(test_file(m.data, m.size), O_RDWR | O_CLOEXEC);
    t = cfi_table_open(fd, build_id, sizeof build_id, NULL);
    CHECK(t != NULL);
    usleep(20000); /* the file system's clock ticks at most every 10 ms */
    CHECK_EQ(pwrite(fd, "x", 1, (off_t)m.size - 1), 1);
    cfi_table_prepare(t);
    CHECK(cfi_table_info(t).rows > 1000);
    cache_dir(dir, sizeof dir, "unwind");
    CHECK(access(dir, F_OK) != 0);
    cfi_table_free(t);
    map_close(&m);
    close(fd);
}

TEST(unwind_table_is_the_same_without_section_headers)
{
    struct map m = { 0 };
    struct err e = { 0 };
    struct unw_table *whole, *bare;
    unsigned char *copy;
    Elf64_Ehdr *eh;

    CHECK_EQ(map_open(&m, "/proc/self/exe", &e), 0);
    copy = malloc(m.size);
    memcpy(copy, m.data, m.size);
    eh = (Elf64_Ehdr *)(void *)copy;
    eh->e_shoff = eh->e_shnum = eh->e_shstrndx = 0;
    whole = cfi_table_build(m.data, m.size, &e);
    bare = cfi_table_build(copy, m.size, &e);
    CHECK(whole && bare && cfi_table_info(bare).rows > 1000);
    for (uint64_t at = cfi_table_info(whole).low; at < cfi_table_info(whole).high; at += 61) {
        const struct unw_rule *r = unw_table_rule(whole, at), *s = unw_table_rule(bare, at);

        CHECK(!r || (s && memcmp(r, s, sizeof *r) == 0));
    }
    cfi_table_free(whole);
    cfi_table_free(bare);
    free(copy);
    map_close(&m);
}

TEST(unwind_table_refuses_what_is_not_elf_of_a_known_machine)
{
    unsigned char bytes[64] = "not an ELF file at all";
    struct unw_table *t;
    struct err e = { 0 };

    CHECK(cfi_table_build(bytes, sizeof bytes, &e) == NULL);
    CHECK_STR(e.msg, "not a 64-bit little-endian ELF file");
    CHECK(cfi_table_build(bytes, 3, NULL) == NULL);
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, ELFMAG "\2\1\1", 7);
    bytes[18] = 243; /* RISC-V */
    e = (struct err){ 0 };
    CHECK(cfi_table_build(bytes, sizeof bytes, &e) == NULL);
    CHECK(strstr(e.msg, "another machine") != NULL);
    bytes[18] = EM_X86_64;
    t = cfi_table_build(bytes, sizeof bytes, NULL);
    CHECK_EQ(cfi_table_info(t).rows, 0);
    cfi_table_free(t);
}

static struct buf elf_with_compressed_frame(const struct buf *frame, uint64_t claimed)
{
    Elf64_Chdr ch = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = claimed };
    unsigned char packed[1000];
    uLongf n = sizeof packed;
    struct buf section = { 0 }, elf;

    CHECK_EQ(compress(packed, &n, frame->data, frame->n), Z_OK);
    buf_add(&section, &ch, sizeof ch);
    buf_add(&section, packed, n);
    elf = unw_self_elf(EM_X86_64, ".debug_frame", SHF_COMPRESSED, &section);
    buf_release(&section);
    return elf;
}

TEST(unwind_table_reads_compressed_debug_frame)
{
    static const unsigned char cie[] = { 0xff, 0xff, 0xff, 0xff, 3, 0, 1, 0x78, 16, 0x0c, 7, 8,
                                         0x90, 1 };
    struct buf frame = { 0 }, elf;
    struct unw_table *t;

    buf_u32(&frame, sizeof cie);
    buf_add(&frame, cie, sizeof cie);
    buf_u32(&frame, 4 + 16);
    buf_u32(&frame, 0);
    buf_u64(&frame, 0x1100);
    buf_u64(&frame, 0x20);
    elf = elf_with_compressed_frame(&frame, frame.n);
    t = cfi_table_build(elf.data, elf.n, NULL);
    CHECK(t != NULL && unw_table_rule(t, 0x1100) != NULL);
    CHECK_EQ(unw_table_rule(t, 0x1110)->cfa_off, 8);
    CHECK(unw_table_rule(t, 0x1120) == NULL);
    cfi_table_free(t);
    for (size_t n = 0; n < elf.n; n++) /* truncated at any byte: must not crash */
        cfi_table_free(cfi_table_build(elf.data, n, NULL));
    buf_release(&elf);
    elf = elf_with_compressed_frame(&frame, (uint64_t)1 << 60);
    t = cfi_table_build(elf.data, elf.n, NULL);
    CHECK_EQ(cfi_table_info(t).rows, 0);
    cfi_table_free(t);
    buf_release(&elf);
    buf_release(&frame);
}

/* --- address spaces --- */

static uint32_t module_at(const struct unw_space *s, uint64_t address)
{
    const struct unw_range *r = unw_space_find(s, address);

    CHECK(!r || (r->start <= address && address < r->end));
    return r ? r->module : 0;
}

TEST(unwind_space_replaces_what_was_mapped)
{
    struct unw_space *s = cfi_space_new(UNW_X86_64), *copy;

    CHECK(unw_space_find(s, 5) == NULL);
    cfi_space_map(s, 100, 200, 0, NULL, 1);
    cfi_space_map(s, 300, 400, 0, NULL, 3);
    cfi_space_map(s, 200, 300, 0, NULL, 2);
    CHECK_EQ(module_at(s, 99), 0);
    CHECK_EQ(module_at(s, 100), 1);
    CHECK_EQ(module_at(s, 199), 1);
    CHECK_EQ(module_at(s, 200), 2);
    CHECK_EQ(module_at(s, 399), 3);
    CHECK_EQ(module_at(s, 400), 0);
    cfi_space_map(s, 140, 160, 7, NULL, 4); /* inside one */
    CHECK_EQ(module_at(s, 139), 1);
    CHECK_EQ(module_at(s, 140), 4);
    CHECK_EQ(unw_space_find(s, 140)->bias, 7);
    CHECK_EQ(module_at(s, 160), 1);
    copy = cfi_space_copy(s);
    cfi_space_map(s, 150, 350, 0, NULL, 5); /* over several */
    CHECK_EQ(module_at(s, 149), 4);
    CHECK_EQ(module_at(s, 150), 5);
    CHECK_EQ(module_at(s, 349), 5);
    CHECK_EQ(module_at(s, 350), 3);
    CHECK_EQ(module_at(copy, 200), 2);
    cfi_space_unmap(s, 0, 1000);
    CHECK_EQ(module_at(s, 140), 0);
    cfi_space_map(s, 10, 10, 0, NULL, 6); /* empty */
    CHECK_EQ(module_at(s, 10), 0);
    CHECK_EQ(module_at(copy, 140), 4);
    cfi_space_free(s);
    cfi_space_free(copy);
}

/* Compare random maps and unmaps with an array of one entry per address. */
TEST(unwind_space_agrees_with_a_simple_model)
{
    struct unw_space *s = cfi_space_new(UNW_X86_64);
    uint32_t model[256] = { 0 }, seed = 7;

    for (uint32_t i = 1; i <= 3000; i++) {
        uint32_t start, end;

        seed = seed * 1103515245 + 12345;
        start = seed >> 8 & 255;
        end = start + (seed >> 16 & 31);
        end = end > 256 ? 256 : end;
        if (seed >> 30 == 0)
            cfi_space_unmap(s, start, end);
        else
            cfi_space_map(s, start, end, 0, NULL, i);
        for (uint32_t a = start; a < end; a++)
            model[a] = seed >> 30 == 0 ? 0 : i;
        for (uint32_t a = 0; a < 256; a++)
            CHECK_EQ(module_at(s, a), model[a]);
    }
    cfi_space_free(s);
}

/* --- no rule --- */

enum { JIT = 0x10000, TOP = 64 };

static size_t walk_words(struct unw_space *s, struct unw_regs regs, const uint64_t *words,
                         struct unw_frame *frames, enum unw_end *end)
{
    struct unw_stack stack = { 0x7000, (const unsigned char *)words, TOP * 8 };
    size_t n;

    *end = unw_walk(s, NULL, regs, &stack, frames, 16, &n);
    return n;
}

TEST(unwind_walk_falls_back_on_frame_pointers)
{
    struct unw_space *s = cfi_space_new(UNW_X86_64);
    uint64_t w[TOP] = { 0 };
    struct unw_regs regs = { .pc = JIT + 5, .sp = 0x7000, .fp = 0x7000 + 4 * 8 };
    struct unw_frame f[16];
    enum unw_end end;

    cfi_space_map(s, JIT, JIT + 0x1000, 0, NULL, 1);
    w[4] = 0x7000 + 10 * 8;
    w[5] = JIT + 0x100;
    w[10] = 0x7000 + 20 * 8;
    w[11] = JIT + 0x200;
    w[20] = 0; /* the outermost has none, which does not prove that it has no caller */
    w[21] = JIT + 0x300;
    CHECK_EQ(walk_words(s, regs, w, f, &end), 4);
    CHECK_EQ(end, UNW_BARE);
    CHECK_EQ(f[1].pc, JIT + 0x100);
    CHECK_EQ(f[1].sp, 0x7000 + 6 * 8);
    CHECK_EQ(f[3].pc, JIT + 0x300);
    CHECK(f[3].is_return && !f[0].is_return);
    w[10] = 0x7000; /* a pointer to a lower address */
    CHECK_EQ(walk_words(s, regs, w, f, &end), 2);
    CHECK_EQ(end, UNW_BARE);
    w[10] = 0x7000 + TOP * 8; /* just above the copy */
    CHECK_EQ(walk_words(s, regs, w, f, &end), 3);
    CHECK_EQ(end, UNW_CUT);
    w[10] = 0x7000 + 20 * 8;
    w[11] = 0x123456789; /* no code there */
    CHECK_EQ(walk_words(s, regs, w, f, &end), 2);
    CHECK_EQ(end, UNW_BARE);
    cfi_space_free(s);
}

TEST(unwind_walk_finds_the_caller_of_a_leaf_without_rules)
{
    struct unw_space *s = cfi_space_new(UNW_X86_64);
    uint64_t w[TOP] = { JIT + 0x100, 1, 2, 3 };
    struct unw_regs regs = { .pc = 0, .sp = 0x7000, .fp = 1 }; /* called a null pointer */
    struct unw_frame f[16];
    enum unw_end end;

    cfi_space_map(s, JIT, JIT + 0x1000, 0, NULL, 1);
    CHECK_EQ(walk_words(s, regs, w, f, &end), 2);
    CHECK_EQ(f[1].pc, JIT + 0x100);
    CHECK_EQ(f[1].sp, 0x7008);
    CHECK_EQ(end, UNW_BARE);
    cfi_space_free(s);
}

TEST(unwind_cache_drops_unmapped_ranges)
{
    struct unw_space *s = cfi_space_new(UNW_X86_64);
    struct unw_cache *c = cfi_cache_new();
    uint64_t w[TOP] = { JIT + 0x100 };
    struct unw_regs regs = { .pc = JIT + 5, .sp = 0x7000, .fp = 1 };
    struct unw_stack stack = { 0x7000, (const unsigned char *)w, sizeof w };
    struct unw_frame f[16];
    size_t n;

    cfi_space_map(s, JIT, JIT + 0x1000, 0, NULL, 1);
    unw_walk(s, c, regs, &stack, f, 16, &n);
    CHECK_EQ(n, 2);
    cfi_space_map(s, JIT * 4, JIT * 5, 0, NULL, 2); /* elsewhere: nothing is dropped */
    unw_walk(s, c, regs, &stack, f, 16, &n);
    CHECK_EQ(n, 2);
    CHECK_EQ(unw_cache_stats(c)->cache_hits, 2);
    cfi_space_unmap(s, JIT, JIT + 0x1000);
    unw_walk(s, c, regs, &stack, f, 16, &n);
    CHECK_EQ(n, 1);
    CHECK_EQ(unw_cache_stats(c)->cache_hits, 2);
    cfi_cache_free(c);
    cfi_space_free(s);
}
