/* sym_dwarf_file.h - open the DWARF of an ELF file, and the files that it names: the one that it
 * shares parts with (.gnu_debugaltlink, as dwz writes) and those that hold its units (.dwo).
 *
 * libdw would open such paths itself, whatever they lead to.  Here sym_locate opens them, as the
 * user of the target, and libdw gets what was opened.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_DWARF_FILE_H
#define FATHOM_SYMBOL_SYM_DWARF_FILE_H

#include <elfutils/libdw.h>

#include "symbol/symbolizer.h"

struct sym_dwarf_file {
    Dwarf *dwarf;           /* NULL: the file has no DWARF */
    struct sym_module *of;
    struct sym_image *alt_image, *none_image; /* owned, or NULL */
    Dwarf *alt, *none;      /* NONE: an empty file, which libdw does not search for */
};

/* Read the DWARF of ELF, which holds the debug information of the file IM of M; both must outlive
 * *F.  Close it in any case. */
void sym_dwarf_file_open(struct sym_dwarf_file *f, struct sym_module *m, struct sym_image *im,
                         Elf *elf);
void sym_dwarf_file_close(struct sym_dwarf_file *f);
/* The DIE of the unit CU.  *SPLIT is the one in its .dwo file, or {0}.  Call it before any function
 * of libdw that may ask for the attributes of the unit.  False if the unit is invalid. */
bool sym_dwarf_file_unit(struct sym_dwarf_file *f, Dwarf_CU *cu, Dwarf_Die *die, Dwarf_Die *split);

#endif
