/* an_walk.h - visit the stacks of a profile as a tree, each between its caller and the stacks that
 * it called.  The work is that of visiting each stack once, no matter how deep the stacks are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_WALK_H
#define FATHOM_ANALYZE_AN_WALK_H

#include <stdbool.h>

#include "profile/profile.h"

struct an_walk {
    const struct profile *p;
    int64_t *total;         /* by stack id: weight of the stack and of all that it called */
    uint32_t *child, *next; /* by stack id; the children of 0 are the roots */
};

void an_walk_init(struct an_walk *w, const struct profile *p);
void an_walk_release(struct an_walk *w);
/* Add WEIGHT, which may be 0, to STACK, not 0. */
void an_walk_add(struct an_walk *w, uint32_t stack, int64_t weight);
/* Compute the totals, then call ENTER and LEAVE for every stack that something was added to, and
 * for its callers.  Forget all weights. */
void an_walk_run(struct an_walk *w, void (*enter)(void *with, uint32_t stack, int64_t total),
                 void (*leave)(void *with, uint32_t stack), void *with);

#endif
