/* test_cfi_flow.c - what a function's registers and stack hold, instruction by instruction.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_flow.h"
#include "test.h"

enum { RAX, RCX, RDX, R10 = 10, R12 = 12, NONE = DISASM_NO_REGISTER, FRAME_MAX = 1 << 28 };

static struct flow_state s;

static void enter(void)
{
    flow_enter(&s, false);
}

static void step(struct disasm_effect e)
{
    flow_step(&s, &e);
}

static void push(int reg)
{
    step((struct disasm_effect){ .op = DISASM_PUSH, .reg = (uint8_t)reg, .value = 8 });
}

static void set(int reg, int base, int64_t value)
{
    step((struct disasm_effect){ .op = DISASM_SET, .reg = (uint8_t)reg, .base = (uint8_t)base,
                                 .value = value });
}

static void add(int reg, int base)
{
    step((struct disasm_effect){ .op = DISASM_ADD, .reg = (uint8_t)reg, .base = (uint8_t)base });
}

static void store(int stored, int base, int at, int size)
{
    step((struct disasm_effect){ .op = DISASM_PLAIN, .stored = (uint8_t)stored,
                                 .store_base = (uint8_t)base, .store_at = at,
                                 .store_size = (uint8_t)size });
}

/* An instruction that writes REG. */
static void change(int reg)
{
    step((struct disasm_effect){ .op = DISASM_PLAIN, .stored = NONE, .store_base = NONE,
                                 .writes = (uint16_t)(1 << reg) });
}

static void align(void)
{
    step((struct disasm_effect){ .op = DISASM_ALIGN, .reg = FLOW_RSP, .value = -32 });
}

static void check_cfa(enum unw_cfa cfa, int off)
{
    struct unw_rule r = flow_rule(&s);

    CHECK_EQ(r.cfa, cfa);
    CHECK_EQ(r.cfa_off, off);
}

static void check_column(enum unw_column column, enum unw_where where, int off)
{
    struct unw_rule r = flow_rule(&s);

    CHECK_EQ(unw_rule_at(&r, column), where);
    CHECK_EQ(unw_rule_off(&r, column), off);
}

TEST(flow_loses_a_stack_pointer_that_is_farther_than_any_frame)
{
    enter();
    set(FLOW_RSP, FLOW_RSP, 8 - FRAME_MAX);
    check_cfa(UNW_CFA_SP, FRAME_MAX);
    set(FLOW_RSP, FLOW_RSP, -8);
    check_cfa(UNW_CFA_NONE, 0);
    enter();
    set(FLOW_RSP, FLOW_RSP, FRAME_MAX + 16);
    check_cfa(UNW_CFA_NONE, 0);
    enter();
    set(FLOW_RSP, FLOW_RSP, INT64_MIN);
    check_cfa(UNW_CFA_NONE, 0);
}

TEST(flow_keeps_no_number_of_more_than_32_bits)
{
    enter();
    set(RAX, NONE, -16);
    add(FLOW_RSP, RAX);
    check_cfa(UNW_CFA_SP, 24);
    set(RAX, NONE, (int64_t)1 << 32);
    add(FLOW_RSP, RAX);
    check_cfa(UNW_CFA_NONE, 0);
}

TEST(flow_forgets_a_saved_register_where_memory_is_written_and_not_beside_it)
{
    for (int at = -8; at <= 8; at++) {
        enter();
        push(FLOW_RBP); /* at the stack pointer */
        change(FLOW_RBP);
        store(NONE, FLOW_RSP, at, 8);
        if (at == -8 || at == 8)
            check_column(UNW_FP, UNW_AT_CFA, -16);
        else
            check_column(UNW_FP, UNW_AT_UNKNOWN, 0);
    }
    enter();
    push(FLOW_RBP);
    change(FLOW_RBP);
    store(NONE, FLOW_RSP, 4, 0); /* writes no memory */
    check_column(UNW_FP, UNW_AT_CFA, -16);
}

TEST(flow_takes_only_whole_words_for_saved_registers)
{
    enter();
    for (int i = 0; i < 4; i++)
        step((struct disasm_effect){ .op = DISASM_PUSH, .reg = FLOW_RBP, .value = 2 });
    change(FLOW_RBP);
    check_cfa(UNW_CFA_SP, 16);
    check_column(UNW_FP, UNW_AT_UNKNOWN, 0);
    enter();
    push(FLOW_RBP);
    step((struct disasm_effect){ .op = DISASM_POP, .reg = FLOW_RBP, .value = 2 });
    check_cfa(UNW_CFA_SP, 14);
    check_column(UNW_FP, UNW_AT_UNKNOWN, 0);
}

TEST(flow_makes_room_for_saved_registers_among_words_below_the_stack_pointer)
{
    enter();
    for (int i = 0; i < FLOW_SLOTS; i++)
        push(FLOW_RBX);
    store(FLOW_RBP, FLOW_RSP, 8 * FLOW_SLOTS + 8, 8); /* no room */
    set(FLOW_RSP, FLOW_RSP, 8);
    store(FLOW_RBP, FLOW_RSP, 8 * FLOW_SLOTS, 8); /* one word is gone */
    change(FLOW_RBP);
    check_column(UNW_FP, UNW_AT_CFA, 0);
}

TEST(flow_keeps_the_word_at_the_stack_pointer)
{
    enter();
    for (int i = 1; i < FLOW_SLOTS; i++)
        push(FLOW_RBX);
    push(FLOW_RBP);
    store(FLOW_RBX, FLOW_RSP, 8 * FLOW_SLOTS + 8, 8); /* no room */
    change(FLOW_RBP);
    check_column(UNW_FP, UNW_AT_CFA, -8 * FLOW_SLOTS - 8);
}

TEST(flow_takes_no_frame_pointer_that_is_kept_for_a_root)
{
    enter();
    step((struct disasm_effect){ .op = DISASM_SYSCALL });
    set(FLOW_RBP, NONE, 0);
    check_column(UNW_PC, UNW_AT_ROOT, 0);
    enter();
    step((struct disasm_effect){ .op = DISASM_SYSCALL });
    set(R12, FLOW_RBP, 0);
    set(FLOW_RBP, NONE, 0);
    check_column(UNW_PC, UNW_AT_CFA, -8);
}

TEST(flow_adds_the_entry_of_a_jump_table_to_its_own_table_only)
{
    for (int table = 100; table <= 200; table += 100) {
        enter();
        set(RDX, NONE, 100);
        step((struct disasm_effect){ .op = DISASM_TABLE, .reg = RAX, .base = RDX, .index = RCX,
                                     .scale = 4 });
        step((struct disasm_effect){ .op = DISASM_EXTEND, .reg = RAX, .base = RAX });
        CHECK_EQ(s.reg[RAX].kind, FLOW_OFFSET);
        set(RCX, NONE, table);
        if (table == 100)
            add(RAX, RCX);
        else
            add(RCX, RAX);
        CHECK_EQ(s.reg[table == 100 ? RAX : RCX].kind,
                 table == 100 ? FLOW_TARGET : FLOW_UNKNOWN);
    }
    enter();
    set(RCX, NONE, 200);
    set(RDX, NONE, 100);
    step((struct disasm_effect){ .op = DISASM_TABLE, .reg = RAX, .base = RDX, .index = RCX,
                                 .scale = 4 });
    add(RAX, RCX);
    CHECK_EQ(s.reg[RAX].kind, FLOW_UNKNOWN);
}

TEST(flow_extends_no_address)
{
    enter();
    set(RAX, FLOW_RSP, 0);
    step((struct disasm_effect){ .op = DISASM_EXTEND, .reg = RAX, .base = RAX });
    CHECK_EQ(s.reg[RAX].kind, FLOW_UNKNOWN);
}

TEST(flow_knows_the_bound_of_a_jump_table_until_a_call)
{
    static const struct { int64_t value; int32_t bound; } limits[] = {
        { 0, 1 }, { 4095, 4096 }, { 4096, 0 }, { -1, 0 } };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        enter();
        step((struct disasm_effect){ .op = DISASM_LIMIT, .reg = RAX, .value = limits[i].value });
        CHECK_EQ(s.bound, limits[i].bound);
    }
    step((struct disasm_effect){ .op = DISASM_LIMIT, .reg = RAX, .value = 3 });
    set(RDX, FLOW_RSP, 0);
    set(R12, FLOW_RSP, 0);
    step((struct disasm_effect){ .op = DISASM_GO, .kind = DISASM_CALL });
    CHECK_EQ(s.bound, 0);
    CHECK_EQ(s.reg[RDX].kind, FLOW_UNKNOWN);
    CHECK_EQ(s.reg[R12].kind, FLOW_CFA); /* preserved by a call */
}

TEST(flow_keeps_where_paths_meet_what_holds_on_both)
{
    struct flow_state other;

    enter();
    CHECK_EQ(flow_merge(&s, &s, false), FLOW_SAME);
    s.bound = 5;
    other = s;
    other.bound = 6;
    CHECK_EQ(flow_merge(&s, &other, false), FLOW_CHANGED);
    CHECK_EQ(s.bound, 0);
    s.root = s.in_syscall = true;
    other = s;
    CHECK_EQ(flow_merge(&s, &other, false), FLOW_SAME);
    other.root = false;
    CHECK_EQ(flow_merge(&s, &other, false), FLOW_CHANGED);
    CHECK(!s.root && s.in_syscall);
    other.in_syscall = false;
    CHECK_EQ(flow_merge(&s, &other, false), FLOW_CHANGED);
    CHECK(!s.in_syscall);
    other.aligned = true; /* defined on one path: another meaning is not given to it */
    flow_merge(&s, &other, false);
    CHECK(s.aligned);
}

TEST(flow_is_not_sure_that_a_function_returns_with_an_unknown_stack)
{
    enter();
    CHECK_EQ(flow_returns(&s), FLOW_RETURNS);
    change(FLOW_RSP);
    CHECK_EQ(flow_returns(&s), FLOW_UNSURE);
}

TEST(flow_has_no_place_for_a_register_that_a_rule_cannot_express)
{
    static const struct { int at; enum unw_where where; } places[] = {
        { -8 * 32768, UNW_AT_CFA }, { -8 * 32769, UNW_AT_UNKNOWN }, { -20, UNW_AT_UNKNOWN } };

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        enter();
        set(FLOW_RSP, FLOW_RSP, -8 * 40000);
        store(FLOW_RBP, FLOW_RSP, 8 * 40001 + places[i].at, 8);
        change(FLOW_RBP);
        check_column(UNW_FP, places[i].where, places[i].where == UNW_AT_CFA ? places[i].at : 0);
    }
}

TEST(flow_finds_registers_relative_to_an_aligned_stack)
{
    enter();
    set(R10, FLOW_RSP, 24); /* CFA + 16 */
    align();
    push(FLOW_RBP);
    push(FLOW_RBX);
    set(FLOW_RBP, FLOW_RSP, 0);
    push(RAX);
    change(FLOW_RBX);
    check_cfa(UNW_CFA_R10, -16);
    check_column(UNW_FP, UNW_AT_FP, 8);
    check_column(UNW_BX, UNW_AT_FP, 0);
    change(FLOW_RBP);
    check_column(UNW_FP, UNW_AT_SP, 16);
    check_column(UNW_BX, UNW_AT_SP, 8);
    set(FLOW_RBX, R10, -40); /* CFA - 24 */
    change(R10);
    check_cfa(UNW_CFA_BX, 24);
}

TEST(flow_believes_a_frame_pointer_only_with_the_saved_one_below_the_return_address)
{
    enter();
    push(FLOW_RBP);
    set(FLOW_RBP, FLOW_RSP, 0);
    push(RAX);
    check_cfa(UNW_CFA_FP, 16);
    store(NONE, FLOW_RBP, 0, 8); /* the saved one is overwritten */
    check_cfa(UNW_CFA_SP, 24);
    enter();
    push(RAX);
    push(FLOW_RBP);
    set(FLOW_RBP, FLOW_RSP, 0);
    check_cfa(UNW_CFA_SP, 24);
}

TEST(flow_finds_no_cfa_in_a_word_below_the_stack_pointer)
{
    for (int at = -8; at <= 0; at += 8) {
        enter();
        set(RAX, FLOW_RSP, 0);
        align();
        store(RAX, FLOW_RSP, at, 8);
        change(RAX);
        check_cfa(at ? UNW_CFA_NONE : UNW_CFA_SP_DEREF, 0);
    }
}
