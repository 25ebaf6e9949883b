/* test_unwind_rules.c - walk hand-made stacks with hand-made rules: each kind of rule, and each
 * way a walk ends.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "cfi/cfi_table.h"
#include "unw_build.h"

enum { CODE = 0x10000, STACK = 0x7000, WORDS = 64, MOST = 16 };
enum { AWAY = 1 }; /* an invalid frame pointer */

/* Caller's pc at CFA - 8, fp and bx unchanged. */
static struct unw_rule rule(enum unw_cfa cfa, int off, unsigned extra)
{
    return (struct unw_rule){ .cfa = (uint8_t)cfa, .cfa_off = off, .extra = (uint8_t)extra,
                              .off = { [UNW_PC] = -1 },
                              .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_CFA, UNW_AT_SAME) };
}

static struct unw_frame frames[MOST];

static enum unw_end walk(const struct unw_table *t, struct unw_regs regs, const uint64_t *words,
                         size_t *n)
{
    struct unw_space *s = cfi_space_new(UNW_X86_64);
    struct unw_stack stack = { STACK, (const unsigned char *)words, WORDS * 8 };
    enum unw_end end;

    cfi_space_map(s, CODE, CODE + 0x10000, CODE, t, 1);
    end = unw_walk(s, NULL, regs, &stack, frames, MOST, n);
    cfi_space_free(s);
    return end;
}

TEST(unwind_walk_looks_callers_up_at_their_call)
{
    /* The call is the last instruction of first: its return address is the start of second. */
    struct unw_rule rules[] = { rule(UNW_CFA_SP, 24, 0), rule(UNW_CFA_SP, 8, 0),
                                rule(UNW_CFA_SP, 8, 0) };
    struct unw_table t = unw_build_table(0, rules, (uint16_t[]){ 0x100, 0x110, 0x200 }, 3);
    uint64_t w[WORDS] = { CODE + 0x110, 0, 0, CODE + 0x208 };
    size_t n;

    CHECK_EQ(walk(&t, (struct unw_regs){ CODE + 0x205, STACK, AWAY }, w, &n), UNW_ROOT);
    CHECK_EQ(n, 3);
    CHECK_EQ(frames[1].pc, CODE + 0x110);
    CHECK_EQ(frames[2].pc, CODE + 0x208);
    CHECK_EQ(frames[2].sp, STACK + 32);
}

TEST(unwind_walk_ends_at_a_return_address_of_zero)
{
    struct unw_rule one = rule(UNW_CFA_SP, 8, 0);
    struct unw_table t = unw_build_table(0, &one, (uint16_t[]){ 0 }, 1);
    uint64_t w[WORDS] = { CODE + 0x10, 0 };
    size_t n;

    CHECK_EQ(walk(&t, (struct unw_regs){ CODE, STACK, AWAY }, w, &n), UNW_ROOT);
    CHECK_EQ(n, 2);
}

TEST(unwind_walk_refuses_a_step_that_does_not_move_the_stack)
{
    struct unw_rule rules[] = { rule(UNW_CFA_SP, 8, 0), rule(UNW_CFA_SP, 0, 0) };
    struct unw_table t;
    uint64_t w[WORDS] = { CODE + 0x110, CODE + 0x120, CODE + 0x130 };
    size_t n;

    rules[1].off[UNW_PC] = 1;
    rules[1].where = UNW_WHERE(UNW_AT_SAME, UNW_AT_SP, UNW_AT_SAME);
    t = unw_build_table(0, rules, (uint16_t[]){ 0, 0x100 }, 2);
    CHECK_EQ(walk(&t, (struct unw_regs){ CODE, STACK, AWAY }, w, &n), UNW_LOST);
    CHECK_EQ(n, 2);
}

TEST(unwind_walk_counts_the_word_that_a_linkage_entry_pushed)
{
    struct unw_rule one = rule(UNW_CFA_PLT, 8, 11);
    struct unw_table t = unw_build_table(0, &one, (uint16_t[]){ 0 }, 1);
    uint64_t w[WORDS] = { CODE + 0x10, CODE + 0x20, CODE + 0x30 };
    size_t n;

    walk(&t, (struct unw_regs){ CODE + 10, STACK, AWAY }, w, &n);
    CHECK_EQ(frames[1].pc, CODE + 0x10);
    walk(&t, (struct unw_regs){ CODE + 11, STACK, AWAY }, w, &n);
    CHECK_EQ(frames[1].pc, CODE + 0x20);
}

TEST(unwind_walk_adds_what_follows_a_loaded_address)
{
    struct unw_rule one = rule(UNW_CFA_SP_DEREF, 16, 8);
    struct unw_table t = unw_build_table(0, &one, (uint16_t[]){ 0 }, 1);
    uint64_t w[WORDS] = { 0, 0, STACK + 5 * 8, 0, 0, CODE + 0x40 };
    size_t n;

    walk(&t, (struct unw_regs){ CODE, STACK, AWAY }, w, &n);
    CHECK(n >= 2);
    CHECK_EQ(frames[1].pc, CODE + 0x40);
    CHECK_EQ(frames[1].sp, STACK + 6 * 8);
}

TEST(unwind_walk_refuses_frame_pointers_to_themselves_or_misaligned)
{
    uint64_t w[WORDS] = { 0 };
    unsigned char bytes[WORDS * 8] = { 0 };
    uint64_t caller = CODE + 0x100;
    size_t n;

    w[4] = STACK + 4 * 8;
    w[5] = CODE + 0x100;
    CHECK_EQ(walk(NULL, (struct unw_regs){ CODE, STACK, STACK + 4 * 8 }, w, &n), UNW_BARE);
    CHECK_EQ(n, 1);
    memcpy(bytes + 4 * 8 + 4 + 8, &caller, 8); /* a saved fp of 0 and a caller, but misaligned */
    memcpy(w, bytes, sizeof w);
    CHECK_EQ(walk(NULL, (struct unw_regs){ CODE, STACK, STACK + 4 * 8 + 4 }, w, &n), UNW_BARE);
    CHECK_EQ(n, 1);
}

TEST(unwind_walk_does_not_take_a_zero_below_a_leaf_for_the_root)
{
    uint64_t w[WORDS] = { 0 };
    size_t n;

    CHECK_EQ(walk(NULL, (struct unw_regs){ CODE, STACK, AWAY }, w, &n), UNW_BARE);
    CHECK_EQ(n, 1);
}

/* The bytes of a complete table with two pages of two rows each. */
static struct buf stored_table(void)
{
    struct unw_header h = { .magic = UNW_TABLE_MAGIC, .version = UNW_TABLE_VERSION, .key = 7,
                            .arch = UNW_X86_64, .n_rules = 2, .n_pages = 2, .n_rows = 4 };
    struct unw_rule rules[] = { { 0 }, rule(UNW_CFA_SP, 8, 0) };
    uint32_t pages[] = { 0, 2, 4 };
    struct unw_row rows[] = { { 0, 1 }, { 16, 0 }, { 0, 1 }, { 16, 0 } };
    struct buf b = { 0 };

    buf_add(&b, &h, sizeof h);
    buf_add(&b, rules, sizeof rules);
    buf_add(&b, pages, sizeof pages);
    buf_add(&b, rows, sizeof rows);
    return b;
}

static bool is_taken(struct buf *b, uint64_t key)
{
    struct unw_header *h = (void *)b->data;
    struct unw_body body;

    h->checksum = unw_table_checksum(b->data, b->n);
    return unw_table_check(&body, b->data, b->n, key);
}

TEST(unwind_table_refuses_invalid_cache_files)
{
    struct buf b = stored_table();
    struct unw_rule *rules = (void *)(b.data + sizeof(struct unw_header));
    uint32_t *pages = (void *)(rules + 2);

    CHECK(is_taken(&b, 7));
    CHECK(!is_taken(&b, 8));
    pages[0] = 3; /* one past the start of the next */
    CHECK(!is_taken(&b, 7));
    pages[0] = 0;
    pages[2] = 5; /* more rows than exist */
    CHECK(!is_taken(&b, 7));
    pages[2] = 4;
    rules[1].cfa = UNW_CFA_KINDS;
    CHECK(!is_taken(&b, 7));
    rules[1].cfa = UNW_CFA_SP;
    rules[1].where = UNW_WHERE(UNW_AT_KINDS, UNW_AT_CFA, UNW_AT_SAME);
    CHECK(!is_taken(&b, 7));
    rules[1].where = UNW_WHERE(UNW_AT_SAME, UNW_AT_CFA, UNW_AT_SAME);
    CHECK(is_taken(&b, 7));
    buf_release(&b);
}
