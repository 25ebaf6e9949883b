/* sym_kallsyms.h - the kernel's symbol list as text.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_KALLSYMS_H
#define FATHOM_SYMBOL_SYM_KALLSYMS_H

#include <stdbool.h>

#include "base/buf.h"
#include "symbol/sym_table.h"

/* Add the functions of TEXT (untrusted) to T, their names NUL-terminated to NAMES.  False when
 * every address is zero: the kernel hides them. */
bool sym_kallsyms_parse(struct sym_table *t, struct buf *names, const char *text, size_t size);

#endif
