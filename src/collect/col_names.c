/* col_names.c - see col_names.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_names.h"

#include <stdio.h>
#include <string.h>

#include "collect/col_paced.h"
#include "collect/col_proc.h"

static void tell(struct col_pacer *p, const struct col_paced_thread *t, uint64_t now)
{
    struct col_batch_event *e;
    char name[64];

    if (col_proc_comm(t->of->pid, t->tid, name, sizeof name) <= 0)
        return;
    e = col_batch_add(&p->batch, COL_BATCH_NAME, now, NULL, 0);
    e->pid = t->of->pid;
    e->tid = t->tid;
    snprintf(e->name, sizeof e->name, "%.*s", (int)strcspn(name, "\n"), name);
}

void col_names_look(struct col_pacer *p, struct col_paced_process *x, uint64_t now)
{
    uint32_t names = __atomic_load_n(&p->memory->process[x->number].names, __ATOMIC_RELAXED);

    if (names == x->names)
        return;
    x->names = names;
    for (size_t i = 0; i < x->thread.n; i++)
        if (x->thread.v[i]->has_sample)
            tell(p, x->thread.v[i], now);
}
