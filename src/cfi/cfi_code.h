/* cfi_code.h - the code of a file that no call-frame information describes, and what is known about
 * each of its bytes.
 *
 * Every byte has a mark: the rule of the instruction that it belongs to, once a function that
 * contains it was followed without contradiction.  For x86-64 only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_CODE_H
#define FATHOM_CFI_CFI_CODE_H

#include "base/hash.h"
#include "base/mem.h"
#include "cfi/cfi_elf.h"
#include "unwind/unw_rule.h"

enum { CODE_NO_MARK, CODE_NO_RULE, CODE_FIRST_RULE }; /* marks */

enum code_found {
    CODE_ENTRY = 1, /* something calls it, or a symbol names it */
    CODE_QUEUED = 2,
    CODE_REFUSED = 4, /* a function starts here that contradicts itself */
    CODE_NEVER_RETURNS = 8,
    CODE_POINTED = 16, /* an instruction computes its address */
};

struct code_part { /* a range with its code */
    uint64_t start, size;
    const unsigned char *code;
    uint16_t *mark; /* of each byte */
    uint8_t *found; /* of each byte: enum code_found */
    uint32_t *node; /* of each byte: for cfi_paths.c */
};

struct code { /* starts zeroed, but for elf */
    struct cfi_elf *elf;
    VEC(struct code_part) parts; /* sorted and disjoint */
    uint64_t size;               /* of all parts */
    uint64_t bytes;              /* of them, not counting padding */
    VEC(uint64_t) entries;       /* in the order in which they were found */
    VEC(struct unw_rule) rules;  /* of marks, from CODE_FIRST_RULE */
    struct umap rule_mark;       /* hash -> mark */
};

/* Add the code between START and END; ranges come in order. */
void code_add(struct code *c, uint64_t start, uint64_t end);
void code_release(struct code *c);

/* The part that contains ADDRESS, or NULL. */
struct code_part *code_part_of(const struct code *c, uint64_t address);
/* What was found out about the byte at ADDRESS; NULL outside all parts. */
uint8_t *code_found_at(const struct code *c, uint64_t address);
/* A function starts at ADDRESS, which may lie outside; FOUND: what else is known about it. */
void code_add_entry(struct code *c, uint64_t address, unsigned found);

/* Mark for RULE: CODE_NO_RULE if it is empty, or if there are too many. */
uint16_t code_mark_of(struct code *c, const struct unw_rule *rule);
/* Give RULE to the SIZE bytes of P from address START on, as far as they belong to P. */
void code_set_rule(struct code *c, struct code_part *p, uint64_t start, uint64_t size,
                   const struct unw_rule *rule);

/* Length of the padding at byte AT of P. */
uint64_t code_padding(const struct code_part *p, uint64_t at);
/* Whether what follows a call at ADDRESS looks like another function: padding, or the first
 * instruction of one that has a frame. */
bool code_is_start(const struct code *c, uint64_t address);
/* Whether a function seems to start at ADDRESS or after padding there: it begins a frame, or, at a
 * multiple of its alignment, saves a register or makes room on the stack. */
bool code_is_prologue(const struct code *c, uint64_t address);
bool code_is_pop(const struct code *c, uint64_t address);

#endif
