/* test_jit.c - names of JIT code and of the kernel.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/map.h"
#include "symbol/sym_jitdump.h"
#include "symbol/sym_jitmap.h"
#include "symbol/sym_kallsyms.h"
#include "symbol/symbol.h"
#include "test.h"

static const char *name_at(struct sym_module *m, uint64_t address)
{
    const struct sym_line *c;

    return sym_module_find(m, address, &c) ? c[0].name : "";
}

static void write_file(const char *path, const void *data, size_t n)
{
    test_write(path, data, n);
}

TEST(jitmap_is_found_under_the_root_by_the_inner_pid)
{
    static const char text[] = "1000 20 first\n0x2000 0x10 LazyCompile:~f /app/a.js:3\nbroken line\n"
                               "3000 0 empty\n4000 8 _ZN3foo3barEv\n5000 ffffffffffffffff far\n";
    const char *dir = test_dir();
    struct sym_request ask = { .path = "[jit]", .kind = MODULE_JIT, .root = dir,
                               .pid = 999999999, .ns_pid = 7 };
    struct sym_module *m;
    char path[256];

    snprintf(path, sizeof path, "%s/tmp/perf-7.map", dir);
    write_file(path, text, sizeof text - 1);
    m = sym_module_open(&ask);
    CHECK_STR(name_at(m, 0x1000), "first");
    CHECK_STR(name_at(m, 0x101f), "first");
    CHECK_STR(name_at(m, 0x1020), "");
    CHECK_STR(name_at(m, 0x2004), "LazyCompile:~f /app/a.js:3");
    CHECK_STR(name_at(m, 0x3000), "");
    CHECK_EQ(sym_module_source(m), SYM_JIT);
    sym_module_close(m);
}

/* A line of a map may have 500 MB: its name is not copied for each address. */
TEST(jitmap_keeps_one_name_for_all_addresses_of_a_function)
{
    static const char text[] = "1000 20 _ZN3foo3barEv\n2000 20 plain\n";
    struct sym_module *m;
    char path[256];

    snprintf(path, sizeof path, "%s/perf-42.map", test_dir());
    write_file(path, text, sizeof text - 1);
    m = sym_module_open(&(struct sym_request){ .path = path, .kind = MODULE_JIT });
    CHECK(name_at(m, 0x1000) == name_at(m, 0x101f));
    CHECK_STR(name_at(m, 0x1001), "foo::bar()");
    CHECK(name_at(m, 0x2000) == name_at(m, 0x2001));
    CHECK_STR(name_at(m, 0x2000), "plain");
    sym_module_close(m);
}

TEST(jitmap_path_of_perf_names_its_process)
{
    const char *dir = test_dir();
    struct sym_module *m;
    char path[256];

    snprintf(path, sizeof path, "%s/perf-42.map", dir);
    write_file(path, "10 10 f\n", 8);
    m = sym_module_open(&(struct sym_request){ .path = path, .kind = MODULE_JIT });
    CHECK_STR(name_at(m, 0x18), "f");
    CHECK_STR(sym_module_problem(m), ""); /* a symbol map is not read as a program */
    sym_module_close(m);
}

TEST(jitmap_names_all_memory_without_a_file)
{
    const char *dir = test_dir();
    struct sym_request ask = { .path = "/SYSV00000000", .kind = MODULE_JIT, .root = dir,
                               .pid = 999999999, .ns_pid = 7 };
    struct sym_module *m;
    char path[256];

    snprintf(path, sizeof path, "%s/tmp/perf-7.map", dir);
    write_file(path, "10 10 f\n", 8);
    m = sym_module_open(&ask);
    CHECK_STR(name_at(m, 0x18), "f");
    CHECK_STR(sym_module_problem(m), "");
    sym_module_close(m);
    ask.kind = MODULE_FILE; /* of the same process */
    m = sym_module_open(&ask);
    CHECK_STR(name_at(m, 0x18), "");
    sym_module_close(m);
}

TEST(jitmap_reads_long_addresses_and_skips_ranges_that_wrap)
{
    static const char text[] = "7f00123456789abc 10 high\nfffffffffffffff0 20 wraps\n";
    struct sym_jitmap_list list = { 0 };

    sym_jitmap_parse(&list, text, sizeof text - 1);
    CHECK_EQ(list.code.n, 1);
    CHECK_EQ(list.code.v[0].start, 0x7f00123456789abc);
    CHECK_EQ(list.code.v[0].end, 0x7f00123456789acc);
    vec_release(&list.code);
}

TEST(jitmap_ignores_files_with_other_names)
{
    const char *dir = test_dir();
    struct sym_module *m;
    char path[256];

    snprintf(path, sizeof path, "%s/perf-42.map.old", dir);
    write_file(path, "10 10 f\n", 8);
    m = sym_module_open(&(struct sym_request){ .path = path, .kind = MODULE_JIT });
    CHECK_STR(name_at(m, 0x18), "");
    sym_module_close(m);
}

TEST(jitmap_is_read_to_its_end_however_long_it_is)
{
    const char *dir = test_dir();
    struct sym_module *m;
    struct buf b = { 0 };
    char path[256];

    for (unsigned i = 0; i < 20000; i++)
        buf_printf(&b, "%x 10 function_%u\n", 0x10000 + i * 16, i);
    snprintf(path, sizeof path, "%s/perf-9.map", dir);
    write_file(path, b.data, b.n);
    m = sym_module_open(&(struct sym_request){ .path = path, .kind = MODULE_JIT });
    CHECK_STR(name_at(m, 0x10000), "function_0");
    CHECK_STR(name_at(m, 0x10000 + 19999 * 16 + 15), "function_19999");
    sym_module_close(m);
    buf_release(&b);
}

TEST(jitmap_later_code_hides_what_it_covers)
{
    static const char text[] = "100 100 old\n80 100 middle\n150 10 new\n1f0 80 tail\n100 8 old again\n";
    const char *dir = test_dir();
    struct sym_module *m;
    char path[256];

    snprintf(path, sizeof path, "%s/perf-1.map", dir);
    write_file(path, text, sizeof text - 1);
    m = sym_module_open(&(struct sym_request){ .path = path, .kind = MODULE_JIT });
    CHECK_STR(name_at(m, 0x7f), "");
    CHECK_STR(name_at(m, 0x80), "middle");
    CHECK_STR(name_at(m, 0x100), "old again");
    CHECK_STR(name_at(m, 0x108), "middle");
    CHECK_STR(name_at(m, 0x14f), "middle");
    CHECK_STR(name_at(m, 0x150), "new");
    CHECK_STR(name_at(m, 0x160), "middle");
    CHECK_STR(name_at(m, 0x180), "old");
    CHECK_STR(name_at(m, 0x1ef), "old");
    CHECK_STR(name_at(m, 0x1f0), "tail");
    CHECK_STR(name_at(m, 0x26f), "tail");
    CHECK_STR(name_at(m, 0x270), "");
    sym_module_close(m);
}

static void add_record(struct buf *b, uint32_t id, const struct buf *body)
{
    buf_u32(b, id);
    buf_u32(b, 16 + (uint32_t)body->n);
    buf_u64(b, 1);
    buf_add(b, body->data, body->n);
}

static void add_code(struct buf *b, uint64_t address, const char *name, uint64_t index)
{
    struct buf body = { 0 };

    buf_u32(&body, 1);
    buf_u32(&body, 1);
    buf_u64(&body, address);
    buf_u64(&body, address);
    buf_u64(&body, 16);
    buf_u64(&body, index);
    buf_add(&body, name, strlen(name) + 1);
    buf_add(&body, "0123456789abcdef", 16);
    add_record(b, 0, &body);
    buf_release(&body);
}

static void add_lines(struct buf *b, uint64_t address, const char *file)
{
    struct buf body = { 0 };

    buf_u64(&body, address);
    buf_u64(&body, 2);
    buf_u64(&body, address + 8);
    buf_u32(&body, 21);
    buf_u32(&body, 0);
    buf_add(&body, file, strlen(file) + 1);
    buf_u64(&body, address);
    buf_u32(&body, 20);
    buf_u32(&body, 0);
    buf_add(&body, "\377", 2);
    add_record(b, 2, &body);
    buf_release(&body);
}

/* A header with MORE extra bytes, as a later version may have. */
static void add_header(struct buf *b, uint32_t more)
{
    buf_u32(b, 0x4a695444);
    buf_u32(b, 1);
    buf_u32(b, 40 + more);
    buf_u32(b, 62);
    buf_u32(b, 0);
    buf_u32(b, 1);
    buf_u64(b, 0);
    buf_u64(b, 0);
    while (more--)
        buf_u8(b, 0xee);
}

TEST(jitdump_provides_names_lines_and_bytes)
{
    const char *dir = test_dir();
    struct buf b = { 0 }, body = { 0 };
    const struct sym_line *c;
    struct sym_module *m;
    char path[256];

    add_header(&b, 8);
    add_lines(&b, 0x1000, "a.js");
    add_code(&b, 0x1000, "f", 5);
    for (int i = 0; i < 3; i++) /* pid, tid, vma, old address */
        buf_u64(&body, 0x1000);
    buf_u64(&body, 0x2000);
    buf_u64(&body, 16);
    buf_u64(&body, 5);
    add_record(&b, 1, &body);
    add_lines(&b, 0x4000, "LT\004");
    add_code(&b, 0x4000, "g", 7);
    add_code(&b, 0x3000, "cut", 6);
    snprintf(path, sizeof path, "%s/jit-1.dump", dir);
    write_file(path, b.data, b.n - 1);
    m = sym_module_open(&(struct sym_request){ .path = path, .kind = MODULE_JIT });
    CHECK_EQ(sym_module_find(m, 0x100a, &c), 1);
    CHECK_STR(c[0].name, "f");
    CHECK_STR(c[0].file, "a.js");
    CHECK_EQ(c[0].line, 21);
    CHECK_EQ(sym_module_find(m, 0x1001, &c), 1);
    CHECK_EQ(c[0].line, 20);
    CHECK_STR(c[0].file, "a.js");
    CHECK_EQ(sym_module_find(m, 0x1008, &c), 1);
    CHECK_EQ(c[0].line, 21); /* a line row starts at its address */
    CHECK_EQ(sym_module_find(m, 0x2001, &c), 1);
    CHECK(c[0].line == 0); /* moved code: its line rows refer to the old address */
    CHECK_STR(name_at(m, 0x2001), "f");
    CHECK_STR(name_at(m, 0x3001), "");
    CHECK_EQ(sym_module_find(m, 0x4001, &c), 1);
    CHECK(c[0].line == 20 && !c[0].file);
    CHECK(memcmp(sym_module_code(m, 0x1004, 4), "4567", 4) == 0);
    CHECK(sym_module_code(m, 0x1004, 13) == NULL);
    sym_module_close(m);
    buf_release(&b);
    buf_release(&body);
}

/* One function of ROWS bytes with a line for each. */
static void add_long_code(struct buf *b, uint64_t address, uint64_t rows)
{
    struct buf lines = { 0 }, code = { 0 };

    buf_u64(&lines, address);
    buf_u64(&lines, rows);
    for (uint64_t i = 0; i < rows; i++) {
        buf_u64(&lines, address + i);
        buf_u64(&lines, i + 1); /* line and discriminator */
        buf_add(&lines, i ? "\377" : "f", 2);
    }
    add_record(b, 2, &lines);
    buf_u64(&code, 0);
    buf_u64(&code, address);
    buf_u64(&code, address);
    buf_u64(&code, rows);
    buf_u64(&code, 1);
    buf_add(&code, "long", 5);
    buf_reserve(&code, rows);
    memset(code.data + code.n, 0x90, rows);
    code.n += rows;
    add_record(b, 0, &code);
    buf_release(&lines);
    buf_release(&code);
}

static void add_move(struct buf *b, uint64_t to, uint64_t index)
{
    struct buf body = { 0 };

    for (int i = 0; i < 3; i++) /* pid, tid, vma, old address */
        buf_u64(&body, 0);
    buf_u64(&body, to);
    buf_u64(&body, 16);
    buf_u64(&body, index);
    add_record(b, 1, &body);
    buf_release(&body);
}

/* Comparing each address with all lines, or each move with all code, would take 100 billion steps. */
TEST(jitdump_finds_lines_and_moved_code_without_comparing_all)
{
    enum { ROWS = 400000, MOVES = 400000, TO = 1 << 20 };
    struct rlimit cpu = { 20, 20 };
    struct sym_jitdump d = { 0 };
    const struct sym_line *c;
    struct sym_module *m;
    struct buf b = { 0 };
    char path[256];

    add_header(&b, 0);
    add_long_code(&b, 0x1000, ROWS);
    snprintf(path, sizeof path, "%s/jit-1.dump", test_dir());
    write_file(path, b.data, b.n);
    CHECK_EQ(setrlimit(RLIMIT_CPU, &cpu), 0);
    m = sym_module_open(&(struct sym_request){ .path = path, .kind = MODULE_JIT });
    for (uint64_t i = 0; i < ROWS; i++)
        CHECK(sym_module_find(m, 0x1000 + i, &c) == 1 && c[0].line == i + 1);
    sym_module_close(m);
    for (uint64_t i = 0; i < MOVES; i++)
        add_code(&b, 0x1000, "other", 2 + i);
    for (uint64_t i = 0; i < MOVES; i++)
        add_move(&b, TO + i, 2);
    CHECK(sym_jitdump_parse(&d, b.data, b.n));
    CHECK_EQ(d.code.n, 1 + 2 * MOVES);
    CHECK(d.code.v[2 * MOVES].start == TO + MOVES - 1 && d.code.v[2 * MOVES].index == 2);
    sym_jitdump_release(&d);
    buf_release(&b);
}

/* is_past: the recorded process has ended, even if another process now has its pid. */
TEST(jitdump_of_a_live_process_is_not_used_for_an_ended_one)
{
    struct buf b = { 0 };
    struct map dump = { 0 };
    struct sym_module *m;
    char path[256];

    add_header(&b, 0);
    add_code(&b, 0x1000, "f", 1);
    snprintf(path, sizeof path, "%s/jit-77.dump", test_dir());
    write_file(path, b.data, b.n);
    CHECK_EQ(map_open(&dump, path, NULL), 0); /* mapped, as a JIT compiler does */
    for (int past = 0; past <= 1; past++) {
        m = sym_module_open(&(struct sym_request){ .path = "//anon", .kind = MODULE_JIT,
                                                   .pid = getpid(), .is_past = past });
        CHECK_STR(name_at(m, 0x1001), past ? "" : "f");
        sym_module_close(m);
    }
    map_close(&dump);
    buf_release(&b);
}

TEST(kallsyms_lists_functions_and_notices_hidden_addresses)
{
    static const char text[] = "ffffffff81000000 T startup_64\nffffffff81000040 t helper\n"
                               "ffffffff82000000 D data\nffffffffc0000000 t mod_fn\t[mod]\n";
    static const char zeros[] = "0000000000000000 T startup_64\n0000000000000000 t helper\n";
    struct sym_table t = { 0 };
    struct buf names = { 0 };

    CHECK(sym_kallsyms_parse(&t, &names, text, sizeof text - 1));
    CHECK_EQ(t.entry.n, 3);
    CHECK_STR((char *)names.data + t.entry.v[2].name, "mod_fn [mod]");
    sym_table_release(&t);
    buf_release(&names);
    CHECK(!sym_kallsyms_parse(&t, &names, zeros, sizeof zeros - 1));
    sym_table_release(&t);
    buf_release(&names);
}

TEST(kernel_symbols_come_from_this_kernel_or_a_reason_is_reported)
{
    const char *dir = test_dir();
    struct sym_module *m;

    setenv("FATHOM_CACHE", dir, 1);
    for (int i = 0; i < 2; i++) { /* the second reads the cache */
        m = sym_module_open(&(struct sym_request){ .path = "[kernel]", .kind = MODULE_KERNEL });
        CHECK(sym_module_source(m) == SYM_KALLSYMS || *sym_module_problem(m));
        sym_module_close(m);
    }
}

TEST(kernel_of_another_build_gets_no_names)
{
    const uint8_t other[20] = { 9, 9, 9 };
    struct sym_module *m = sym_module_open(&(struct sym_request){
        .path = "[kernel]", .kind = MODULE_KERNEL, .build_id = other, .build_id_size = sizeof other });

    if (access("/sys/kernel/notes", R_OK) < 0)
        test_skip("/sys/kernel/notes cannot be read");
    CHECK_EQ(sym_module_source(m), SYM_NONE);
    CHECK(strstr(sym_module_problem(m), "another kernel"));
    CHECK_STR(sym_module_advice(m), "");
    sym_module_close(m);
}

TEST(kernel_of_another_release_gets_no_names)
{
    struct sym_module *m = sym_module_open(&(struct sym_request){ .path = "[kernel 1.0]",
                                                                  .kind = MODULE_KERNEL });

    CHECK_EQ(sym_module_source(m), SYM_NONE);
    CHECK(strstr(sym_module_problem(m), "another kernel"));
    CHECK_STR(sym_module_advice(m), "");
    sym_module_close(m);
}
