/* trie.c - see trie.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/trie.h"

#include <stdlib.h>

enum { LIST_MAX = 4 }; /* children to search linearly before using the index */

void trie_init(struct trie *t)
{
    vec_push(&t->node, ((struct trie_node){ 0 }));
}

void trie_release(struct trie *t)
{
    vec_release(&t->node);
    index_release(&t->wide_);
}

static uint32_t add_node(struct trie *t, uint32_t parent, uint32_t key)
{
    uint32_t id = (uint32_t)t->node.n, up = t->node.v[parent].child_;

    *vec_add(&t->node) = (struct trie_node){ key, parent, 0, up & ~TRIE_WIDE_ };
    t->node.v[parent].child_ = id | (up & TRIE_WIDE_);
    return id;
}

static void make_wide(struct trie *t, uint32_t parent)
{
    for (uint32_t id = trie_first(t, parent); id; id = t->node.v[id].next)
        index_add(&t->wide_, hash_pair(parent, t->node.v[id].key), id);
    t->node.v[parent].child_ |= TRIE_WIDE_;
}

static uint32_t wide_child(struct trie *t, uint32_t parent, uint32_t key)
{
    uint64_t h = hash_pair(parent, key);
    uint32_t id;

    for (uint32_t at = index_first(&t->wide_, h); (id = index_id(&t->wide_, h, &at));)
        if (t->node.v[id].key == key && t->node.v[id].parent == parent)
            return id;
    id = add_node(t, parent, key);
    index_add(&t->wide_, h, id);
    return id;
}

uint32_t trie_child(struct trie *t, uint32_t parent, uint32_t key)
{
    uint32_t first = t->node.v[parent].child_, id;
    int n = 0;

    if (first & TRIE_WIDE_)
        return wide_child(t, parent, key);
    for (id = first; id; id = t->node.v[id].next, n++)
        if (t->node.v[id].key == key)
            return id;
    id = add_node(t, parent, key);
    if (n + 1 == LIST_MAX)
        make_wide(t, parent);
    return id;
}
