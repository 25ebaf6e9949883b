/* an_tree.h - the call tree of a profile: stacks merged by function, inlined calls expanded.
 *
 * The keys of the trie are indexes into an_symbols; node 0 is the root, "all".  Weights are in
 * separate arrays, because one tree serves all metrics and threads.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_TREE_H
#define FATHOM_ANALYZE_AN_TREE_H

#include "analyze/an_symbols.h"
#include "analyze/an_view.h"
#include "base/trie.h"

struct an_tree {
    struct trie trie;
    VEC(uint32_t) node_of_stack; /* by stack id - 1: its innermost node; 0 when not in the tree */
    uint32_t reach; /* of a tree of callers: it lacks those farther away; 0: it has all */
};

/* KEEP has a byte per sample, nonzero to keep it; NULL keeps all. */
void an_tree_build(struct an_tree *t, const struct an_symbols *s, const unsigned char *keep);
void an_tree_release(struct an_tree *t);

/* Return the self weight of the kept samples by node; the caller frees the array. */
int64_t *an_tree_self(const struct an_tree *t, const struct an_view *v, const unsigned char *keep);
/* The same for waiting only.  *KINDS has AN_KINDS weights for each node, one for each wait kind.
 * The caller frees both. */
int64_t *an_tree_waits(const struct an_tree *t, const struct an_view *v, int64_t **kinds);
/* Turn self into total weights, in place: add the weight of each node to its parent's. */
void an_tree_total(const struct an_tree *t, int64_t *weight);

/* Build the inverted tree: children are callers.  SELF is by node of T; *OUT_SELF becomes the array
 * for OUT, where the weight is at the outermost caller. */
void an_tree_invert(const struct an_tree *t, const int64_t *self, struct an_tree *out,
                    int64_t **out_self);
/* Return other weights of T by node of the inverted tree OUT.  They must be zero where SELF was. */
int64_t *an_tree_invert_more(const struct an_tree *t, const int64_t *weight, struct an_tree *out);

/* Given the numbers of functions in N paths, each DEPTH[i] or 0 for none, return how many functions
 * of each path to follow so that all together are at most LIMIT_CALLERS; 0: all. */
uint32_t an_tree_reach(const uint32_t *depth, size_t n);

/* Return the rank of each symbol by name, kind and inlining; the caller frees the array. */
uint32_t *an_tree_ranks(const struct an_symbols *s);
/* Return all nodes in depth-first order, root first, siblings by RANK. */
uint32_t *an_tree_order(const struct an_tree *t, const uint32_t *rank);

#endif
