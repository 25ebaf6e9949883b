/* an_list.h - list a call tree as lines: depth first, largest child first, without small nodes.
 * Also build the tree of callers of a function.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_LIST_H
#define FATHOM_ANALYZE_AN_LIST_H

#include "analyze/an_tree.h"

struct an_line {
    uint32_t node;     /* of the tree */
    uint32_t depth;    /* from 0 */
    uint32_t parent;   /* index of its line, UINT32_MAX at the top */
    uint32_t siblings; /* number of shown siblings, including this line */
    bool last;         /* of its siblings */
    int64_t self, total;
    int64_t wait; /* waiting part of total (wall views) */
};

struct an_hidden { /* a hidden node, with its whole subtree */
    uint32_t parent; /* index of its line, UINT32_MAX at the top */
    int64_t total;
};

struct an_list {
    VEC(struct an_line) line;
    VEC(struct an_hidden) hidden; /* children of shown nodes */
};

/* SELF is by node of T; WAIT is the waiting part of it, or NULL.  Hide nodes whose total is less
 * than LEAST.  Node 0 is not a line. */
void an_list_build(struct an_list *l, const struct an_tree *t, const struct an_symbols *s,
                   const int64_t *self, const int64_t *wait, int64_t least);
void an_list_release(struct an_list *l);

/* Build the tree of callers of the functions named NAME (or if there are none, of those whose name
 * contains NAME).  The top nodes of OUT are these functions, children are callers.  *WAIT is the
 * waiting part of *SELF; the caller frees both.  Only the outermost call of a recursion counts.
 * Return -1 when no function matches. */
int an_callers_build(struct an_tree *out, int64_t **self, int64_t **wait,
                     const struct an_symbols *s, const struct an_view *v, const char *name,
                     struct err *e);

#endif
