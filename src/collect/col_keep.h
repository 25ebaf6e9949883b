/* col_keep.h - keep what `annotate` needs, so that a profile opens on another machine: the code
 * of hot functions, what source each part of it is, and the text of the lines around.
 * Called once at record end.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_KEEP_H
#define FATHOM_COLLECT_COL_KEEP_H

#include "symbol/sym_resolve.h"

struct col_keep {
    struct sym_resolve *names; /* after sym_resolve_run: its modules are open */
    /* Cost measured on the frame itself, by frame id - 1; N_SELF of them. */
    const uint64_t *self;
    size_t n_self;
};

void col_keep(const struct col_keep *s);

#endif
