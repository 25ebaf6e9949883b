/* test_perf_ifunc.c - which slots of a process are read, when, and what is taken from them.  The
 * process is made up: it maps the files of workloads/ifunc.c, and a table is its memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/hash.h"
#include "perf_build.h"
#include "profile/profile.h"
#include "symbol/sym_image.h"
#include "test.h"

enum { PROGRAM = 0x400000, LIBRARY = 0x700000, PID = 10, OTHER = 20, WORDS = 64 };
#define CHAIN(...) ((const uint64_t[]){ __VA_ARGS__, 0 })
static const uint64_t page = 0xfff;

static struct memory {
    uint64_t address[WORDS], word[WORDS];
    size_t n;
    bool refused;
    unsigned reads; /* calls of words() */
    size_t asked;   /* for so many words, the last time */
} memory;

static struct files {
    char program[PATH_MAX], library[PATH_MAX];
    struct sym_slots program_slots, library_slots;
    uint64_t work, step; /* slots of the program and the library, in the process */
} files;

static long words(int64_t pid, const uint64_t *address, size_t n, uint64_t *word)
{
    (void)pid;
    memory.reads++;
    memory.asked = n;
    if (memory.refused)
        return -1;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (k < memory.n && memory.address[k] != address[i])
            k++;
        if (k == memory.n)
            return (long)i;
        word[i] = memory.word[k];
    }
    return (long)n;
}

static void put(uint64_t address, uint64_t word)
{
    size_t k = 0;

    while (k < memory.n && memory.address[k] != address)
        k++;
    CHECK(k < WORDS);
    memory.address[k] = address;
    memory.word[k] = word;
    memory.n += k == memory.n;
}

static int open_mapped(const struct perf_mapping *w)
{
    return open(w->path, O_RDONLY | O_CLOEXEC);
}

static const struct perf_host host = { .open = open_mapped, .words = words };

/* --- the files --- */

static void find_file(const char *name, char *path, size_t cap, struct sym_slots *s)
{
    int fd;

    snprintf(path, cap, "%s", test_workload(name));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && elf_file_read(&s->elf, fd));
    sym_slots_read(s);
    close(fd);
}

static uint64_t key_of(const char *name)
{
    return hash_bytes(name, strlen(name));
}

static uint64_t resolver_of(const char *name)
{
    const struct sym_slots *s = &files.library_slots;

    for (size_t i = 0; i < s->resolver.n; i++)
        if (s->resolver.v[i].key == key_of(name))
            return s->resolver.v[i].address;
    return 0;
}

static uint64_t slot_with(const struct sym_slots *s, uint64_t key)
{
    for (size_t i = 0; i < s->slot.n; i++)
        if (s->slot.v[i].key == key)
            return s->slot.v[i].address;
    return 0;
}

/* Address of a local function, from the library that is not stripped. */
static uint64_t local(const char *name)
{
    const char *path = test_workload("libifunc-full.so");
    struct sym_image *im = sym_image_open_fd(open(path, O_RDONLY), path, NULL);
    uint64_t found = 0;

    CHECK(im);
    for (Elf_Scn *s = NULL; (s = elf_nextscn(im->elf, s));) {
        Elf_Data *d = elf_getdata(s, NULL);
        GElf_Shdr sh;
        GElf_Sym y;

        for (int i = 1; gelf_getshdr(s, &sh) && sh.sh_type == SHT_SYMTAB && gelf_getsym(d, i, &y); i++)
            if (strcmp(elf_strptr(im->elf, sh.sh_link, y.st_name), name) == 0)
                found = y.st_value;
    }
    sym_image_close(im);
    CHECK(found);
    return found;
}

/* --- the process --- */

struct run {
    struct pb b;
    struct profile *profile;
    struct intern in;
    struct perf_engine e;
    uint64_t time;
};

static void map_code(struct run *r, uint32_t pid, uint64_t base, const char *path,
                     const struct sym_slots *s)
{
    for (size_t i = 0; i < s->elf.n_segments; i++) {
        const struct elf_segment *g = &s->elf.segment[i];

        if (g->exec)
            pb_map(&r->b, ++r->time, pid, base + (g->address & ~page),
                   (g->memory_size + 2 * page) & ~page, g->offset & ~page, path);
    }
}

static void map_both(struct run *r, uint32_t pid)
{
    pb_comm(&r->b, ++r->time, pid, pid, "ifunc", true);
    map_code(r, pid, PROGRAM, files.program, &files.program_slots);
    map_code(r, pid, LIBRARY, files.library, &files.library_slots);
}

static void start(struct run *r)
{
    memset(r, 0, sizeof *r);
    memset(&memory, 0, sizeof memory);
    find_file("ifunc", files.program, sizeof files.program, &files.program_slots);
    find_file("libifunc.so", files.library, sizeof files.library, &files.library_slots);
    files.work = PROGRAM + slot_with(&files.program_slots, key_of("work"));
    files.step = LIBRARY + slot_with(&files.library_slots, resolver_of("step"));
    pb_init(&r->b);
    r->profile = profile_new();
    intern_init(&r->in, profile_sink(r->profile));
    perf_engine_init(&r->e, &r->in, &host);
    pb_attrs(&r->b, &r->e);
    map_both(r, PID);
    for (size_t i = 0; i < files.program_slots.slot.n; i++) /* not bound yet */
        put(PROGRAM + files.program_slots.slot.v[i].address, PROGRAM + 0x1036);
    for (size_t i = 0; i < files.library_slots.slot.n; i++)
        put(LIBRARY + files.library_slots.slot.v[i].address, 0);
}

static void finish(struct run *r)
{
    sym_slots_release(&files.program_slots);
    sym_slots_release(&files.library_slots);
    perf_engine_release(&r->e);
    intern_release(&r->in);
    profile_free(r->profile);
    pb_release(&r->b);
}

/* A sample at OFFSET of the library, and what happened before; then look. */
static void sample(struct run *r, uint32_t pid, uint64_t offset)
{
    r->time += 1000000;
    pb_chain(&r->b, r->time, pid, CHAIN(LIBRARY + offset));
    pb_feed(&r->b, &r->e, r->time);
    vec_clear(&r->b.record);
    perf_ifunc_look(&r->e.ifuncs);
}

/* Whether the library's resolver of NAME is known to have returned START; 0: nothing. */
static bool chose(struct run *r, const char *name, uint64_t start)
{
    for (size_t i = 0; i < r->e.modules.v.n; i++) {
        const struct perf_module *m = &r->e.modules.v.v[i];

        for (size_t k = 0; k < m->variant.n; k++)
            if (m->variant.v[k].resolver == resolver_of(name))
                return m->variant.v[k].start == start;
    }
    return start == 0;
}

TEST(perf_ifunc_reads_the_slots_of_all_modules_of_a_process)
{
    struct run r;

    start(&r);
    put(files.work, LIBRARY + local("work_two"));
    put(files.step, LIBRARY + local("step_one"));
    sample(&r, PID, local("victim"));
    CHECK(chose(&r, "work", local("work_two")));
    CHECK(chose(&r, "step", local("step_one")));
    finish(&r);
}

TEST(perf_ifunc_reads_again_after_new_frames_and_not_otherwise)
{
    struct run r;

    start(&r);
    sample(&r, PID, local("victim"));
    CHECK(chose(&r, "work", 0));
    CHECK_EQ(memory.reads, 1);
    put(files.work, LIBRARY + local("work_one"));
    sample(&r, PID, local("victim"));
    CHECK_EQ(memory.reads, 1);
    sample(&r, PID, local("work_one"));
    CHECK_EQ(memory.reads, 2);
    CHECK(chose(&r, "work", local("work_one")));
    finish(&r);
}

TEST(perf_ifunc_believes_only_what_the_resolver_can_return)
{
    struct run r;

    start(&r);
    put(files.work, LIBRARY + local("victim"));
    put(files.step, LIBRARY + local("work_two"));
    sample(&r, PID, local("victim"));
    CHECK(chose(&r, "work", 0));
    CHECK(chose(&r, "step", 0));
    finish(&r);
}

TEST(perf_ifunc_skips_slots_that_cannot_be_read)
{
    struct run r;

    start(&r);
    memory.n = 0;
    put(files.step, LIBRARY + local("step_two"));
    sample(&r, PID, local("victim"));
    CHECK(memory.reads > 1);
    CHECK(chose(&r, "step", local("step_two")));
    finish(&r);
}

TEST(perf_ifunc_does_not_ask_again_for_memory_that_is_refused_until_an_exec)
{
    struct run r;

    start(&r);
    put(files.step, LIBRARY + local("step_two"));
    memory.refused = true;
    sample(&r, PID, local("victim"));
    sample(&r, PID, local("work_one"));
    CHECK_EQ(memory.reads, 1);
    memory.refused = false;
    map_both(&r, PID);
    sample(&r, PID, local("work_one"));
    CHECK(chose(&r, "step", local("step_two")));
    finish(&r);
}

TEST(perf_ifunc_goes_on_after_many_processes_that_refuse)
{
    struct run r;

    start(&r);
    put(files.step, LIBRARY + local("step_two"));
    memory.refused = true;
    for (uint32_t pid = 100; pid < 300; pid++) {
        map_both(&r, pid);
        sample(&r, pid, local("victim"));
    }
    CHECK_EQ(memory.reads, 200);
    memory.refused = false;
    sample(&r, PID, local("victim"));
    CHECK(chose(&r, "step", local("step_two")));
    finish(&r);
}

TEST(perf_ifunc_searches_a_limited_number_of_processes_for_a_library)
{
    struct run r;

    start(&r);
    for (uint32_t pid = 100; pid < 300; pid++) {
        map_both(&r, pid);
        sample(&r, pid, local("victim"));
        pb_exit(&r.b, ++r.time, pid, pid);
    }
    CHECK(memory.reads > 10 && memory.reads < 100);
    finish(&r);
}

TEST(perf_ifunc_finds_the_slots_of_a_new_program_after_an_exec)
{
    struct run r;

    start(&r);
    map_both(&r, OTHER);
    sample(&r, PID, local("victim"));
    CHECK(chose(&r, "work", 0));
    pb_comm(&r.b, ++r.time, PID, PID, "other", true);
    map_code(&r, PID, 2 * PROGRAM, files.program, &files.program_slots);
    map_code(&r, PID, LIBRARY, files.library, &files.library_slots);
    put(files.work + PROGRAM, LIBRARY + local("work_two"));
    sample(&r, PID, local("victim"));
    CHECK(chose(&r, "work", local("work_two")));
    finish(&r);
}

TEST(perf_ifunc_reads_nothing_of_a_process_that_has_ended)
{
    struct run r;

    start(&r);
    put(files.step, LIBRARY + local("step_two"));
    pb_chain(&r.b, ++r.time, PID, CHAIN(LIBRARY + local("victim")));
    pb_exit(&r.b, ++r.time, PID, PID);
    map_both(&r, OTHER);
    memory.refused = true;
    pb_feed(&r.b, &r.e, r.time);
    perf_ifunc_look(&r.e.ifuncs);
    CHECK_EQ(memory.reads, 0);
    finish(&r);
}

/* --- a library that makes work --- */

enum { MANY = 4096, CODE_AT = 0x1000, DATA_AT = 0x100000 };

struct crafted {
    Elf64_Ehdr header;
    Elf64_Phdr code;
    Elf64_Shdr section[4];
    Elf64_Sym symbol[MANY];
    Elf64_Rela slot[MANY];
    char name[8];
};

static Elf64_Shdr section(uint32_t type, size_t at, size_t size)
{
    return (Elf64_Shdr){ .sh_type = type, .sh_flags = SHF_ALLOC, .sh_offset = at, .sh_size = size };
}

/* Each of its slots belongs to all of its resolvers, whose code chooses nothing. */
static void craft(const char *path)
{
    static struct crafted f = {
        .header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
                    .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
                    .e_ehsize = sizeof f.header, .e_phentsize = sizeof f.code, .e_phnum = 1,
                    .e_phoff = offsetof(struct crafted, code), .e_shnum = 4,
                    .e_shentsize = sizeof *f.section, .e_shoff = offsetof(struct crafted, section) },
        .code = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = sizeof f,
                  .p_memsz = sizeof f, .p_align = 0x1000 },
        .name = "\0name",
    };
    FILE *to = fopen(path, "wb");

    f.section[1] = section(SHT_DYNSYM, offsetof(struct crafted, symbol), sizeof f.symbol);
    f.section[2] = section(SHT_STRTAB, offsetof(struct crafted, name), sizeof f.name);
    f.section[3] = section(SHT_RELA, offsetof(struct crafted, slot), sizeof f.slot);
    for (size_t i = 0; i < MANY; i++) {
        f.symbol[i] = (Elf64_Sym){ .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC),
                                   .st_shndx = 1, .st_value = CODE_AT, .st_size = 0x1000 };
        f.slot[i] = (Elf64_Rela){ DATA_AT + 8 * i, R_X86_64_IRELATIVE, CODE_AT };
    }
    CHECK(to && fwrite(&f, sizeof f, 1, to) == 1 && fclose(to) == 0);
}

static long words_in_code(int64_t pid, const uint64_t *address, size_t n, uint64_t *word)
{
    (void)pid;
    (void)address;
    for (size_t i = 0; i < n; i++)
        word[i] = LIBRARY + CODE_AT;
    memory.reads++;
    return (long)n;
}

TEST(perf_ifunc_checks_a_limited_number_of_resolvers_in_a_look)
{
    static const struct perf_host hostile = { .open = open_mapped, .words = words_in_code };
    const struct rlimit most = { 20, 20 }; /* seconds: minutes if each slot is checked with each */
    char path[300];
    struct run r = { .time = 0 };

    snprintf(path, sizeof path, "%s/crafted", test_dir());
    craft(path);
    CHECK_EQ(setrlimit(RLIMIT_CPU, &most), 0);
    pb_init(&r.b);
    r.profile = profile_new();
    intern_init(&r.in, profile_sink(r.profile));
    perf_engine_init(&r.e, &r.in, &hostile);
    pb_attrs(&r.b, &r.e);
    pb_comm(&r.b, ++r.time, PID, PID, "crafted", true);
    pb_map(&r.b, ++r.time, PID, LIBRARY, sizeof(struct crafted), 0, path);
    memory.reads = 0;
    sample(&r, PID, CODE_AT);
    CHECK_EQ(memory.reads, 1);
    CHECK_EQ(r.e.ifuncs.watch.v[0].slot.n, MANY); /* which have no variant */
    finish(&r);
}

TEST(perf_ifunc_reads_no_slot_again_that_contains_a_variant)
{
    struct run r;
    size_t all;

    start(&r);
    sample(&r, PID, local("victim"));
    all = memory.asked;
    put(files.work, LIBRARY + local("work_two"));
    sample(&r, PID, local("victim") + 1);
    CHECK_EQ(memory.asked, all);
    sample(&r, PID, local("victim") + 2);
    CHECK_EQ(memory.asked, all - 1);
    CHECK(chose(&r, "work", local("work_two")));
    finish(&r);
}

TEST(perf_ifunc_finds_the_slots_of_a_module_that_is_mapped_later)
{
    struct run r;
    size_t n;

    start(&r);
    vec_clear(&r.b.record);
    pb_comm(&r.b, ++r.time, PID, PID, "ifunc", true);
    map_code(&r, PID, LIBRARY, files.library, &files.library_slots);
    sample(&r, PID, local("victim"));
    CHECK_EQ(memory.asked, 1);
    map_code(&r, PID, PROGRAM, files.program, &files.program_slots);
    put(files.work, LIBRARY + local("work_two"));
    sample(&r, PID, local("victim") + 1);
    CHECK(chose(&r, "work", local("work_two")));
    n = memory.asked;
    map_both(&r, OTHER); /* both at once: no slot was listed twice */
    sample(&r, OTHER, local("victim"));
    CHECK_EQ(memory.asked, n);
    finish(&r);
}

/* As in a program whose code at the same place of its file refers to nothing. */
TEST(perf_ifunc_takes_no_variant_from_another_file)
{
    struct run r;
    uint64_t at;

    start(&r);
    at = PROGRAM + elf_file_address(&files.program_slots.elf, local("work_two"));
    CHECK(at > PROGRAM + 0x10000);
    put(files.work, at);
    sample(&r, PID, local("victim"));
    CHECK_EQ(memory.reads, 1);
    CHECK(chose(&r, "work", 0));
    finish(&r);
}

TEST(perf_ifunc_counts_a_process_once_however_often_it_is_read)
{
    struct run r;

    start(&r);
    map_both(&r, OTHER);
    for (unsigned i = 0; i < 100; i++)
        sample(&r, PID, local("victim") + i % 32 + 64 * (i / 32));
    CHECK(memory.reads > 64);
    put(files.work, LIBRARY + local("work_two"));
    sample(&r, OTHER, local("victim"));
    CHECK(chose(&r, "work", local("work_two")));
    finish(&r);
}

TEST(perf_ifunc_looks_for_no_variants_of_a_library_with_symbols)
{
    struct run r;

    start(&r);
    vec_clear(&r.b.record);
    sym_slots_release(&files.library_slots);
    find_file("libifunc-full.so", files.library, sizeof files.library, &files.library_slots);
    map_both(&r, PID);
    sample(&r, PID, local("victim"));
    CHECK_EQ(memory.reads, 0);
    finish(&r);
}

TEST(perf_ifunc_searches_a_process_that_maps_code_all_the_time_a_limited_number_of_times)
{
    struct run r;

    start(&r);
    for (uint64_t i = 0; i < 40; i++) {
        sample(&r, PID, local("victim") + i);
        map_code(&r, PID, 2 * LIBRARY + i * LIBRARY, files.program, &files.program_slots);
    }
    CHECK_EQ(r.e.ifuncs.watch.v[0].builds, 16);
    finish(&r);
}
