/* unw_rule.h - one unwind rule: where the caller's sp, fp and pc are.  Sixteen bytes, no
 * pointers: rules are de-duplicated per module and stored in cache files as they are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_UNWIND_UNW_RULE_H
#define FATHOM_UNWIND_UNW_RULE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* How to compute the canonical frame address (the caller's sp). */
enum unw_cfa {
    UNW_CFA_NONE,     /* no rule here */
    UNW_CFA_SP,       /* sp + cfa_off */
    UNW_CFA_FP,       /* fp + cfa_off */
    UNW_CFA_SP_DEREF, /* *(sp + cfa_off) + extra */
    UNW_CFA_FP_DEREF, /* *(fp + cfa_off) + extra */
    UNW_CFA_PLT,      /* sp + cfa_off, and 8 more from byte EXTRA of each 16 on */
    UNW_CFA_BX,       /* bx + cfa_off */
    UNW_CFA_R10,      /* r10 + cfa_off; in a leaf only */
    UNW_CFA_KINDS
};

/* Where a register of the caller is. */
enum unw_where {
    UNW_AT_UNKNOWN,
    UNW_AT_SAME, /* unchanged: fp in fp, pc in the link register */
    UNW_AT_CFA,  /* saved at cfa + offset */
    UNW_AT_SP,   /* saved at sp + offset */
    UNW_AT_FP,   /* saved at fp + offset */
    UNW_AT_ROOT, /* pc only: there is no caller */
    UNW_AT_KINDS
};

enum {
    UNW_RULE_SIGNAL = 1,   /* the caller was interrupted: its pc is not a return address */
    UNW_RULE_ANALYSED = 2, /* derived from the code, not from call-frame information */
};

/* The registers that are tracked besides sp. */
enum unw_column { UNW_FP, UNW_PC, UNW_BX, UNW_COLUMNS };

struct unw_rule {
    uint8_t cfa;      /* enum unw_cfa */
    uint8_t extra;    /* see enum unw_cfa */
    uint8_t flags;
    uint8_t zero;
    int32_t cfa_off;  /* bytes */
    int16_t off[UNW_COLUMNS]; /* in words of 8 bytes; 0 where unused: equal rules, equal bytes */
    uint16_t where;   /* four bits per column, enum unw_where */
};

static inline unsigned unw_rule_at(const struct unw_rule *r, enum unw_column column)
{
    return r->where >> column * 4 & 15;
}

static inline int64_t unw_rule_off(const struct unw_rule *r, enum unw_column column)
{
    return r->off[column] * 8;
}

/* The rule as two words, to compare and hash. */
struct unw_rule_words {
    uint64_t a, b;
};

static inline struct unw_rule_words unw_rule_words(const struct unw_rule *r)
{
    struct unw_rule_words w;

    memcpy(&w, r, sizeof w);
    return w;
}

static inline bool unw_rule_equal(const struct unw_rule *r, const struct unw_rule *s)
{
    struct unw_rule_words x = unw_rule_words(r), y = unw_rule_words(s);

    return ((x.a ^ y.a) | (x.b ^ y.b)) == 0;
}

#define UNW_WHERE(fp, pc, bx) ((uint16_t)((fp) | (pc) << 4 | (bx) << 8))

#endif
