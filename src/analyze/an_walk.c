/* an_walk.c - see an_walk.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_walk.h"

#include <stdlib.h>
#include <string.h>

#define UNUSED UINT32_MAX /* child of a stack that is not visited */

void an_walk_init(struct an_walk *w, const struct profile *p)
{
    size_t n = p->stack.n + 1;

    *w = (struct an_walk){ p, mem_zalloc(n * sizeof *w->total), mem_alloc(n * sizeof *w->child),
                           mem_alloc(n * sizeof *w->next) };
    memset(w->child, 0xff, n * sizeof *w->child);
}

void an_walk_release(struct an_walk *w)
{
    free(w->total);
    free(w->child);
    free(w->next);
}

void an_walk_add(struct an_walk *w, uint32_t stack, int64_t weight)
{
    w->total[stack] += weight;
    if (w->child[stack] == UNUSED)
        w->child[stack] = 0;
}

/* A parent has a lower id than its children, so one pass from the last stack reaches all. */
static void link_children(struct an_walk *w)
{
    for (size_t id = w->p->stack.n; id > 0; id--) {
        uint32_t parent = w->p->stack.v[id - 1].parent;

        if (w->child[id] == UNUSED)
            continue;
        w->next[id] = w->child[parent] == UNUSED ? 0 : w->child[parent];
        w->child[parent] = (uint32_t)id;
        w->total[parent] += parent ? w->total[id] : 0;
    }
}

void an_walk_run(struct an_walk *w, void (*enter)(void *with, uint32_t stack, int64_t total),
                 void (*leave)(void *with, uint32_t stack), void *with)
{
    uint32_t at;

    link_children(w);
    at = w->child[0] == UNUSED ? 0 : w->child[0];
    while (at) {
        enter(with, at, w->total[at]);
        if (w->child[at]) {
            at = w->child[at];
            continue;
        }
        while (at && !w->next[at]) {
            leave(with, at);
            at = w->p->stack.v[at - 1].parent;
        }
        if (at) {
            leave(with, at);
            at = w->next[at];
        }
    }
    memset(w->total, 0, (w->p->stack.n + 1) * sizeof *w->total);
    memset(w->child, 0xff, (w->p->stack.n + 1) * sizeof *w->child);
}
