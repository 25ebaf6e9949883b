/* cfi_analyse.h - derive unwind rules from the code that no call-frame information describes.
 *
 * Musl, hand-written assembly and stripped Go programs have none.  Functions are found by symbols,
 * calls, the entry point and padding; their instructions are followed along every path, keeping
 * track of the stack (cfi_flow.h).  A function whose paths contradict each other has no rules.  For
 * x86-64, in builds with a disassembler.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_ANALYSE_H
#define FATHOM_CFI_CFI_ANALYSE_H

#include "base/mem.h"
#include "cfi/cfi_elf.h"

struct cfi_range { /* of file virtual addresses */
    uint64_t start, end;
};
struct cfi_ranges {
    VEC(struct cfi_range) v;
};

struct cfi_span { /* code with one rule */
    uint64_t start, end;
    struct unw_rule rule;
};

struct cfi_spans {
    VEC(struct cfi_span) v; /* sorted and disjoint */
    size_t done;            /* number that the compiler has used */
};

/* Changes when the analysis gives other results: 0 in builds without it. */
uint32_t cfi_analyse_version(void);

/* Derive the rules of the code of ELF in the N ranges GAPS, which are sorted and disjoint. */
void cfi_analyse(struct cfi_elf *elf, const struct cfi_range *gaps, size_t n,
                 struct cfi_spans *out);

#endif
