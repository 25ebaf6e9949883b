/* unw_x86_64.c - unwinding specific to x86_64.  SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>

#include "unwind/unw_machine.h"

enum { RBX = 3, RBP = 6, RSP = 7, R10 = 10 };

/* Entries of .plt push one word partway.  Linkers describe all of .plt with one expression: rsp +
 * OFF + (((rip & 15) >= AT) << 3). */
static bool x86_expression(struct cursor c, struct unw_rule *r)
{
    static const unsigned char middle[] = { 0x80, 0x00, 0x3f, 0x1a }; /* breg16 0, lit15, and */
    static const unsigned char tail[] = { 0x2a, 0x33, 0x24, 0x22 };   /* ge, lit3, shl, plus */
    const unsigned char *p;
    uint8_t at;
    int64_t off;

    if (cur_u8(&c) != 0x77) /* breg7 */
        return false;
    off = cur_sleb(&c);
    p = cur_bytes(&c, sizeof middle);
    if (!p || memcmp(p, middle, sizeof middle) != 0 || off < 0 || off > 4096)
        return false;
    at = cur_u8(&c);
    p = cur_bytes(&c, sizeof tail);
    if (!p || memcmp(p, tail, sizeof tail) != 0 || cur_left(&c) || at < 0x30 || at > 0x3f)
        return false;
    r->cfa = UNW_CFA_PLT;
    r->cfa_off = (int32_t)off;
    r->extra = (uint8_t)(at - 0x30); /* lit0 is 0x30 */
    return true;
}

static void x86_signal_frame(struct unw_rule *r)
{
    r->flags |= UNW_RULE_SIGNAL;
}

/* Length of a call FF /2 with MODRM and, where one follows, SIB. */
static size_t indirect_call_length(unsigned char modrm, unsigned char sib)
{
    unsigned mod = modrm >> 6, rm = modrm & 7;
    size_t n = 2;

    if ((modrm >> 3 & 7) != 2)
        return 0;
    if (mod == 3)
        return n;
    n += rm == 4;
    if (mod == 1)
        return n + 1;
    if (mod == 2 || rm == 5)
        return n + 4;
    return n + (rm == 4 && (sib & 7) == 5 ? 4 : 0);
}

/* Prefixes come before these bytes, and do not matter. */
static bool x86_follows_call(const unsigned char *end, size_t n, int64_t *target)
{
    int32_t relative;

    *target = 0;
    for (size_t i = 2; i <= n && i <= UNW_CALL_BYTES; i++)
        if (end[-(ptrdiff_t)i] == 0xff &&
            indirect_call_length(end[1 - (ptrdiff_t)i], i > 2 ? end[2 - (ptrdiff_t)i] : 0) == i)
            return true;
    if (n < 5 || end[-5] != 0xe8)
        return false;
    memcpy(&relative, end - 4, sizeof relative);
    *target = relative;
    return true;
}

const struct unw_machine unw_x86_64 = {
    .arch = UNW_X86_64,
    .elf_machine = EM_X86_64,
    .sp = RSP,
    .fp = RBP,
    .pc_mask = ~(uint64_t)0,
    .bx = RBX, /* holds the CFA in glibc's lazy binding */
    .r10 = R10, /* holds it for some instructions where a stack is realigned */
    .initial = { .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_UNKNOWN, UNW_AT_SAME) },
    .leaf = { .cfa = UNW_CFA_SP, .cfa_off = 8, .off = { [UNW_PC] = -1 },
              .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_CFA, UNW_AT_SAME) },
    .fp_chain = { .cfa = UNW_CFA_FP, .cfa_off = 16, .off = { [UNW_FP] = -2, [UNW_PC] = -1 },
                  .where = UNW_WHERE(UNW_AT_CFA, UNW_AT_CFA, UNW_AT_UNKNOWN) },
    .expression = x86_expression,
    .signal_frame = x86_signal_frame,
    .follows_call = x86_follows_call,
};
