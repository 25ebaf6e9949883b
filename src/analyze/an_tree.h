/* an_tree.h - the call tree of a profile: stacks merged by function, inlined calls expanded.
 *
 * The keys of the trie are indexes into an_symbols; node 0 is the root, "all".  Weights are
 * kept apart, one array per question, because one tree serves every metric and thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_TREE_H
#define FATHOM_ANALYZE_AN_TREE_H

#include "analyze/an_symbols.h"
#include "analyze/an_view.h"
#include "base/trie.h"

struct an_tree {
    struct trie trie;
    VEC(uint32_t) node_of_stack; /* stack id - 1: its leaf node; 0 when not in the tree */
};

/* KEEP has a byte per sample, nonzero for those wanted; NULL keeps all. */
void an_tree_build(struct an_tree *t, const struct an_symbols *s, const unsigned char *keep);
void an_tree_release(struct an_tree *t);

/* Self weight of V by node, of the kept samples: an array of trie.node.n for free(). */
int64_t *an_tree_self(const struct an_tree *t, const struct an_view *v, const unsigned char *keep);
/* The same for waiting alone; *KINDS, AN_KINDS for each node, says what for.  Both for free(). */
int64_t *an_tree_waits(const struct an_tree *t, const struct an_view *v, int64_t **kinds);
/* Self to total, in place: each node's weight is added to its parent's. */
void an_tree_total(const struct an_tree *t, int64_t *weight);

/* The same profile seen from the leaves: children are callers.  SELF is by node of T; *OUT_SELF
 * becomes the array for OUT, where the weight sits at the outermost caller. */
void an_tree_invert(const struct an_tree *t, const int64_t *self, struct an_tree *out,
                    int64_t **out_self);
/* Other weights of T, zero where SELF was, on the tree OUT made from it. */
int64_t *an_tree_invert_more(const struct an_tree *t, const int64_t *weight, struct an_tree *out);

/* Order of symbols by name, kind and inlining: rank[symbol], for free(). */
uint32_t *an_tree_ranks(const struct an_symbols *s);
/* Nodes in depth-first order, siblings by RANK, the root first: array of trie.node.n. */
uint32_t *an_tree_order(const struct an_tree *t, const uint32_t *rank);

#endif
