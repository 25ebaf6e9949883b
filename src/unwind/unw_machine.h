/* unw_machine.h - differences between architectures; one constant per architecture file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_UNWIND_UNW_MACHINE_H
#define FATHOM_UNWIND_UNW_MACHINE_H

#include <stdbool.h>

#include "base/cursor.h"
#include "unwind/unw_rule.h"
#include "unwind/unwind.h"

enum { UNW_NO_REGISTER = 255, UNW_CALL_BYTES = 7 /* of the longest call */ };

struct unw_machine {
    enum unw_arch arch;
    uint16_t elf_machine;
    uint8_t sp, fp, bx, r10;   /* DWARF register numbers; UNW_NO_REGISTER where there is none */
    uint64_t pc_mask;          /* address bits of a return address */
    struct unw_rule initial;   /* before the first instruction of a CIE */
    struct unw_rule leaf;      /* a leaf function that has saved nothing yet */
    struct unw_rule fp_chain;  /* a function that keeps a frame pointer */
    /* A CFA expression specific to this machine (PLT): fills R, or returns false. */
    bool (*expression)(struct cursor c, struct unw_rule *r);
    /* R belongs to a signal frame: mark it, or replace its CFI. */
    void (*signal_frame)(struct unw_rule *r);
    /* Whether a call instruction ends at END, with N bytes of code before it, at most
     * UNW_CALL_BYTES.  *TARGET is that of a direct call relative to END; 0 for other calls. */
    bool (*follows_call)(const unsigned char *end, size_t n, int64_t *target);
};

extern const struct unw_machine unw_x86_64, unw_aarch64;

static inline const struct unw_machine *unw_machine_of(enum unw_arch arch)
{
    return arch == UNW_AARCH64 ? &unw_aarch64 : &unw_x86_64;
}

/* Read the word at ADDRESS of the copied stack; false when it is not in the copy. */
static inline bool unw_load(const struct unw_stack *s, uint64_t address, uint64_t *word)
{
    uint64_t at = address - s->base;

    if (s->size < 8 || at > s->size - 8)
        return false;
    memcpy(word, s->data + at, 8);
    return true;
}

#endif
