/* test_unwind_calls.c - what may be a return address, and where a walk may end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "cfi/cfi.h"
#include "unw_build.h"
#include "unwind/unw_machine.h"

static bool follows(const struct unw_machine *m, const unsigned char *code, size_t n,
                    int64_t *target)
{
    return m->follows_call(code + n, n, target);
}

TEST(unwind_recognizes_every_form_of_a_call)
{
    static const struct {
        size_t n;
        unsigned char code[UNW_CALL_BYTES];
    } forms[] = {
        { 2, { 0xff, 0xd0 } },                                   /* call *%rax */
        { 3, { 0x41, 0xff, 0xd3 } },                             /* call *%r11 */
        { 2, { 0xff, 0x13 } },                                   /* call *(%rbx) */
        { 3, { 0xff, 0x14, 0xc8 } },                             /* call *(%rax,%rcx,8) */
        { 3, { 0xff, 0x53, 0x10 } },                             /* call *16(%rbx) */
        { 4, { 0xff, 0x54, 0x24, 0x08 } },                       /* call *8(%rsp) */
        { 6, { 0xff, 0x15, 1, 2, 3, 4 } },                       /* call *rel(%rip) */
        { 6, { 0xff, 0x93, 1, 2, 0, 0 } },                       /* call *disp32(%rbx) */
        { 7, { 0xff, 0x94, 0x24, 1, 2, 0, 0 } },                 /* call *disp32(%rsp) */
        { 7, { 0xff, 0x14, 0xc5, 1, 2, 0, 0 } },                 /* call *disp32(,%rax,8) */
    };
    static const struct {
        size_t n;
        unsigned char code[UNW_CALL_BYTES];
    } others[] = {
        { 2, { 0xff, 0xe0 } },                                   /* jmp *%rax */
        { 6, { 0xff, 0x25, 1, 2, 3, 4 } },                       /* jmp *rel(%rip) */
        { 2, { 0xff, 0x1b } },                                   /* lcall *(%rbx) */
        { 2, { 0xff, 0xc0 } },                                   /* inc %eax */
        { 2, { 0xff, 0xf0 } },                                   /* push %rax */
        { 5, { 0xe9, 1, 2, 3, 4 } },                             /* jmp */
        { 1, { 0xc3 } },
        { 7, { 'h', 'e', 'l', 'l', 'o', ' ', 'w' } },
        { 3, { 0xff, 0x15, 1 } },                                /* its displacement is missing */
        { 0, { 0 } },
    };
    int64_t target = 1;

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        CHECK(follows(&unw_x86_64, forms[i].code, forms[i].n, &target));
        CHECK_EQ(target, 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        CHECK(!follows(&unw_x86_64, others[i].code, others[i].n, &target));
    CHECK(follows(&unw_x86_64, (const unsigned char[]){ 0xe8, 0xf0, 0xff, 0xff, 0xff }, 5, &target));
    CHECK_EQ(target, -16);
}

TEST(unwind_recognizes_the_calls_of_aarch64)
{
    static const uint32_t bl_back = 0x97fffffe, bl = 0x94000010, blr = 0xd63f0120,
                          blraa = 0xd73f0a9f, b = 0x14000010, ret = 0xd65f03c0, none = 0xd63f0121;
    int64_t target;

    CHECK(follows(&unw_aarch64, (const void *)&bl_back, 4, &target));
    CHECK_EQ(target, -8 - 4);
    CHECK(follows(&unw_aarch64, (const void *)&bl, 4, &target));
    CHECK_EQ(target, 0x40 - 4);
    CHECK(follows(&unw_aarch64, (const void *)&blr, 4, &target));
    CHECK_EQ(target, 0);
    CHECK(follows(&unw_aarch64, (const void *)&blraa, 4, &target));
    CHECK(!follows(&unw_aarch64, (const void *)&b, 4, &target));
    CHECK(!follows(&unw_aarch64, (const void *)&ret, 4, &target));
    CHECK(!follows(&unw_aarch64, (const void *)&none, 4, &target));
    CHECK(!follows(&unw_aarch64, (const void *)&blr, 3, &target));
}

/* --- walks in code whose bytes are known --- */

enum { CODE = 0x10000, JIT = 0x30000, STACK = 0x7000, WORDS = 32, MOST = 8 };

static unsigned char bytes[0x1000]; /* at CODE */
static unsigned reads;

static bool read_code(const struct unw_table *t, uint64_t address, void *to, size_t n)
{
    if (address < CODE || address - CODE > sizeof bytes - n)
        return false;
    memcpy(to, bytes + (address - CODE), n);
    reads++;
    return true;
}

/* The rules of the test's module: rule I + 1 applies from AT[I] on. */
static struct unw_table table_of(const struct unw_rule *rules, const uint16_t *at, size_t n)
{
    struct unw_table t = unw_build_table(CODE, rules, at, n);

    t.code = read_code;
    return t;
}

static struct unw_rule analysed(int cfa_off)
{
    return (struct unw_rule){ .cfa = UNW_CFA_SP, .cfa_off = cfa_off, .flags = UNW_RULE_ANALYSED,
                              .off = { [UNW_PC] = -1 },
                              .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_CFA, UNW_AT_SAME) };
}

static struct unw_rule root(void)
{
    return (struct unw_rule){ .flags = UNW_RULE_ANALYSED,
                              .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_ROOT, UNW_AT_SAME) };
}

static void call_at(uint64_t address, int32_t to)
{
    unsigned char *p = bytes + (address - 5 - CODE);

    p[0] = 0xe8;
    memcpy(p + 1, &to, sizeof to);
}

static struct unw_frame frames[MOST];

static enum unw_end walk(struct unw_space *s, struct unw_cache *cache, struct unw_regs regs,
                         const uint64_t *words, size_t *n)
{
    struct unw_stack stack = { STACK, (const unsigned char *)words, WORDS * 8 };

    return unw_walk(s, cache, regs, &stack, frames, MOST, n);
}

static struct unw_space *space_of(const struct unw_table *t)
{
    struct unw_space *s = cfi_space_new(UNW_X86_64);

    memset(bytes, 0x90, sizeof bytes);
    cfi_space_map(s, CODE, CODE + sizeof bytes, 0, t, 1);
    cfi_space_map(s, JIT, JIT + 0x1000, 0, NULL, 2);
    return s;
}

TEST(unwind_walk_believes_an_analysed_rule_only_behind_a_call)
{
    struct unw_rule rules[] = { analysed(8), root() };
    struct unw_table t = table_of(rules, (uint16_t[]){ 0, 0x800 }, 2);
    struct unw_space *s = space_of(&t);
    uint64_t w[WORDS] = { CODE + 0x100, CODE + 0x810 };
    struct unw_regs regs = { CODE + 0x10, STACK, STACK };
    size_t n;

    CHECK_EQ(walk(s, NULL, regs, w, &n), UNW_LOST);
    CHECK_EQ(n, 1);
    call_at(CODE + 0x100, -0xf0);
    CHECK_EQ(walk(s, NULL, regs, w, &n), UNW_ROOT); /* a root may be entered without a call */
    CHECK_EQ(n, 3);
    call_at(CODE + 0x100, 0x7000000); /* to where nothing is mapped */
    CHECK_EQ(walk(s, NULL, regs, w, &n), UNW_LOST);
    CHECK_EQ(n, 1);
    cfi_space_free(s);
}

TEST(unwind_walk_reads_the_code_of_a_return_address_once)
{
    struct unw_rule rules[] = { analysed(8), root() };
    struct unw_table t = table_of(rules, (uint16_t[]){ 0, 0x800 }, 2);
    struct unw_space *s = space_of(&t);
    struct unw_cache *cache = cfi_cache_new();
    uint64_t w[WORDS] = { CODE + 0x100, CODE + 0x810 };
    struct unw_regs regs = { CODE + 0x10, STACK, STACK };
    size_t n;

    call_at(CODE + 0x100, -0xf0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(walk(s, cache, regs, w, &n), UNW_ROOT);
    CHECK_EQ(reads, 1);
    cfi_cache_free(cache);
    cfi_space_free(s);
}

TEST(unwind_walk_does_not_take_a_zero_for_the_end_by_an_analysed_rule)
{
    struct unw_rule one = analysed(8);
    struct unw_table t = table_of(&one, (uint16_t[]){ 0 }, 1);
    struct unw_space *s = space_of(&t);
    uint64_t w[WORDS] = { 0 };
    size_t n;

    CHECK_EQ(walk(s, NULL, (struct unw_regs){ CODE + 0x10, STACK, 0 }, w, &n), UNW_LOST);
    CHECK_EQ(n, 1);
    cfi_space_free(s);
}

/* rbp still points to the frame of the caller's caller, or is zero: neither says where this
 * function was called from. */
TEST(unwind_walk_follows_no_frame_pointer_in_a_module_without_rules)
{
    struct unw_table t = table_of(NULL, NULL, 0);
    struct unw_space *s = space_of(&t);
    uint64_t w[WORDS] = { CODE + 0x100, 0, STACK + 64, CODE + 0x200 };
    size_t n;

    call_at(CODE + 0x100, -0xf0);
    call_at(CODE + 0x200, -0xf0);
    CHECK_EQ(walk(s, NULL, (struct unw_regs){ CODE + 0x10, STACK, STACK + 16 }, w, &n), UNW_BARE);
    CHECK_EQ(n, 1);
    CHECK_EQ(walk(s, NULL, (struct unw_regs){ CODE + 0x10, STACK, 0 }, w, &n), UNW_BARE);
    CHECK_EQ(n, 1);
    cfi_space_free(s);
}

TEST(unwind_walk_leaves_generated_code_only_behind_a_call)
{
    struct unw_rule rules[] = { analysed(8), root() };
    struct unw_table t = table_of(rules, (uint16_t[]){ 0, 0x800 }, 2);
    struct unw_space *s = space_of(&t);
    uint64_t w[WORDS] = { 7, 7, 0, CODE + 0x100, CODE + 0x810 };
    struct unw_regs regs = { JIT + 5, STACK, STACK + 16 };
    size_t n;

    CHECK_EQ(walk(s, NULL, regs, w, &n), UNW_BARE);
    CHECK_EQ(n, 1);
    call_at(CODE + 0x100, JIT - CODE - 0x100);
    CHECK_EQ(walk(s, NULL, regs, w, &n), UNW_ROOT);
    CHECK_EQ(n, 3);
    CHECK_EQ(frames[1].pc, CODE + 0x100);
    cfi_space_free(s);
}

TEST(unwind_takes_only_what_follows_a_call_for_a_return_address)
{
    struct unw_rule rules[] = { analysed(8), root() };
    struct unw_table t = table_of(rules, (uint16_t[]){ 0, 0x800 }, 2);
    struct unw_space *s = space_of(&t);

    call_at(CODE + 0x100, -0xf0);
    CHECK(unw_is_return(s, CODE + 0x100));
    CHECK(!unw_is_return(s, CODE + 0x101));
    CHECK(!unw_is_return(s, CODE));
    CHECK(!unw_is_return(s, CODE + 1));
    CHECK(unw_is_return(s, CODE + 0x810));  /* in a root */
    CHECK(unw_is_return(s, JIT + 0x10));    /* generated code: its bytes are not known */
    CHECK(!unw_is_return(s, 0x66252073));
    cfi_space_map(s, 2 * CODE, 2 * CODE + sizeof bytes, CODE, &t, 1); /* loaded elsewhere too */
    CHECK(unw_is_return(s, 2 * CODE + 0x100));
    CHECK(!unw_is_return(s, 2 * CODE + 0x101));
    cfi_space_free(s);
}

TEST(unwind_knows_which_functions_keep_a_frame_pointer)
{
    struct unw_rule rules[] = { analysed(8), unw_x86_64.fp_chain, unw_x86_64.fp_chain,
                                unw_x86_64.fp_chain };
    struct unw_table t;
    struct unw_space *s;

    rules[2].cfa_off += 8; /* the frame pointer is below another register */
    rules[3].off[UNW_FP]--;
    t = table_of(rules, (uint16_t[]){ 0, 0x800, 0x900, 0xa00 }, 4);
    s = space_of(&t);
    CHECK(!unw_keeps_frame(s, CODE + 0x10));
    CHECK(unw_keeps_frame(s, CODE + 0x810));
    CHECK(!unw_keeps_frame(s, CODE + 0x910));
    CHECK(!unw_keeps_frame(s, CODE + 0xa10));
    CHECK(unw_keeps_frame(s, JIT + 0x10));
    CHECK(!unw_keeps_frame(s, 0x66252073));
    cfi_space_free(s);
}

TEST(unwind_finds_a_return_address_at_the_end_of_the_code)
{
    struct unw_rule one = analysed(8);
    struct unw_table t = table_of(&one, (uint16_t[]){ 0 }, 1);
    struct unw_space *s = space_of(&t);

    call_at(CODE + sizeof bytes, -0x100); /* to a function that does not return */
    CHECK(unw_is_return(s, CODE + sizeof bytes));
    CHECK(!unw_is_return(s, CODE + sizeof bytes - 1));
    CHECK(!unw_is_return(s, CODE)); /* nothing before it */
    cfi_space_free(s);
}

TEST(unwind_walk_calls_a_stack_cut_only_if_the_frame_pointer_is_near)
{
    enum { FAR = 8 << 20, END = STACK + WORDS * 8 };
    struct unw_space *s = space_of(NULL);
    uint64_t w[WORDS] = { 0 };
    size_t n;

    CHECK_EQ(walk(s, NULL, (struct unw_regs){ JIT + 1, STACK, END - 8 }, w, &n), UNW_CUT);
    CHECK_EQ(walk(s, NULL, (struct unw_regs){ JIT + 1, STACK, END + FAR - 8 }, w, &n), UNW_CUT);
    CHECK_EQ(walk(s, NULL, (struct unw_regs){ JIT + 1, STACK, END + FAR }, w, &n), UNW_BARE);
    cfi_space_free(s);
}
