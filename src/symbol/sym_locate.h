/* sym_locate.h - find a module's file and its separate debug file.  Paths are resolved inside the
 * target's root, so that the links of a container stay in it.  If the target has ended, the same
 * paths are tried outside.  A file is used only if its build id is the recorded one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_LOCATE_H
#define FATHOM_SYMBOL_SYM_LOCATE_H

#include "symbol/symbolizer.h"

/* Open PATH for reading inside ROOT ("" is ours); regular files only.  -1 and errno. */
int sym_locate_dup(const struct sym_module *m); /* a duplicate of req.file, or -1 */
int sym_locate_fd(const char *root, const char *path);
/* The module's own file; NULL after sym_module_set_problem. */
struct sym_image *sym_locate_file(struct sym_module *m);
/* A separate file with DWARF or symbols for M, or NULL.  Searches by build id, by debuglink and
 * in debuginfod's cache; if that fails, requests it from debuginfod in the background. */
struct sym_image *sym_locate_debug(struct sym_module *m);
void sym_locate_hex(char *text, const uint8_t *id, size_t n); /* 2 n + 1 chars */

#endif
