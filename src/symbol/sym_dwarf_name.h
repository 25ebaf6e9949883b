/* sym_dwarf_name.h - the name and the declaration of a function in the debug information.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_DWARF_NAME_H
#define FATHOM_SYMBOL_SYM_DWARF_NAME_H

#include "symbol/sym_dwarf_unit.h"
#include "symbol/symbolizer.h"

struct sym_dwarf_name {
    const char *name;    /* NULL when it has none */
    const char *linkage; /* NULL when the same or unknown */
    const char *file;
    uint32_t line;
    bool plain; /* from DW_AT_name: a linker symbol may be better */
};

/* For DIE of unit U; texts live as long as M. */
struct sym_dwarf_name sym_dwarf_name(struct sym_module *m, const struct sym_dwarf_unit *u,
                                     Dwarf_Die *die);
/* Path of entry FILE in the file table of the unit whose DIE is CU; NULL when none. */
const char *sym_dwarf_name_file(Dwarf_Die *cu, uint32_t file);
/* The DIE that all copies of this function share. */
void *sym_dwarf_name_origin(Dwarf_Die *die);

#endif
