/* cfi_read.h - DWARF call-frame information: the list of functions (FDEs) of a section, and
 * the interpreter that converts the instructions of a function to rows.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_READ_H
#define FATHOM_CFI_CFI_READ_H

#include "base/mem.h"
#include "cfi/cfi_elf.h"

struct cfi_cie {
    const struct cfi_section *section;
    uint64_t offset;      /* in the section */
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_column;
    struct unw_rule initial;
    uint8_t encoding;     /* of addresses, DW_EH_PE_* */
    bool sized;           /* augmentation 'z' */
    bool signal;          /* augmentation 'S' */
    bool usable;
};

struct cfi_fde {
    uint64_t start;
    uint32_t size;
    uint32_t cie;
    const unsigned char *ops;
    uint32_t ops_size;
    uint32_t order; /* order found: the first of two for one address wins */
};

struct cfi {
    const struct cfi_elf *elf;
    VEC(struct cfi_cie) cies;
    VEC(struct cfi_fde) fdes;
    size_t first_cie; /* of the section being read */
    uint64_t dropped; /* invalid entries */
};

/* Append the FDEs of SECTION that describe executable code. */
void cfi_read(struct cfi *cfi, const struct cfi_section *section, bool is_eh);
void cfi_release(struct cfi *cfi);
/* Read a pointer of ENCODING at C, which reads SECTION.  Clears *OK when it is unsupported or
 * invalid. */
uint64_t cfi_pointer(const struct cfi_elf *elf, const struct cfi_section *section,
                         struct cursor *c, uint8_t encoding, bool *ok);

/* Receives a row: RULE applies from ADDRESS on. */
typedef void cfi_row(void *arg, uint64_t address, const struct unw_rule *rule);
/* Run the instructions of FDE up to END (the FDE's or less).  The first row is at its start. */
void cfi_run(const struct cfi *cfi, const struct cfi_fde *fde, uint64_t end,
                 cfi_row *row, void *arg);
/* Run a CIE's instructions on cie->initial; false when they are invalid. */
bool cfi_run_initial(const struct cfi *cfi, struct cfi_cie *cie, struct cursor ops);

#endif
