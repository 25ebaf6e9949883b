/* cfi_known.c - see cfi_known.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_known.h"

#include <string.h>

/* A system call rt_sigreturn (15), as C libraries write it.  Debuggers recognize it likewise. */
static size_t signal_return(const unsigned char *c, size_t left)
{
    static const unsigned char wide[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
    static const unsigned char narrow[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 };

    if (left >= sizeof wide && memcmp(c, wide, sizeof wide) == 0)
        return sizeof wide;
    return left >= sizeof narrow && memcmp(c, narrow, sizeof narrow) == 0 ? sizeof narrow : 0;
}

/* Offsets from sp in the kernel's signal frame, after its return address was popped. */
enum { CONTEXT = 40, SAVED_RBP = CONTEXT + 80, SAVED_RBX = CONTEXT + 88, SAVED_RSP = CONTEXT + 120,
       SAVED_RIP = CONTEXT + 128 };

static void mark_signal_returns(struct code *c)
{
    static const struct unw_rule rule = {
        .cfa = UNW_CFA_SP_DEREF, .cfa_off = SAVED_RSP,
        .flags = UNW_RULE_SIGNAL | UNW_RULE_ANALYSED,
        .off = { [UNW_FP] = SAVED_RBP / 8, [UNW_PC] = SAVED_RIP / 8, [UNW_BX] = SAVED_RBX / 8 },
        .where = UNW_WHERE(UNW_AT_SP, UNW_AT_SP, UNW_AT_SP) };

    for (size_t i = 0; i < c->parts.n; i++) {
        struct code_part *p = &c->parts.v[i];

        for (uint64_t at = 1; at < p->size; at++) {
            size_t n = signal_return(p->code + at, p->size - at);

            if (n) /* callers are looked up one byte before their address */
                code_set_rule(c, p, p->start + at - 1, n + 1, &rule);
        }
    }
}

/* The entries of .plt push one word partway, and its first entry another one before. */
static void mark_linkage(struct code *c)
{
    static const unsigned char push_got[] = { 0xff, 0x35 }, jump_got[] = { 0xff, 0x25 };
    enum { ENTRY = 16, PUSH = 6, PUSHED = 11 };
    struct unw_rule rule = {
        .cfa = UNW_CFA_SP, .cfa_off = 16, .flags = UNW_RULE_ANALYSED, .off = { [UNW_PC] = -1 },
        .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_CFA, UNW_AT_SAME) };

    for (size_t i = 0; i < c->parts.n; i++) {
        struct code_part *p = &c->parts.v[i];

        if (p->size < 2 * ENTRY || memcmp(p->code, push_got, sizeof push_got) != 0 ||
            memcmp(p->code + PUSH, jump_got, sizeof jump_got) != 0 ||
            memcmp(p->code + ENTRY, jump_got, sizeof jump_got) != 0)
            continue;
        rule.cfa_off = 16;
        code_set_rule(c, p, p->start, PUSH, &rule);
        rule.cfa_off = 24;
        code_set_rule(c, p, p->start + PUSH, ENTRY - PUSH, &rule);
        rule.cfa = UNW_CFA_PLT;
        rule.cfa_off = 8;
        rule.extra = PUSHED;
        code_set_rule(c, p, p->start + ENTRY, p->size - ENTRY, &rule);
        rule.cfa = UNW_CFA_SP;
        rule.extra = 0;
    }
}

void known_mark(struct code *c)
{
    mark_signal_returns(c);
    mark_linkage(c);
}
