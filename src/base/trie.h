/* trie.h - a growing tree whose children are found by key: stacks merged by prefix.
 *
 * Node 0 is the root.  A child has a larger number than its parent, so one pass from
 * the last node to the first computes totals.  Most nodes of real profiles have one child: short
 * lists are searched linearly, and only wide nodes use the index.  Start from {0} and
 * trie_init; 16 bytes per node.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_TRIE_H
#define FATHOM_BASE_TRIE_H

#include "base/hash.h"
#include "base/mem.h"

#define TRIE_WIDE_ 0x80000000u

struct trie_node {
    uint32_t key, parent;
    uint32_t child_; /* first child, newest first; see trie_first */
    uint32_t next;   /* sibling, 0 ends */
};

struct trie {
    VEC(struct trie_node) node;
    struct index wide_;
};

void trie_init(struct trie *t);
void trie_release(struct trie *t);
/* The child of PARENT with KEY; created if it does not exist. */
uint32_t trie_child(struct trie *t, uint32_t parent, uint32_t key);

/* The first child, 0 when none; node.v[id].next is the next one. */
static inline uint32_t trie_first(const struct trie *t, uint32_t id)
{
    return t->node.v[id].child_ & ~TRIE_WIDE_;
}

#endif
