/* test_sym_table.c - named address ranges.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "symbol/sym_table.h"

static void add(struct sym_table *t, uint64_t start, uint64_t end, uint32_t name, uint16_t rank)
{
    sym_table_add(t, (struct sym_entry){ start, end, name, 0, rank });
}

/* The name of the entry that contains ADDRESS, 0 if there is none. */
static uint32_t name_at(const struct sym_table *t, uint64_t address)
{
    long at = sym_table_find(t, address);

    return at < 0 ? 0 : t->entry.v[at].name;
}

static uint64_t section_end(void *arg, uint64_t start)
{
    return start < 0x1000 ? 0x1000 : 0x9000;
}

TEST(sym_table_finds_ranges_added_in_any_order)
{
    struct sym_table t = { 0 };

    for (uint32_t i = 0; i < 600; i++) { /* every value of the two lowest bytes that differ */
        uint64_t start = 0x40000000 + (uint64_t)(i * 7919 % 600) * 0x55;

        add(&t, start, start + 0x50, i * 7919 % 600 + 1, 0);
    }
    sym_table_finish(&t, NULL, NULL);
    for (uint32_t i = 0; i < 600; i++) {
        CHECK_EQ(name_at(&t, 0x40000000 + (uint64_t)i * 0x55), i + 1);
        CHECK_EQ(name_at(&t, 0x40000000 + (uint64_t)i * 0x55 + 0x4f), i + 1);
        CHECK_EQ(name_at(&t, 0x40000000 + (uint64_t)i * 0x55 + 0x50), 0);
    }
    CHECK_EQ(name_at(&t, 0x3fffffff), 0);
    sym_table_release(&t);
}

TEST(sym_table_ends_labels_at_the_next_or_at_their_section)
{
    struct sym_table t = { 0 };

    add(&t, 0x100, 0x100, 1, 0);
    add(&t, 0x200, 0x200, 2, 0);
    add(&t, 0x2000, 0x2100, 3, 0);
    add(&t, 0x2050, 0x2050, 4, 0); /* inside a function: not used as a name */
    sym_table_finish(&t, section_end, NULL);
    CHECK_EQ(name_at(&t, 0x100), 1);
    CHECK_EQ(name_at(&t, 0x1ff), 1);
    CHECK_EQ(name_at(&t, 0x200), 2);
    CHECK_EQ(name_at(&t, 0xfff), 2);
    CHECK_EQ(name_at(&t, 0x1000), 0);
    CHECK_EQ(name_at(&t, 0x2060), 3);
    CHECK_EQ(t.entry.v[0].end, 0x200);
    sym_table_release(&t);
}

TEST(sym_table_prefers_rank_and_the_innermost_range)
{
    struct sym_table t = { 0 };

    add(&t, 0x100, 0x200, 1, 1);
    add(&t, 0x100, 0x200, 2, 4);
    add(&t, 0x100, 0x200, 3, 2);
    add(&t, 0x300, 0x900, 4, 0);
    add(&t, 0x400, 0x500, 5, 0);
    sym_table_finish(&t, NULL, NULL);
    CHECK_EQ(name_at(&t, 0x150), 2);
    CHECK_EQ(name_at(&t, 0x450), 5);
    CHECK_EQ(name_at(&t, 0x500), 4); /* past the inner one, inside the outer */
    CHECK_EQ(name_at(&t, 0x8ff), 4);
    CHECK_EQ(name_at(&t, 0x900), 0);
    sym_table_release(&t);
}

TEST(sym_table_layers_do_not_join_across_a_gap)
{
    struct sym_table t = { 0 };

    add(&t, 0x100, 0x200, 7, 0);
    add(&t, 0x300, 0x400, 7, 0); /* the same code, written again to another address */
    add(&t, 0x180, 0x190, 8, 0);
    sym_table_finish_layers(&t);
    CHECK_EQ(name_at(&t, 0x17f), 7);
    CHECK_EQ(name_at(&t, 0x18f), 8);
    CHECK_EQ(name_at(&t, 0x190), 7);
    CHECK_EQ(name_at(&t, 0x250), 0);
    CHECK_EQ(name_at(&t, 0x300), 7);
    CHECK_EQ(t.entry.n, 4);
    sym_table_release(&t);
}
