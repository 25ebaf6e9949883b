/* unw_x86_64.c - what is x86_64's own in unwinding.  SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>

#include "unwind/unw_machine.h"

enum { RBX = 3, RBP = 6, RSP = 7, R10 = 10 };

/* The linkers describe .plt, whose entries push one word part-way, by one expression:
 * rsp + OFF + (((rip & 15) >= AT) << 3). */
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

/* glibc's lazy binding keeps its CFA in rbx (rbx + 32) and realigns rsp.  Its caller's frame
 * is known by what .plt pushed: [link map][relocation index][return address].  4 KB above sp
 * hold every xsave area in use. */
static uint64_t search_lazy_binding(const struct unw_regs *regs, const struct unw_stack *stack,
                                    unw_is_code *is_code, const void *arg)
{
    for (uint64_t at = regs->sp; at < regs->sp + 4096; at += 8) {
        uint64_t map, index, pc;

        if (!unw_load(stack, at, &map) || !unw_load(stack, at + 8, &index) ||
            !unw_load(stack, at + 16, &pc))
            return 0;
        if (map > 4096 && map % 8 == 0 && index < 1 << 24 && is_code(arg, pc) &&
            !is_code(arg, map))
            return at + 24;
    }
    return 0;
}

/* A function that realigns its stack has its CFA in r10 for some instructions at both ends.
 * It copies the return address below the alignment gap, so the upper of two equal ones is the
 * real one; before it has done so, the first is. */
static uint64_t search_realigned(const struct unw_regs *regs, const struct unw_stack *stack,
                                 unw_is_code *is_code, const void *arg)
{
    uint64_t first = 0, found = 0, word;

    for (uint64_t at = regs->sp; at < regs->sp + 192; at += 8) {
        if (!unw_load(stack, at, &word))
            break;
        if (found ? word == first : is_code(arg, word)) {
            if (found)
                return at + 8;
            first = word;
            found = at + 8;
        }
    }
    return found;
}

static uint64_t x86_search(const struct unw_rule *r, const struct unw_regs *regs,
                           const struct unw_stack *stack, unw_is_code *is_code, const void *arg)
{
    if (r->extra == RBX && r->cfa_off == 32)
        return search_lazy_binding(regs, stack, is_code, arg);
    if (r->extra == R10 && r->cfa_off == 0)
        return search_realigned(regs, stack, is_code, arg);
    return 0;
}

const struct unw_machine unw_x86_64 = {
    .arch = UNW_X86_64,
    .elf_machine = EM_X86_64,
    .sp = RSP,
    .fp = RBP,
    .pc_mask = ~(uint64_t)0,
    .initial = { .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_UNKNOWN) },
    .leaf = { .cfa = UNW_CFA_SP, .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_CFA),
              .cfa_off = 8, .pc_off = -8 },
    .fp_chain = { .cfa = UNW_CFA_FP, .where = UNW_WHERE(UNW_AT_CFA, UNW_AT_CFA),
                  .cfa_off = 16, .fp_off = -16, .pc_off = -8 },
    .expression = x86_expression,
    .signal_frame = x86_signal_frame,
    .search = x86_search,
};
