/* col_names.c - at the end: names, lines and inlined calls of every frame that was hit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_session.h"
#include "collect/col_source.h"
#include "symbol/sym_resolve.h"

void col_names(struct col_session *s)
{
    struct sym_resolve names;

    sym_resolve_init(&names, &s->in);
    for (size_t i = 0; i < s->modules.v.n; i++) {
        const struct col_module *m = &s->modules.v.v[i];

        if (m->id)
            sym_resolve_where(&names, m->id, m->root, m->pid, m->pid);
    }
    sym_resolve_run(&names);
    sym_resolve_meta(&names);
    if (!s->options->no_source)
        col_source_keep(&(struct col_source){ &names, s->self.v, s->self.n, false });
    sym_resolve_release(&names);
}
