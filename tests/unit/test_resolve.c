/* test_resolve.c - frames of an intern become functions of its sink.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/auxv.h>

#include "profile/profile.h"
#include "symbol/sym_resolve.h"
#include "symbol/symbolizer.h"
#include "test.h"

static uint32_t add_module(struct intern *in, const char *path, uint32_t kind)
{
    struct module m = { .path = intern_cstr(in, path), .kind = kind };

    return intern_module(in, &m);
}

/* Name of the first location of FRAME. */
static const char *name_of(const struct profile *p, uint32_t frame)
{
    struct profile_chain c = p->chain.v[frame - 1];

    if (c.n == 0)
        return "";
    return profile_string(p, p->function.v[p->location.v[c.first].function - 1].name);
}

TEST(resolve_names_frames_and_tells_what_it_could_not)
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
    sym_resolve_meta(&s);
    CHECK(sink_end(profile_sink(p), &e) == 0);
    CHECK_STR(name_of(p, at_test), "name_of");
    CHECK_STR(name_of(p, at_gone), "[libgone.so]");
    CHECK_STR(name_of(p, outside), "");
    CHECK_EQ(sym_resolve_facts(&s, gone)->unnamed, 1);
    CHECK_EQ(sym_resolve_facts(&s, exe)->unnamed, 0);
    CHECK_STR(profile_meta(p, "symbols.1.source"), "dwarf");
    CHECK_STR(profile_meta(p, "symbols.2.source"), "none");
    CHECK(strstr(profile_meta(p, "symbols.2.problem"), "cannot be read"));
    sym_resolve_release(&s);
    intern_release(&in);
    profile_free(p);
}
