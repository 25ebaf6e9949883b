/* perf_names.c - symbolize at the end: names, lines and inlined calls of every frame.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "perf/perf_engine.h"

enum { WORTH_UNPACKING_PCT = 20 };

/* Debug files of distributions are compressed, and decompressing that of the C library takes
 * longer than everything else.  Names do not need it, and lines matter only where time was
 * spent. */
static void spare_cold_modules(struct perf_engine *e, struct sym_resolve *names)
{
    uint64_t *self = mem_zalloc((e->in->module.n + 1) * sizeof *self), all = 0;

    for (size_t i = 0; i < e->self.n; i++) {
        self[e->in->frame.v[i].module] += e->self.v[i];
        all += e->self.v[i];
    }
    for (uint32_t id = 1; id <= e->in->module.n; id++)
        if (self[id] * 100 < all * WORTH_UNPACKING_PCT)
            sym_resolve_quick(names, id);
    free(self);
}

static bool is_root_name(const char *name)
{
    static const char *const roots[] = { "_start", "__libc_start_call_main", "__libc_start_main",
                                         "__libc_start_main_impl", "clone", "clone3", "__clone",
                                         "__clone3", "start_thread", "thread_start",
                                         "runtime.goexit", "runtime.mcall", "runtime.mstart",
                                         "runtime.rt0_go" };

    for (size_t i = 0; i < ARRAY_LEN(roots); i++)
        if (strcmp(name, roots[i]) == 0)
            return true;
    return false;
}

/* Frame-pointer chains that end in the first function of a thread are complete. */
static void judge_ends(struct perf_engine *e, struct sym_resolve *names)
{
    struct perf_stack_counts *c = &e->stacks.counts;

    for (uint32_t id = 1; e->stacks.ends.n && id <= e->in->frame.n; id++) {
        uint64_t n = umap_find(&e->stacks.ends, id);
        const struct frame *f = &e->in->frame.v[id - 1];
        struct sym_module *m =
            n && f->module ? sym_resolve_facts(names, f->module)->open : NULL;
        const struct sym_line *chain;

        if (m && sym_module_find(m, f->address - !!(f->flags & FRAME_RETURN), &chain) &&
            is_root_name(chain[0].name)) {
            c->complete += n;
            c->lost -= n;
            c->chains -= n;
        }
    }
}

void perf_names(struct perf_engine *e, struct sym_resolve *names)
{
    sym_resolve_init(names, e->in);
    names->no_linkage = true;
    names->is_past = e->modules.host->is_past;
    if (e->modules.host->no_files)
        return;
    for (size_t i = 0; i < e->modules.v.n; i++) {
        const struct perf_module *m = &e->modules.v.v[i];

        if (!m->id)
            continue;
        sym_resolve_where(names, m->id, m->root, m->target_pid, m->pid);
        sym_resolve_user(names, m->id, m->user);
        if (m->is_alias)
            sym_resolve_opened(names, m->id,
                               sym_module_open(&(struct sym_request){ .path = m->path,
                                                                      .kind = MODULE_NONE }));
        if (m->fd > 0)
            sym_resolve_file(names, m->id, m->fd);
        sym_resolve_variants(names, m->id, m->variant.v, m->variant.n);
    }
    sym_resolve_opened(names, e->stacks.kernel_module, perf_wait_take_kernel(&e->waits));
    spare_cold_modules(e, names);
    sym_resolve_run(names);
    sym_resolve_modules(names);
    judge_ends(e, names);
}
