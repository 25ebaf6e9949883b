/* sym_locate.h - find a module's file and its separate debug file.  Paths are resolved inside the
 * target's root, so that the links of a container stay in it, and opened with the permissions of
 * the target's user.  A file is used only if its build id is the recorded one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_LOCATE_H
#define FATHOM_SYMBOL_SYM_LOCATE_H

#include "symbol/symbolizer.h"

int sym_locate_dup(const struct sym_module *m); /* a duplicate of req.file, or -1 */
/* Open PATH, which M or its process names, inside ROOT: m->req.root or "".  The file must belong
 * to the process's user, to us or to root; one that does not is M's problem.  -1: none. */
int sym_locate_owned(struct sym_module *m, const char *root, const char *path);
/* The .dwo file NAME of a unit that was compiled in DIR, or -1. */
int sym_locate_dwo(const struct sym_module *m, const char *dir, const char *name);
/* The file with this name and build id with which the debug information of OF shares parts. */
struct sym_image *sym_locate_alt(const struct sym_module *m, const char *of, const char *name,
                                 const void *id, size_t id_size);
/* The module's own file; NULL after sym_module_set_problem. */
struct sym_image *sym_locate_file(struct sym_module *m);
/* A separate file with DWARF or symbols for M, or NULL.  Searches by build id, by debuglink and
 * in debuginfod's cache; if that fails, requests it from debuginfod in the background. */
struct sym_image *sym_locate_debug(struct sym_module *m);
void sym_locate_hex(char *text, const uint8_t *id, size_t n); /* 2 n + 1 chars */

#endif
