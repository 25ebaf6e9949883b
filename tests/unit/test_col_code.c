/* test_col_code.c - mappings of paced processes, and the batch that reports them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_code.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/col_adopt.h"
#include "collect/col_pacer.h"
#include "test.h"

TEST(col_code_reports_mappings_that_are_gone_before_those_that_are_there)
{
    struct col_paced_process x = { .pid = getpid() };
    struct col_batch b = { 0 };
    struct buf now = { 0 };
    size_t middle;

    CHECK(!col_code_read(x.pid, 0, &now));
    middle = strcspn(buf_text(&now), "\n") + 1;
    buf_printf(&x.code, "1000-2000 r-xp 00000000 08:01 7 /gone\n");
    buf_add(&x.code, now.data, middle);
    buf_printf(&x.code, "%" PRIx64 "-%s r-xp 00000000 08:01 7 /gone too\n",
               (uint64_t)strtoull(buf_text(&now), NULL, 16) + 1, "fffffffffff");
    buf_add(&x.code, now.data + middle, now.n - middle);
    buf_printf(&x.code, "fffffffffffff000-fffffffffffff800 r-xp 0 08:01 7 /last\n");
    col_code_changed(&x, &b, 5);
    CHECK_EQ(b.v.n, 1);
    CHECK_EQ(b.v.v[0].kind, COL_BATCH_MAPS);
    CHECK(strncmp(buf_text(&b.bytes), "1000-2000 r-xp 0 00:00 0 \n", 26) == 0);
    CHECK(strstr(buf_text(&b.bytes), "fffffffffffff000-fffffffffffff800 r-xp 0 00:00 0 \n"));
    CHECK(strstr(buf_text(&b.bytes), buf_text(&now))); /* and then all that are there */
    for (int lines = 0, i = 0; i < (int)b.bytes.n; i++) {
        lines += b.bytes.data[i] == '\n';
        if (i == (int)(b.bytes.n - now.n) - 1)
            CHECK_EQ(lines, 3);
    }
    buf_release(&now);
    buf_release(&x.code);
    col_batch_release(&b);
}

/* An unknown pc must make it read the maps: at once for the first, later only from time to time. */
TEST(col_code_reads_the_maps_for_code_that_is_not_in_them)
{
    struct col_paced_process x = { .pid = getpid() };
    struct col_batch b = { 0 };
    uint64_t here = (uint64_t)(uintptr_t)&col_code_need;

    col_code_read(x.pid, 0, &x.code);
    col_code_need(&x, here, &b, 5);
    CHECK_EQ(b.v.n, 0);
    x.code.n = 0;
    x.has_ranges = false;
    buf_printf(&x.code, "1000-%" PRIx64 " r-xp 00000000 08:01 7 /low\n", here);
    col_code_need(&x, here - 1, &b, 6);
    CHECK_EQ(b.v.n, 0);
    col_code_need(&x, here, &b, 7);
    CHECK_EQ(b.v.n, 1);
    CHECK_EQ(b.v.v[0].kind, COL_BATCH_MAPS);
    CHECK_EQ(b.v.v[0].time_ns, 7);
    x.need_ns = 0;
    col_code_need(&x, here, &b, 8);
    CHECK_EQ(b.v.n, 1);
    x.need_ns = UINT64_MAX;
    col_code_need(&x, 1, &b, 9);
    CHECK_EQ(b.v.n, 1);
    buf_release(&x.code);
    vec_release(&x.range);
    col_batch_release(&b);
}

TEST(col_code_keeps_the_mappings_of_a_process_that_has_ended)
{
    struct col_paced_process x = { .pid = INT32_MAX };
    struct col_batch b = { 0 };

    buf_printf(&x.code, "1000-2000 r-xp 00000000 08:01 7 /it\n");
    col_code_need(&x, 0x3000, &b, 5);
    CHECK_EQ(b.v.n, 0);
    CHECK_STR(buf_text(&x.code), "1000-2000 r-xp 00000000 08:01 7 /it\n");
    buf_release(&x.code);
    vec_release(&x.range);
    col_batch_release(&b);
}

TEST(col_batch_has_a_limit_for_each_kind_of_event)
{
    enum { N = 40 << 20 };
    struct col_batch b = { 0 };
    char *bytes = calloc(1, N);

    CHECK(bytes != NULL);
    CHECK(col_batch_add(&b, COL_BATCH_SAMPLE, 1, bytes, N) != NULL);
    CHECK(col_batch_add(&b, COL_BATCH_SAMPLE, 2, bytes, N) == NULL);
    CHECK_EQ(col_batch_add(&b, COL_BATCH_EXEC, 3, bytes, N)->n, 0);
    CHECK_EQ(col_batch_add(&b, COL_BATCH_MAPS, 4, bytes, 5)->n, 5);
    CHECK_EQ(b.bytes.n, N + 5);
    CHECK_EQ(b.v.n, 3);
    col_batch_release(&b);
    free(bytes);
}

TEST(col_batch_without_events_can_be_sorted)
{
    struct col_batch b = { 0 };

    col_batch_sort(&b); /* the build with sanitizers ends at what the standard does not define */
    CHECK_EQ(b.v.n, 0);
}

TEST(col_adopt_tells_no_mappings_of_a_process_without_the_memory)
{
    struct agent_memory *m = calloc(1, sizeof *m);
    struct col_pacer p = { .memory = m, .memory_inode = 1, .namespace = 5, .period_ns = 1000000 };

    CHECK(m != NULL);
    for (uint32_t i = 0; i < 3; i++)
        m->process[i] = (struct agent_process){ .state = AGENT_HERE, .namespace = 5,
                                                .pid = (uint32_t)getpid(), .start_ns = 30 - i,
                                                .name = { (char)('a' + i) } };
    m->n_processes = 3;
    col_adopt_new(&p, 100);
    CHECK_EQ(p.process.n, 0);
    CHECK_EQ(p.batch.v.n, 6); /* a start and an end of each, in order of time */
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ(p.batch.v.v[2 * i].kind, COL_BATCH_EXEC);
        CHECK_EQ(p.batch.v.v[2 * i].time_ns, 28 + i);
        CHECK_EQ(p.batch.v.v[2 * i].name[0], 'c' - (char)i);
        CHECK_EQ(m->process[i].state, AGENT_UNUSED);
    }
    CHECK_EQ(p.batch.bytes.n, 0);
    col_batch_release(&p.batch);
    free(m);
}
