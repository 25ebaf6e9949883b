/* test_col_keep.c - the code and source text that a recording stores, here of this very file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <sys/auxv.h>

#include "collect/col_keep.h"
#include "profile/profile.h"
#include "test.h"

static volatile int kept;

__attribute__((noinline)) static void dear(void)
{
    kept = 1; /* the dear line */
}

/* Lines between the functions, more than are
 * stored around a line that was measured, so that
 * the text of one does not reach the other:
 * 1
 * 2
 * 3
 * 4 the middle
 * 5
 * 6
 * 7
 * 8
 */

__attribute__((noinline)) static void cheap(void)
{
    kept = 2; /* the cheap line */
}

__attribute__((noinline)) static void unused(void)
{
    kept = 3;
}

static uint64_t address_of(void (*function)(void))
{
    return (uint64_t)(uintptr_t)function - (getauxval(AT_PHDR) - sizeof(Elf64_Ehdr));
}

/* Store what N functions with these self costs need. */
static struct profile *keep(void (*const *function)(void), const uint64_t *self, size_t n)
{
    struct profile *p = profile_new();
    struct sym_resolve names;
    struct intern in;
    char path[4096];
    struct err e = { 0 };
    struct module m = { .kind = MODULE_FILE };
    uint32_t module;

    CHECK(realpath("/proc/self/exe", path));
    intern_init(&in, profile_sink(p));
    m.path = intern_cstr(&in, path);
    module = intern_module(&in, &m);
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(intern_frame(&in, &(struct frame){ .kind = FRAME_NATIVE, .module = module,
                                                    .address = address_of(function[i]) }), i + 1);
    sym_resolve_init(&names, &in);
    sym_resolve_run(&names);
    col_keep(&(struct col_keep){ &names, self, n });
    sym_resolve_release(&names);
    CHECK_EQ(sink_end(profile_sink(p), &e), 0);
    intern_release(&in);
    return p;
}

TEST(col_keep_stores_the_code_of_expensive_functions_dearest_first)
{
    void (*const function[])(void) = { cheap, dear, unused };
    struct profile *p = keep(function, (uint64_t[]){ 30, 70, 0 }, 3);

    CHECK_EQ(p->code.n, 2);
    CHECK_EQ(p->code.v[0].address, address_of(dear));
    CHECK_EQ(p->code.v[1].address, address_of(cheap));
    CHECK(memcmp(p->code.v[0].bytes, (const void *)(uintptr_t)dear, p->code.v[0].size) == 0);
    profile_free(p);
    p = keep(function, (uint64_t[]){ 40, 960, 0 }, 3); /* nearly all cost is in one */
    CHECK_EQ(p->code.n, 1);
    profile_free(p);
}

TEST(col_keep_stores_the_lines_around_measured_ones_and_no_others)
{
    void (*const function[])(void) = { dear, cheap };
    struct profile *p = keep(function, (uint64_t[]){ 70, 30 }, 2);
    const char *text;

    CHECK_EQ(p->source.n, 1);
    text = p->source.v[0].text;
    CHECK(strstr(text, "the dear line") && strstr(text, "the cheap line"));
    CHECK(strstr(text, "static volatile int kept")); /* two lines before */
    CHECK(!strstr(text, "the middle") && !strstr(text, "SPDX"));
    CHECK(strncmp(text, "\n\n\n", 3) == 0); /* line numbers stay valid */
    profile_free(p);
}
