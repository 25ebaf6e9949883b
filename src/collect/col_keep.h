/* col_keep.h - store what `annotate` needs, so that a profile opens on another machine: the code
 * of hot functions, its line table, and the source text around measured lines.  Called once at the
 * end of a recording.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_KEEP_H
#define FATHOM_COLLECT_COL_KEEP_H

#include "symbol/sym_resolve.h"

struct col_keep {
    struct sym_resolve *names; /* after sym_resolve_run: its modules are open */
    /* Self cost of each frame, indexed by frame id - 1; N_SELF entries. */
    const uint64_t *self;
    size_t n_self;
};

void col_keep(const struct col_keep *s);

#endif
