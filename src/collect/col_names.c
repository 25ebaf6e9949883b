/* col_names.c - at the end: names, lines and inlined calls of every frame that was hit.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "collect/col_session.h"
#include "collect/col_source.h"
#include "symbol/sym_resolve.h"

enum { WORTH_UNPACKING_PCT = 20 };

/* A distribution's debug files are compressed: to unpack that of the C library costs more than
 * all else together.  Names do not need it, and lines only matter where time was spent. */
static void spare_cold_modules(struct col_session *s, struct sym_resolve *names)
{
    uint64_t *self = mem_zalloc((s->in.module.n + 1) * sizeof *self), all = 0;

    for (size_t i = 0; i < s->self.n; i++) {
        self[s->in.frame.v[i].module] += s->self.v[i];
        all += s->self.v[i];
    }
    for (uint32_t id = 1; id <= s->in.module.n; id++)
        if (self[id] * 100 < all * WORTH_UNPACKING_PCT)
            sym_resolve_quick(names, id);
    free(self);
}

void col_names(struct col_session *s)
{
    struct sym_resolve names;

    sym_resolve_init(&names, &s->in);
    names.no_linkage = true;
    for (size_t i = 0; i < s->modules.v.n; i++) {
        const struct col_module *m = &s->modules.v.v[i];

        if (m->id)
            sym_resolve_where(&names, m->id, m->root, m->pid, m->pid);
    }
    spare_cold_modules(s, &names);
    sym_resolve_run(&names);
    sym_resolve_meta(&names);
    if (!s->options->no_source)
        col_source_keep(&(struct col_source){ &names, s->self.v, s->self.n, false });
    sym_resolve_release(&names);
}
