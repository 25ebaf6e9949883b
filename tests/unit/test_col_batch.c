/* test_col_batch.c - what the pacing thread hands to the main thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_batch.h"
#include "test.h"

static void add(struct col_batch *b, enum col_batch_kind kind, uint64_t time, int64_t tid)
{
    col_batch_add(b, kind, time, NULL, 0)->tid = tid;
}

TEST(col_batch_orders_events_of_one_time_as_they_happened)
{
    struct col_batch b = { 0 };
    struct buf order = { 0 };

    add(&b, COL_BATCH_END, 20, 9);
    add(&b, COL_BATCH_RETURNS, 20, 3);
    add(&b, COL_BATCH_QUEUES, 20, 4);
    add(&b, COL_BATCH_RETURNS, 20, 5);
    add(&b, COL_BATCH_SAMPLE, 20, 6);
    add(&b, COL_BATCH_LEAVES, 20, 7);
    add(&b, COL_BATCH_LOOK, 20, 8);
    add(&b, COL_BATCH_MAPS, 20, 2);
    add(&b, COL_BATCH_EXEC, 20, 1);
    add(&b, COL_BATCH_LEAVES, 10, 0);
    col_batch_sort(&b);
    for (size_t i = 0; i < b.v.n; i++)
        buf_printf(&order, "%d ", (int)b.v.v[i].tid);
    CHECK_STR(buf_text(&order), "0 1 2 3 4 5 6 7 8 9 ");
    buf_release(&order);
    col_batch_release(&b);
}
