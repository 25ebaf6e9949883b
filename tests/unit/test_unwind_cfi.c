/* test_unwind_cfi.c - hand-made call-frame information: every kind of instruction, encodings,
 * damaged input, and the resulting table.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "cfi/cfi_read.h"
#include "cfi/cfi_table.h"

enum { CODE = 0x10000, CODE_END = 0x400000, SECTION = 0x500000 };

static struct buf section;

/* One entry: LENGTH, then BODY. */
static size_t entry(const struct buf *body)
{
    size_t at = section.n;

    buf_u32(&section, (uint32_t)body->n);
    buf_add(&section, body->data, body->n);
    return at;
}

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* code factor 1, data factor -8, return column 16; AUGMENTATION data after the letters. */
static size_t cie(const char *letters, const uint8_t *augmentation, size_t n,
                  const uint8_t *ops, size_t n_ops)
{
    struct buf b = { 0 };
    size_t at;

    buf_u32(&b, 0);
    buf_u8(&b, 1);
    buf_add(&b, letters, strlen(letters) + 1);
    buf_uleb(&b, 1);
    buf_u8(&b, 0x78); /* -8 */
    buf_u8(&b, 16);
    if (letters[0] == 'z')
        buf_uleb(&b, n);
    buf_add(&b, augmentation, n);
    buf_add(&b, ops, n_ops);
    at = entry(&b);
    buf_release(&b);
    return at;
}

/* rsp+8, return address at cfa-8, addresses absolute and 8 bytes long */
static size_t plain_cie(void)
{
    return cie("zR", BYTES(0x00), BYTES(0x0c, 7, 8, 0x90, 1));
}

static void fde(size_t cie_at, uint64_t start, uint64_t size, const uint8_t *ops, size_t n)
{
    struct buf b = { 0 };

    buf_u32(&b, (uint32_t)(section.n + 4 - cie_at));
    buf_u64(&b, start);
    buf_u64(&b, size);
    buf_uleb(&b, 0);
    buf_add(&b, ops, n);
    entry(&b);
    buf_release(&b);
}

static struct cfi_elf elf_of_section(bool is_eh)
{
    struct cfi_elf elf = { .machine = &unw_x86_64, .file.n_segments = 1 };
    struct cfi_section s = { section.data, section.n, SECTION };

    elf.file.segment[0] = (struct elf_segment){ 0, CODE_END - CODE, CODE, CODE_END - CODE, true };
    *(is_eh ? &elf.eh_frame : &elf.debug_frame) = s;
    return elf;
}

static struct unw_body compile(bool is_eh)
{
    static struct unw_body made; /* static, so that the leak detector does not report it */
    struct cfi_elf elf = elf_of_section(is_eh);

    cfi_compile(&made, &elf);
    return made;
}

/* The rule at ADDRESS; all zero if there is none. */
static struct unw_rule at(const struct unw_body *b, uint64_t address)
{
    const struct unw_row *row = unw_body_row(b, address);

    return row ? b->rules[row->rule] : (struct unw_rule){ 0 };
}

static void check_rule(struct unw_rule r, enum unw_cfa cfa, int cfa_off, enum unw_where fp,
                       int fp_off)
{
    CHECK_EQ(r.cfa, cfa);
    CHECK_EQ(r.cfa_off, cfa_off);
    CHECK_EQ(unw_rule_at(&r, UNW_FP), fp);
    CHECK_EQ(unw_rule_off(&r, UNW_FP), fp_off);
}

/* One FDE of 0x100 bytes at CODE with OPS. */
static struct unw_body one(const uint8_t *ops, size_t n)
{
    fde(plain_cie(), CODE, 0x100, ops, n);
    return compile(true);
}

TEST(unwind_cfi_follows_push_and_mov)
{
    /* push %rbp; mov %rsp,%rbp; ... leave; ret */
    struct unw_body b = one(BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x20, 0x0c, 7, 8,
                                  0xc6));

    check_rule(at(&b, CODE), UNW_CFA_SP, 8, UNW_AT_SAME, 0);
    check_rule(at(&b, CODE + 1), UNW_CFA_SP, 16, UNW_AT_CFA, -16);
    check_rule(at(&b, CODE + 3), UNW_CFA_SP, 16, UNW_AT_CFA, -16);
    check_rule(at(&b, CODE + 4), UNW_CFA_FP, 16, UNW_AT_CFA, -16);
    check_rule(at(&b, CODE + 0x23), UNW_CFA_FP, 16, UNW_AT_CFA, -16);
    check_rule(at(&b, CODE + 0x24), UNW_CFA_SP, 8, UNW_AT_SAME, 0);
    check_rule(at(&b, CODE + 0xff), UNW_CFA_SP, 8, UNW_AT_SAME, 0);
    CHECK_EQ(at(&b, CODE + 0x100).cfa, UNW_CFA_NONE);
    CHECK_EQ(at(&b, CODE - 1).cfa, UNW_CFA_NONE);
}

TEST(unwind_cfi_advances_by_one_two_four_and_eight_bytes)
{
    fde(plain_cie(), CODE, 0x30000,
        BYTES(0x02, 0x10, 0x0e, 16, 0x03, 0x00, 0x01, 0x0e, 24, 0x04, 0, 0, 1, 0, 0x0e, 32, 0x1d,
              0, 0, 1, 0, 0, 0, 0, 0, 0x0e, 40));
    struct unw_body b = compile(true);

    CHECK_EQ(at(&b, CODE + 0xf).cfa_off, 8);
    CHECK_EQ(at(&b, CODE + 0x10).cfa_off, 16);
    CHECK_EQ(at(&b, CODE + 0x10f).cfa_off, 16);
    CHECK_EQ(at(&b, CODE + 0x110).cfa_off, 24);
    CHECK_EQ(at(&b, CODE + 0x10110).cfa_off, 32);
    CHECK_EQ(at(&b, CODE + 0x20110).cfa_off, 40);
    CHECK_EQ(at(&b, CODE + 0x2ffff).cfa_off, 40);
    CHECK_EQ(at(&b, CODE + 0x30000).cfa, UNW_CFA_NONE);
}

TEST(unwind_cfi_remembers_and_restores_state)
{
    struct unw_body b = one(BYTES(0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x41, 0x0e, 8, 0xc6, 0x41, 0x0b));

    check_rule(at(&b, CODE + 2), UNW_CFA_SP, 8, UNW_AT_SAME, 0);
    check_rule(at(&b, CODE + 3), UNW_CFA_SP, 16, UNW_AT_CFA, -16);
}

TEST(unwind_cfi_reads_extended_and_signed_forms)
{
    struct unw_body b = one(BYTES(0x41, 0x05, 6, 3,        /* offset_extended rbp, 3 */
                                  0x41, 0x11, 6, 0x7f,     /* offset_extended_sf rbp, -1 */
                                  0x41, 0x2f, 6, 2,        /* GNU_negative_offset_extended */
                                  0x41, 0x12, 7, 0x7c,     /* def_cfa_sf rsp, -4 */
                                  0x41, 0x13, 0x7b,        /* def_cfa_offset_sf -5 */
                                  0x41, 0x06, 6,           /* restore_extended */
                                  0x41, 0x2e, 0x30,        /* GNU_args_size */
                                  0x09, 6, 3,              /* register rbp in rbx */
                                  0x41, 0x08, 6,           /* same_value */
                                  0x41, 0x07, 16));        /* undefined rip */

    check_rule(at(&b, CODE + 1), UNW_CFA_SP, 8, UNW_AT_CFA, -24);
    check_rule(at(&b, CODE + 2), UNW_CFA_SP, 8, UNW_AT_CFA, 8);
    check_rule(at(&b, CODE + 3), UNW_CFA_SP, 8, UNW_AT_CFA, 16);
    check_rule(at(&b, CODE + 4), UNW_CFA_SP, 32, UNW_AT_CFA, 16);
    check_rule(at(&b, CODE + 5), UNW_CFA_SP, 40, UNW_AT_CFA, 16);
    check_rule(at(&b, CODE + 6), UNW_CFA_SP, 40, UNW_AT_SAME, 0);
    check_rule(at(&b, CODE + 7), UNW_CFA_SP, 40, UNW_AT_UNKNOWN, 0);
    check_rule(at(&b, CODE + 8), UNW_CFA_SP, 40, UNW_AT_SAME, 0);
    CHECK_EQ(at(&b, CODE + 9).where >> 4 & 15, UNW_AT_ROOT);
}

TEST(unwind_cfi_supports_the_expressions_in_use)
{
    struct unw_body b = one(BYTES(
        0x41, 0x0f, 3, 0x76, 0x78, 0x06,               /* breg6 -8; deref: realigned */
        0x10, 6, 2, 0x76, 0x00,                        /* rbp at breg6 0 */
        0x41, 0x0f, 5, 0x77, 40, 0x06, 0x23, 8,        /* breg7 40; deref; plus_uconst 8 */
        0x41, 0x0f, 4, 0x77, 16, 0x38, 0x22,           /* breg7 16; lit8; plus */
        0x41, 0x0f, 5, 0x77, 16, 0x08, 4, 0x1c,        /* breg7 16; const1u 4; minus */
        0x41, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, /* .plt */
        0x10, 6, 3, 0x77, 0xf8, 0,                     /* rbp at breg7 120 */
        0x41, 0x0f, 2, 0x73, 0,                        /* breg3: not followed */
        0x41, 0x0c, 10, 0,                             /* def_cfa r10, 0 */
        0x41, 0x0c, 3, 32));                           /* def_cfa rbx, 32 */

    check_rule(at(&b, CODE + 1), UNW_CFA_FP_DEREF, -8, UNW_AT_FP, 0);
    check_rule(at(&b, CODE + 2), UNW_CFA_SP_DEREF, 40, UNW_AT_FP, 0);
    CHECK_EQ(at(&b, CODE + 2).extra, 8);
    check_rule(at(&b, CODE + 3), UNW_CFA_SP, 24, UNW_AT_FP, 0);
    check_rule(at(&b, CODE + 4), UNW_CFA_SP, 12, UNW_AT_FP, 0);
    check_rule(at(&b, CODE + 5), UNW_CFA_PLT, 8, UNW_AT_SP, 120);
    CHECK_EQ(at(&b, CODE + 5).extra, 11);
    CHECK_EQ(at(&b, CODE + 6).cfa, UNW_CFA_NONE);
    CHECK_EQ(at(&b, CODE + 7).cfa, UNW_CFA_R10);
    check_rule(at(&b, CODE + 8), UNW_CFA_BX, 32, UNW_AT_SP, 120);
}

TEST(unwind_cfi_gives_up_on_values_it_cannot_hold)
{
    struct unw_body b = one(BYTES(0x41, 0x14, 6, 2,           /* val_offset */
                                  0x41, 0x86, 2, 0x41, 0x16, 6, 1, 0x30, /* val_expression */
                                  0x41, 0x86, 2, 0x41, 0x86, 0x80, 0x80, 0x10, /* far away */
                                  0x41, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x7f)); /* huge frame */

    CHECK_EQ(at(&b, CODE + 1).where & 15, UNW_AT_UNKNOWN);
    CHECK_EQ(at(&b, CODE + 2).where & 15, UNW_AT_CFA);
    CHECK_EQ(at(&b, CODE + 3).where & 15, UNW_AT_UNKNOWN);
    CHECK_EQ(at(&b, CODE + 5).where & 15, UNW_AT_UNKNOWN);
    CHECK_EQ(at(&b, CODE + 6).cfa, UNW_CFA_NONE);
}

TEST(unwind_cfi_stops_at_invalid_instructions)
{
    struct unw_body b = one(BYTES(0x44, 0x0e, 16, 0x44, 0x0b, 0x0e, 24)); /* no remembered state */

    CHECK_EQ(at(&b, CODE).cfa_off, 8);
    CHECK_EQ(at(&b, CODE + 4).cfa_off, 16);
    CHECK_EQ(at(&b, CODE + 8).cfa, UNW_CFA_NONE);
    CHECK_EQ(at(&b, CODE + 0xff).cfa, UNW_CFA_NONE);
}

TEST(unwind_cfi_gives_up_when_the_state_stack_overflows)
{
    uint8_t ops[80] = { 0x44, 0x0e, 16, 0x44 };
    struct unw_body b;

    memset(ops + 4, 0x0a, 33); /* remember_state, once too often */
    ops[37] = 0x44;
    ops[38] = 0x0e;
    ops[39] = 24;
    b = one(ops, 40);
    CHECK_EQ(at(&b, CODE + 4).cfa_off, 16);
    CHECK_EQ(at(&b, CODE + 8).cfa, UNW_CFA_NONE);
    CHECK_EQ(at(&b, CODE + 0x20).cfa, UNW_CFA_NONE);
}

TEST(unwind_cfi_adds_signed_constants_in_expressions)
{
    /* breg7 16, const1s -8, plus */
    struct unw_body b = one(BYTES(0x0f, 5, 0x77, 16, 0x09, 0xf8, 0x22));

    check_rule(at(&b, CODE), UNW_CFA_SP, 8, UNW_AT_SAME, 0);
}

TEST(unwind_cfi_reads_two_byte_pointers_with_their_sign)
{
    size_t c = cie("zR", BYTES(0x3a), BYTES(0x0c, 7, 8, 0x90, 1)); /* datarel, sdata2 */
    struct cfi_elf elf;
    struct unw_body b;
    struct buf f = { 0 };

    buf_u32(&f, (uint32_t)(section.n + 4 - c));
    buf_add(&f, BYTES(0x00, 0xf0, 0x40, 0x00, 0)); /* -0x1000, 0x40 bytes, no augmentation */
    entry(&f);
    buf_release(&f);
    elf = elf_of_section(true);
    elf.got = CODE + 0x1000;
    cfi_compile(&b, &elf);
    CHECK_EQ(at(&b, CODE).cfa_off, 8);
    CHECK_EQ(at(&b, CODE + 0x40).cfa, UNW_CFA_NONE);
    cfi_body_release(&b);
}

TEST(unwind_cfi_continues_after_a_terminator)
{
    size_t c = plain_cie();
    struct unw_body b;

    fde(c, CODE, 0x10, BYTES(0));
    buf_u32(&section, 0);
    fde(c, CODE + 0x100, 0x10, BYTES(0));
    b = compile(true);
    CHECK_EQ(at(&b, CODE).cfa_off, 8);
    CHECK_EQ(at(&b, CODE + 0x100).cfa_off, 8);
}

TEST(unwind_table_covers_padding_between_functions_but_no_gap)
{
    size_t c = plain_cie();
    struct unw_body b;

    fde(c, CODE, 0x10, BYTES(0));
    fde(c, CODE + 0x1f, 0x10, BYTES(0));        /* 15 bytes on */
    fde(c, CODE + 0x2f + 16, 0x10, BYTES(0)); /* 16 bytes on */
    b = compile(true);
    CHECK_EQ(at(&b, CODE + 0x18).cfa, UNW_CFA_SP);
    CHECK_EQ(at(&b, CODE + 0x2f).cfa, UNW_CFA_NONE);
    CHECK_EQ(at(&b, CODE + 0x3f).cfa, UNW_CFA_SP);
}

TEST(unwind_table_sorts_functions_that_are_far_apart)
{
    static const uint64_t starts[] = { 0x7000000, 0x10000, 0x3000000, 0x810000, 0x5000040 };
    size_t c = plain_cie();
    struct cfi_elf elf;
    struct unw_body b;

    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        fde(c, starts[i], 0x10, BYTES(0x41, 0x0e, (uint8_t)(16 + 8 * i)));
    elf = elf_of_section(true);
    elf.file.segment[0] = (struct elf_segment){ 0, 0x8000000, CODE, 0x8000000, true };
    cfi_compile(&b, &elf);
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        CHECK_EQ(at(&b, starts[i]).cfa_off, 8);
        CHECK_EQ(at(&b, starts[i] + 1).cfa_off, 16 + 8 * i);
        CHECK_EQ(at(&b, starts[i] + 0x10).cfa, UNW_CFA_NONE);
    }
    cfi_body_release(&b);
}

TEST(unwind_cfi_reads_every_pointer_encoding)
{
    static const struct { uint8_t encoding; int size; } kinds[] = {
        { 0x00, 8 }, { 0x04, 8 }, { 0x0c, 8 }, { 0x03, 4 }, { 0x0b, 4 }, { 0x1b, 4 }, { 0x1c, 8 },
        { 0x10, 8 }, { 0x2b, 4 }, { 0x3b, 4 }, { 0x3c, 8 },
    };
    struct cfi_elf elf;
    struct unw_body b;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        size_t c = cie("zPLR", BYTES(0x03, 1, 2, 3, 4, 0x1b, kinds[i].encoding),
                       BYTES(0x0c, 7, 8, 0x90, 1));
        uint64_t start = CODE + i * 0x40, base;
        struct buf f = { 0 };

        buf_u32(&f, (uint32_t)(section.n + 4 - c));
        base = kinds[i].encoding >> 4 == 1   ? SECTION + section.n + 8
               : kinds[i].encoding >> 4 == 2 ? 0x700000
               : kinds[i].encoding >> 4 == 3 ? 0x800000
                                             : 0;
        for (int part = 0; part < 2; part++) {
            uint64_t value = part ? 0x40 : start - base;

            buf_add(&f, &value, (size_t)kinds[i].size);
        }
        buf_add(&f, BYTES(2, 0xaa, 0xbb, 0x41, 0x0e, 16));
        entry(&f);
        buf_release(&f);
    }
    elf = elf_of_section(true);
    elf.text = 0x700000;
    elf.got = 0x800000;
    cfi_compile(&b, &elf);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        CHECK_EQ(at(&b, CODE + i * 0x40).cfa_off, 8);
        CHECK_EQ(at(&b, CODE + i * 0x40 + 1).cfa_off, 16);
    }
    cfi_body_release(&b);
}

TEST(unwind_cfi_reads_debug_frame_and_wide_lengths)
{
    struct buf body = { 0 };
    struct unw_body b;
    size_t c;

    buf_u64(&body, UINT64_MAX);
    buf_add(&body, BYTES(4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1)); /* version 4 */
    c = section.n;
    buf_u32(&section, UINT32_MAX);
    buf_u64(&section, body.n);
    buf_add(&section, body.data, body.n);
    body.n = 0;
    buf_u64(&body, c);
    buf_u64(&body, CODE);
    buf_u64(&body, 0x20);
    buf_add(&body, BYTES(0x42, 0x0e, 16));
    buf_u32(&section, UINT32_MAX);
    buf_u64(&section, body.n);
    buf_add(&section, body.data, body.n);
    buf_release(&body);
    b = compile(false);
    CHECK_EQ(at(&b, CODE + 1).cfa_off, 8);
    CHECK_EQ(at(&b, CODE + 2).cfa_off, 16);
}

TEST(unwind_cfi_marks_signal_frames)
{
    fde(cie("zRS", BYTES(0x00), BYTES(0x0c, 7, 8, 0x90, 1)), CODE, 16, BYTES(0));
    struct unw_body b = compile(true);

    CHECK_EQ(at(&b, CODE).flags, UNW_RULE_SIGNAL);
}

TEST(unwind_table_sorts_functions_and_leaves_gaps_empty)
{
    size_t c = plain_cie();
    struct unw_body b;

    for (int i = 99; i >= 0; i--) /* descending, a gap after each */
        fde(c, CODE + (uint64_t)i * 0x1000, 0x800, BYTES(0x41, 0x0e, 16));
    fde(c, CODE + 0x400, 0x100, BYTES(0x0e, 32)); /* inside the first */
    fde(c, CODE + 0x1000, 0x10, BYTES(0x0e, 48)); /* a second one for the same start */
    b = compile(true);
    for (uint64_t i = 0; i < 100; i++) {
        CHECK_EQ(at(&b, CODE + i * 0x1000).cfa_off, 8);
        CHECK_EQ(at(&b, CODE + i * 0x1000 + 1).cfa_off, 16);
        CHECK_EQ(at(&b, CODE + i * 0x1000 + 0x7ff).cfa_off, i ? 16 : 0);
        CHECK_EQ(at(&b, CODE + i * 0x1000 + 0x800).cfa, UNW_CFA_NONE);
        CHECK_EQ(at(&b, CODE + i * 0x1000 + 0xfff).cfa, UNW_CFA_NONE);
    }
    CHECK_EQ(at(&b, CODE + 0x400).cfa_off, 32);
    CHECK_EQ(b.header->start, CODE);
    CHECK_EQ(b.header->end, CODE + 99 * 0x1000 + 0x800);
}

TEST(unwind_table_carries_rules_over_page_borders)
{
    fde(plain_cie(), CODE + 0x10, 0x45000, BYTES(0x41, 0x0e, 16));
    struct unw_body b = compile(true);

    for (uint64_t a = CODE + 0x11; a < CODE + 0x45010; a += 0x111)
        CHECK_EQ(at(&b, a).cfa_off, 16);
    CHECK_EQ(at(&b, CODE + 0x20000).cfa_off, 16);
    CHECK_EQ(at(&b, CODE + 0x4500f).cfa_off, 16);
    CHECK_EQ(at(&b, CODE + 0x45010).cfa, UNW_CFA_NONE);
}

TEST(unwind_table_ignores_functions_outside_the_code)
{
    size_t c = plain_cie();
    struct unw_body b;

    fde(c, CODE_END - 0x10, 0x20, BYTES(0));
    fde(c, 0, 0x20, BYTES(0));
    fde(c, UINT64_MAX - 8, 0x20, BYTES(0));
    fde(c, CODE, 0, BYTES(0));
    fde(c + 1, CODE, 8, BYTES(0)); /* no such CIE */
    b = compile(true);
    CHECK_EQ(b.header->n_rows, 0);
    CHECK_EQ(at(&b, CODE).cfa, UNW_CFA_NONE);
    CHECK_EQ(at(&b, 0).cfa, UNW_CFA_NONE);
}

TEST(unwind_cfi_survives_a_cut_at_every_byte)
{
    size_t c = plain_cie(), whole;

    for (int i = 0; i < 5; i++)
        fde(c, CODE + (uint64_t)i * 32, 32,
            BYTES(0x41, 0x0e, 16, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0x00));
    whole = section.n;
    for (section.n = 0; section.n < whole; section.n++) {
        struct cfi_elf elf = elf_of_section(true);
        unsigned char *copy = malloc(section.n + !section.n); /* exact size, for the sanitizers */
        struct unw_body b;

        memcpy(copy, section.data, section.n);
        elf.eh_frame.data = copy;
        cfi_compile(&b, &elf);
        CHECK(unw_body_row(&b, CODE) == NULL || at(&b, CODE).cfa_off == 8);
        cfi_body_release(&b);
        free(copy);
    }
}
