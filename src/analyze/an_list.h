/* an_list.h - a call tree as lines: depth first, the heaviest child first, small ones left out.
 * And the tree of callers of one function.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_LIST_H
#define FATHOM_ANALYZE_AN_LIST_H

#include "analyze/an_tree.h"

struct an_line {
    uint32_t node;     /* of the tree */
    uint32_t depth;    /* callers above it, from 0 */
    uint32_t parent;   /* index of its line, UINT32_MAX at the top */
    uint32_t siblings; /* shown beside it, itself included */
    bool last;         /* of its siblings */
    int64_t self, total;
    int64_t wait; /* of total, waiting (wall views) */
};

struct an_hidden { /* a node that was left out, with all below it */
    uint32_t parent; /* index of its line, UINT32_MAX at the top */
    int64_t total;
};

struct an_list {
    VEC(struct an_line) line;
    VEC(struct an_hidden) hidden; /* directly below shown ones */
};

/* SELF by node of T, and WAIT, the part of it that is waiting, or NULL.  Nodes whose total is
 * below LEAST are left out.  Node 0 is not a line. */
void an_list_build(struct an_list *l, const struct an_tree *t, const struct an_symbols *s,
                   const int64_t *self, const int64_t *wait, int64_t least);
void an_list_release(struct an_list *l);

/* Who calls the functions called NAME (or, when none is called so, those whose name has it in
 * it): OUT's top nodes are those functions, children are callers.  *SELF, and *WAIT, the waiting
 * in it, are for free().  The outermost call counts, so that recursion does not count twice.
 * -1 when there is none. */
int an_callers_build(struct an_tree *out, int64_t **self, int64_t **wait,
                     const struct an_symbols *s, const struct an_view *v, const char *name,
                     struct err *e);

#endif
