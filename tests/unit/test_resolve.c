/* test_resolve.c - resolve the frames of an intern to functions in its sink.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/auxv.h>

#include "base/map.h"
#include "profile/profile.h"
#include "symbol/sym_resolve.h"
#include "symbol/symbolizer.h"
#include "test.h"

static uint32_t add_module(struct intern *in, const char *path, uint32_t kind)
{
    struct module m = { .path = intern_cstr(in, path), .kind = kind };

    return intern_module(in, &m);
}

/* The name of the first location of FRAME. */
static const char *name_of(const struct profile *p, uint32_t frame)
{
    struct profile_chain c = p->chain.v[frame - 1];

    if (c.n == 0)
        return "";
    return profile_string(p, p->function.v[p->location.v[c.first].function - 1].name);
}

TEST(resolve_names_frames_and_reports_failures)
{
    struct profile *p = profile_new();
    struct intern in;
    struct sym_resolve s;
    struct frame f = { .kind = FRAME_NATIVE };
    uint32_t exe, gone, at_test, at_gone, outside;
    char path[4096];
    struct err e = { 0 };
    uint64_t bias = getauxval(AT_PHDR) - sizeof(Elf64_Ehdr);

    CHECK(realpath("/proc/self/exe", path));
    intern_init(&in, profile_sink(p));
    exe = add_module(&in, path, MODULE_FILE);
    gone = add_module(&in, "/nonexistent/libgone.so", MODULE_FILE);
    f.module = exe;
    f.flags = FRAME_RETURN;
    f.address = (uint64_t)(uintptr_t)name_of - bias + 1;
    at_test = intern_frame(&in, &f);
    f.module = gone;
    at_gone = intern_frame(&in, &f);
    f.module = 0;
    outside = intern_frame(&in, &f);
    sym_resolve_init(&s, &in);
    sym_resolve_run(&s);
    sym_resolve_modules(&s);
    CHECK(sink_end(profile_sink(p), &e) == 0);
    CHECK_STR(name_of(p, at_test), "name_of");
    CHECK_STR(name_of(p, at_gone), "[libgone.so]");
    CHECK_STR(name_of(p, outside), "");
    CHECK_EQ(sym_resolve_facts(&s, gone)->unnamed, 1);
    CHECK_EQ(sym_resolve_facts(&s, exe)->unnamed, 0);
    CHECK_STR(profile_string(p, p->module.v[0].symbols), "dwarf");
    CHECK_STR(profile_string(p, p->module.v[1].symbols), "none");
    CHECK(strstr(profile_string(p, p->module.v[1].problem), "cannot be read"));
    sym_resolve_release(&s);
    intern_release(&in);
    profile_free(p);
}

/* Resolve the frames of one module; a perf map lists its functions. */
struct resolved {
    struct profile *p;
    struct intern in;
    struct sym_resolve s;
};

static void begin(struct resolved *r, const char *map)
{
    char path[300];

    snprintf(path, sizeof path, "%s/perf-1.map", test_dir());
    test_write(path, map, strlen(map));
    r->p = profile_new();
    intern_init(&r->in, profile_sink(r->p));
    add_module(&r->in, path, MODULE_JIT);
    sym_resolve_init(&r->s, &r->in);
}

static void end(struct resolved *r)
{
    sym_resolve_release(&r->s);
    intern_release(&r->in);
    profile_free(r->p);
}

static uint32_t add_frame(struct resolved *r, uint64_t address, uint32_t flags)
{
    return intern_frame(&r->in, &(struct frame){ .kind = FRAME_NATIVE, .module = 1,
                                                 .flags = (uint16_t)flags, .address = address });
}

TEST(resolve_looks_a_return_address_up_at_its_call)
{
    struct resolved r;
    uint32_t at, from;

    begin(&r, "1000 10 first\n1010 10 second\n");
    at = add_frame(&r, 0x1010, 0);
    from = add_frame(&r, 0x1010, FRAME_RETURN); /* the call is the last instruction of first */
    sym_resolve_run(&r.s);
    CHECK_STR(name_of(r.p, at), "second");
    CHECK_STR(name_of(r.p, from), "first");
    end(&r);
}

TEST(resolve_looks_up_in_address_order_and_resolves_each_frame)
{
    struct resolved r;
    uint32_t frame[4];

    begin(&r, "1000 10 a\n2000 10 b\n3000 10 _ZN3foo3barEv\n");
    frame[0] = add_frame(&r, 0x3000, 0);
    frame[1] = add_frame(&r, 0x1000, 0);
    frame[2] = add_frame(&r, 0x5000, 0);
    frame[3] = add_frame(&r, 0x2000, 0);
    sym_resolve_run(&r.s);
    CHECK_STR(name_of(r.p, frame[0]), "foo::bar()");
    CHECK_STR(name_of(r.p, frame[1]), "a");
    CHECK_STR(name_of(r.p, frame[3]), "b");
    CHECK_STR(profile_string(r.p, r.p->function.v[r.p->location.v[r.p->chain.v[frame[0] - 1].first]
                                                      .function - 1].linkage_name),
              "_ZN3foo3barEv");
    CHECK_EQ(sym_resolve_facts(&r.s, 1)->frames, 4);
    CHECK_EQ(sym_resolve_facts(&r.s, 1)->unnamed, 1);
    end(&r);
}

TEST(resolve_counts_code_that_is_named_by_its_start)
{
    const char *folder = getenv("FATHOM_WORKLOADS");
    struct profile *p = profile_new();
    struct intern in;
    struct sym_resolve s;
    const uint64_t *starts;
    struct sym_module *m;
    char path[4096];
    size_t n;

    snprintf(path, sizeof path, "%s/lines-stripped", folder ? folder : "");
    m = sym_module_open(&(struct sym_request){ .path = path });
    starts = sym_ehframe_starts(m, &n);
    if (!starts || n < 2)
        test_skip("the workloads are not built in this variant");
    intern_init(&in, profile_sink(p));
    add_module(&in, path, MODULE_FILE);
    intern_frame(&in, &(struct frame){ .kind = FRAME_NATIVE, .module = 1,
                                       .address = starts[n - 1] });
    sym_resolve_init(&s, &in);
    sym_resolve_run(&s);
    sym_resolve_modules(&s);
    CHECK_EQ(sym_resolve_facts(&s, 1)->by_start, 1);
    CHECK_STR(profile_string(p, p->module.v[0].advice), sym_module_advice(m));
    CHECK(*sym_module_advice(m));
    CHECK_EQ(sym_resolve_facts(&s, 1)->unnamed, 0);
    CHECK(strncmp(name_of(p, 1), "fn_", 3) == 0);
    sym_module_close(m);
    sym_resolve_release(&s);
    intern_release(&in);
    profile_free(p);
}

/* A line in another file, from a macro or an included list, is not a line of the function. */
extern char two_files_place[];
__attribute__((noinline, noclone)) static int two_files(int x)
{
    x *= 3;
#line 7 "other.inc"
    __asm__ volatile(".globl two_files_place\ntwo_files_place: nop\nnop" : "+r"(x));
#line 1 "test_resolve.c"
    return x;
}

TEST(resolve_drops_lines_of_other_files)
{
    struct profile *p = profile_new();
    struct intern in;
    struct sym_resolve s;
    const struct function *f;
    uint64_t bias = getauxval(AT_PHDR) - sizeof(Elf64_Ehdr);
    struct profile_chain c;
    char path[4096];

    CHECK_EQ(two_files(2), 6);
    CHECK(realpath("/proc/self/exe", path));
    intern_init(&in, profile_sink(p));
    add_module(&in, path, MODULE_FILE);
    intern_frame(&in, &(struct frame){ .kind = FRAME_NATIVE, .module = 1,
                                       .address = (uint64_t)(uintptr_t)two_files_place - bias });
    sym_resolve_init(&s, &in);
    sym_resolve_run(&s);
    c = p->chain.v[0];
    CHECK(c.n);
    f = &p->function.v[p->location.v[c.first].function - 1];
    CHECK_STR(profile_string(p, f->name), "two_files");
    CHECK(strstr(profile_string(p, f->file), "test_resolve.c"));
    CHECK_EQ(p->location.v[c.first].line, 0);
    sym_resolve_release(&s);
    intern_release(&in);
    profile_free(p);
}
