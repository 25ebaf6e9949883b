/* sym_dwarf_path.h - make source paths absolute and clean: join relative paths to the directory of
 * the unit and remove "." and "..".  SPDX-License-Identifier: Apache-2.0 */
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

/* FILE, a string of libdw for the unit of CU, as a path allocated in A; NULL for NULL. */
const char *sym_dwarf_path(struct sym_dwarf_paths *p, struct arena *a, Dwarf_Die *cu,
                           const char *file);
/* Remove "//", "/./" and "name/../" from PATH, in place. */
void sym_dwarf_path_clean(char *path);

#endif
