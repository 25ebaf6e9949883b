/* test_live_read.c - live regions that are damaged, truncated or of another version.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "channel/live_read.h"
#include "live_region.h"

static struct live_view v;

static int open_region(size_t bytes)
{
    return live_open(&v, live_region(), bytes);
}

static const struct live_node *node(const char *name)
{
    for (uint32_t i = 0; i < v.n_nodes; i++)
        if (strcmp(v.node[i].name, name) == 0)
            return &v.node[i];
    return NULL;
}

TEST(live_read_skips_nodes_with_an_invalid_parent)
{
    unsigned char *data = live_region();
    uint32_t all;

    CHECK_EQ(live_open(&v, data, REGION_BYTES), 0);
    all = v.n_nodes;
    CHECK_EQ(v.bad, 0);
    live_close(&v);
    data = live_region();
    live_region_node(1, "leaf")->parent = live_region_node(0, "work")->parent; /* another thread's */
    CHECK_EQ(live_open(&v, data, REGION_BYTES), 0);
    CHECK_EQ(v.bad, 1);
    CHECK_EQ(v.n_nodes, all - 1);
    live_close(&v);
    data = live_region();
    live_region_node(0, "leaf")->parent =
        (void *)((char *)live_region_node(0, "leaf")->parent + 8); /* between two nodes */
    CHECK_EQ(live_open(&v, data, REGION_BYTES), 0);
    CHECK_EQ(v.bad, 1);
    live_close(&v);
}

TEST(live_read_refuses_parents_newer_than_their_child)
{
    unsigned char *data = live_region();
    struct fathom_node_ *leaf = live_region_node(0, "leaf");

    live_region_node(0, "work")->seq = leaf->seq + 1; /* created after its child */
    CHECK_EQ(live_open(&v, data, REGION_BYTES), 0);
    CHECK(v.bad >= 1);
    live_close(&v);
    data = live_region();
    live_region_node(0, "work")->seq = live_region_node(0, "leaf")->seq;
    CHECK_EQ(live_open(&v, data, REGION_BYTES), 0);
    CHECK(v.bad >= 1);
    live_close(&v);
}

TEST(live_read_distinguishes_open_zones_from_those_just_counted)
{
    unsigned char *data = live_region();

    CHECK_EQ(live_open(&v, data, REGION_BYTES), 0);
    CHECK(node("open")->is_open);
    CHECK(!node("leaf")->is_open);
    live_close(&v);
    data = live_region();
    live_region_node(0, "open")->open = 1;
    CHECK_EQ(live_open(&v, data, REGION_BYTES), 0);
    CHECK(!node("open")->is_open);
    live_close(&v);
}

TEST(live_read_refuses_another_version_and_reads_a_truncated_file)
{
    unsigned char *data = live_region();

    live_region_header()->version++;
    CHECK_EQ(live_open(&v, data, REGION_BYTES), -1);
    data = live_region();
    live_region_header()->magic[0] ^= 1;
    CHECK_EQ(live_open(&v, data, REGION_BYTES), -1);
    CHECK_EQ(open_region(LIVE_PAGE), -1);
    CHECK_EQ(open_region(4 * LIVE_PAGE), 0);
    CHECK_EQ(v.head.n_pages, 4);
    live_close(&v);
}

TEST(live_read_treats_an_impossible_clock_rate_as_damage)
{
    struct live_header h = { .clock = LIVE_TICKS, .start_ticks = 1000, .start_ns = 5000 };

    h.last_ticks = 3000;
    h.last_ns = 6000;
    CHECK(live_ns_per_tick(&h) == 0.5);
    CHECK(live_ns_at(&h, 2000) == 5500);
    h.last_ns = 5000 + 3000000000u;
    CHECK(live_ns_per_tick(&h) == 1);
    h.last_ns = 5000;
    CHECK(live_ns_per_tick(&h) == 1);
}

TEST(live_sort_orders_any_number_of_keys)
{
    uint64_t key[200];

    for (size_t n = 0; n <= 200; n += 13) {
        for (size_t i = 0; i < n; i++)
            key[i] = i * 7919 % 211;
        live_sort_u64(key, n);
        for (size_t i = 1; i < n; i++)
            CHECK(key[i - 1] <= key[i]);
    }
}
