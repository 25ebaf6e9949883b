/* sym_dwarf_path.h - source paths as the compiler wrote them made whole: relative ones joined to
 * the unit's folder, "." and ".." taken out.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_DWARF_PATH_H
#define FATHOM_SYMBOL_SYM_DWARF_PATH_H

#include <elfutils/libdw.h>

#include "base/hash.h"
#include "base/mem.h"

struct sym_dwarf_paths { /* start from {0} */
    struct umap seen; /* address of libdw's text -> index + 1 */
    VEC(const char *) path;
};
void sym_dwarf_paths_release(struct sym_dwarf_paths *p);

/* FILE, a text of libdw's for the unit of CU, as a path kept in A; NULL for NULL. */
const char *sym_dwarf_path(struct sym_dwarf_paths *p, struct arena *a, Dwarf_Die *cu,
                           const char *file);
/* PATH without "//", "/./" and "name/../", in place; for the above and its test. */
void sym_dwarf_path_clean(char *path);

#endif
