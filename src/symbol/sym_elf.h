/* sym_elf.h - the symbol of an address, for symbolizers with additional data.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_ELF_H
#define FATHOM_SYMBOL_SYM_ELF_H

#include "symbol/symbolizer.h"

struct sym_elf_symbol {
    const char *name;    /* demangled, without a version */
    const char *linkage; /* as linked, when it was mangled; else NULL */
    uint64_t start, end;
    enum sym_source source;
};
/* Find the best symbol that contains ADDRESS. */
bool sym_elf_symbol(struct sym_module *m, uint64_t address, struct sym_elf_symbol *s);

#endif
