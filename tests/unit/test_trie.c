/* test_trie.c - the prefix tree.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/trie.h"

TEST(trie_finds_the_children_it_made_in_narrow_and_wide_nodes)
{
    struct trie t = { 0 };
    uint32_t made[2][100];

    trie_init(&t);
    made[0][0] = trie_child(&t, 0, 7);
    CHECK_EQ(made[0][0], 1);
    for (uint32_t i = 0; i < 100; i++) {
        made[0][i] = trie_child(&t, 0, i + 10);
        made[1][i] = trie_child(&t, made[0][i], 5);
    }
    for (uint32_t i = 0; i < 100; i++) {
        CHECK_EQ(trie_child(&t, 0, i + 10), made[0][i]);
        CHECK_EQ(trie_child(&t, made[0][i], 5), made[1][i]);
        CHECK_EQ(t.node.v[made[1][i]].parent, made[0][i]);
    }
    CHECK_EQ(t.node.n, 202);
    trie_release(&t);
}

TEST(trie_lists_every_child_of_a_wide_node_once)
{
    struct trie t = { 0 };
    uint64_t sum = 0;
    int n = 0;

    trie_init(&t);
    for (uint32_t i = 1; i <= 50; i++)
        trie_child(&t, 0, i);
    for (uint32_t id = trie_first(&t, 0); id; id = t.node.v[id].next, n++)
        sum += t.node.v[id].key;
    CHECK_EQ(n, 50);
    CHECK_EQ(sum, 50 * 51 / 2);
    trie_release(&t);
}
