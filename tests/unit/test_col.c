/* test_col.c - the recorder's parsers and tables.  SPDX-License-Identifier: Apache-2.0 */
#include <linux/perf_event.h>

#include "base/buf.h"
#include "perf/perf_blocked.h"
#include "collect/col_event.h"
#include "perf/perf_lbr.h"
#include "perf/perf_decode.h"
#include "collect/col_proc.h"
#include "collect/collect.h"
#include "test.h"

/* --- records --- */

static void begin(struct buf *b, uint32_t type, uint16_t misc)
{
    buf_u32(b, type);
    buf_u16(b, misc);
    buf_u16(b, 0);
}

static void trailer(struct buf *b)
{
    buf_u32(b, 11);   /* pid */
    buf_u32(b, 12);   /* tid */
    buf_u64(b, 1000); /* time */
    buf_u32(b, 3);    /* cpu */
    buf_u32(b, 0);
    buf_u64(b, 77); /* id */
}

TEST(col_parse_reads_a_sample_with_chain_registers_and_stack)
{
    struct buf b = { 0 };
    struct perf_record r;

    begin(&b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    buf_u64(&b, 77);     /* id */
    buf_u64(&b, 0x1234); /* ip */
    buf_u32(&b, 11);
    buf_u32(&b, 12);
    buf_u64(&b, 1000);
    buf_u32(&b, 3);
    buf_u32(&b, 0);
    buf_u64(&b, 5); /* period */
    buf_u64(&b, 2); /* chain */
    buf_u64(&b, (uint64_t)PERF_CONTEXT_USER);
    buf_u64(&b, 0x1234);
    buf_u64(&b, PERF_SAMPLE_REGS_ABI_64);
    for (uint64_t m = perf_decode_regs_mask(); m; m &= m - 1)
        buf_u64(&b, 0x7000);
    buf_u64(&b, 16); /* reserved */
    buf_u64(&b, 1);
    buf_u64(&b, 2);
    buf_u64(&b, 8); /* used */
    CHECK(perf_decode(b.data, b.n, COL_SAMPLE | COL_STACK, &r));
    CHECK_EQ(r.id, 77);
    CHECK_EQ(r.ip, 0x1234);
    CHECK_EQ(r.tid, 12);
    CHECK_EQ(r.cpu, 3);
    CHECK_EQ(r.period, 5);
    CHECK_EQ(r.chain.n, 2);
    CHECK_EQ(perf_word(&r.chain, 1), 0x1234);
    CHECK(r.has_regs);
    CHECK_EQ(r.regs.sp, 0x7000);
    CHECK_EQ(r.stack.size, 8);
    for (size_t n = 0; n < b.n; n++)
        CHECK(!perf_decode(b.data, n, COL_SAMPLE | COL_STACK, &r));
    buf_release(&b);
}

TEST(col_parse_refuses_a_chain_longer_than_its_record)
{
    struct buf b = { 0 };
    struct perf_record r;

    begin(&b, PERF_RECORD_SAMPLE, 0);
    for (int i = 0; i < 6; i++)
        buf_u64(&b, 0);
    buf_u64(&b, UINT64_MAX / 4); /* words of the chain */
    CHECK(!perf_decode(b.data, b.n, COL_SAMPLE, &r));
    buf_release(&b);
}

TEST(col_parse_reads_a_mapping_with_its_build_id)
{
    static const unsigned char id[20] = { 1, 2, 3 };
    struct buf b = { 0 };
    struct perf_record r;

    begin(&b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
    buf_u32(&b, 1);
    buf_u32(&b, 2);
    buf_u64(&b, 0x400000);
    buf_u64(&b, 0x1000);
    buf_u64(&b, 0x2000);
    buf_u32(&b, 20); /* size of the id, then three bytes of nothing */
    buf_add(&b, id, 20);
    buf_u32(&b, 5);
    buf_u32(&b, 0);
    buf_add(&b, "/bin/x\0", 8);
    trailer(&b);
    CHECK(perf_decode(b.data, b.n, COL_TRAILER, &r));
    CHECK_EQ(r.pid, 1);
    CHECK_EQ(r.start, 0x400000);
    CHECK_EQ(r.file_offset, 0x2000);
    CHECK_EQ(r.build_id_size, 20);
    CHECK(memcmp(r.build_id, id, 20) == 0);
    CHECK_STR(r.text, "/bin/x");
    CHECK_EQ(r.time_ns, 1000);
    buf_release(&b);
}

TEST(col_parse_refuses_a_name_without_an_end)
{
    struct buf b = { 0 };
    struct perf_record r;

    begin(&b, PERF_RECORD_COMM, 0);
    buf_u32(&b, 1);
    buf_u32(&b, 2);
    buf_add(&b, "abcdefgh", 8);
    trailer(&b);
    CHECK(!perf_decode(b.data, b.n, COL_TRAILER, &r));
    buf_release(&b);
}

/* --- events --- */

TEST(col_event_knows_names_modifiers_and_raw_numbers)
{
    struct col_events ev = { 0 };
    struct err e = { 0 };

    CHECK_EQ(col_event_parse("cpu-clock,page-faults:u,r1c2,cycles:k", &ev, &e), 0);
    CHECK_EQ(ev.n, 4);
    CHECK(ev.v[0].is_clock);
    CHECK_STR(ev.v[0].name, "cpu");
    CHECK(ev.v[1].no_kernel && !ev.v[1].no_user);
    CHECK_EQ(ev.v[2].config, 0x1c2);
    CHECK_EQ(ev.v[2].type, PERF_TYPE_RAW);
    CHECK(ev.v[3].no_user && ev.v[3].is_hardware);
    vec_release(&ev);
}

TEST(col_event_keeps_two_clocks_apart)
{
    struct col_events ev = { 0 };
    struct err e = { 0 };

    CHECK_EQ(col_event_parse("cpu-clock,task-clock", &ev, &e), 0);
    CHECK_STR(ev.v[0].name, "cpu");
    CHECK_STR(ev.v[1].name, "task-clock");
    vec_release(&ev);
}

TEST(col_event_refuses_what_it_does_not_know)
{
    static const char *const bad[] = { "", "nonsense", "cycles,", "cpu-clock,,cycles",
                                       "../../etc:passwd", "nopmu/event=1/" };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct col_events ev = { 0 };
        struct err e = { 0 };

        CHECK(col_event_parse(bad[i], &ev, &e) < 0 && e.msg[0]);
        vec_release(&ev);
    }
}

TEST(col_parse_graph_takes_modes_and_their_numbers)
{
    struct col_options o = { 0 };
    struct err e = { 0 };

    CHECK_EQ(col_parse_graph("", &o, &e), 0);
    CHECK_EQ(o.graph, PERF_GRAPH_AUTO);
    CHECK_EQ(col_parse_graph("dwarf,16384", &o, &e), 0);
    CHECK_EQ(o.graph, PERF_GRAPH_DWARF);
    CHECK_EQ(o.copy_bytes, 16384);
    CHECK_EQ(col_parse_graph("fp,20", &o, &e), 0);
    CHECK_EQ(o.depth, 20);
    CHECK(col_parse_graph("dwarf,70000", &o, NULL) < 0);
    CHECK(col_parse_graph("dwar", &o, NULL) < 0);
    CHECK(col_parse_graph("lbr,3", &o, NULL) < 0);
}

/* --- /proc --- */

TEST(col_proc_reads_lines_of_a_maps_file)
{
    struct perf_mapping w;
    char file[] = "7f00-8f00 r-xp 00001000 08:02 42   /usr/lib/a b.so (deleted)\n";
    char anon[] = "7f00-8f00 rwxp 00000000 00:00 0 \n", data[] = "7f00-8f00 r--p 0 08:02 42 /x\n";
    char broken[] = "7f00-8f00", backwards[] = "8f00-7f00 r-xp 0 08:02 42 /x\n";

    CHECK(col_proc_maps_line(file, &w));
    CHECK_EQ(w.start, 0x7f00);
    CHECK_EQ(w.file_offset, 0x1000);
    CHECK_EQ(w.inode, 42);
    CHECK_STR(w.path, "/usr/lib/a b.so (deleted)");
    CHECK(col_proc_maps_line(anon, &w));
    CHECK_STR(w.path, "//anon");
    CHECK(!col_proc_maps_line(data, &w));
    CHECK(!col_proc_maps_line(broken, &w));
    CHECK(!col_proc_maps_line(backwards, &w));
}

TEST(perf_blocked_knows_calls_and_kernel_functions)
{
    CHECK_STR(perf_blocked_by_call(-1), "[page fault]");
    CHECK_STR(perf_blocked_by_call(100000), PERF_BLOCKED_UNKNOWN);
    CHECK_STR(perf_blocked_by_function("futex_wait_queue.isra.0"), "[futex]");
    CHECK(perf_blocked_by_function("schedule") == NULL);
}

/* --- last-branch records --- */

static struct perf_record branches(struct buf *b, const uint64_t *calls, size_t n)
{
    struct perf_record r = { .misc = PERF_RECORD_MISC_USER, .ip = 0x999 };

    b->n = 0;
    for (size_t i = n; i-- > 0;) { /* newest first */
        buf_u64(b, calls[i]);
        buf_u64(b, calls[i] + 0x1000);
        buf_u64(b, 0);
    }
    r.branches = (struct perf_words){ b->data, n * 3 };
    return r;
}

TEST(perf_lbr_stitches_a_full_stack_onto_the_one_before)
{
    static const uint64_t first[] = { 1, 2, 3, 4 }, deeper[] = { 3, 4, 5, 6 },
                          other[] = { 90, 91, 92, 93 }, shallow[] = { 1, 2 };
    struct perf_lbr known = { 0 };
    struct unw_frame frames[16];
    struct buf b = { 0 };
    struct perf_lbr_stack s;
    struct perf_record r;
    size_t depth = 4;

    r = branches(&b, shallow, 2);
    s = perf_lbr_walk(&r, &known, &depth, frames, 16);
    CHECK(s.whole && s.n == 3 && !s.stitched);
    r = branches(&b, first, 4);
    s = perf_lbr_walk(&r, &known, &depth, frames, 16);
    CHECK(s.whole && s.n == 5);
    r = branches(&b, deeper, 4);
    s = perf_lbr_walk(&r, &known, &depth, frames, 16);
    CHECK(s.whole);
    CHECK_EQ(s.stitched, 2);
    CHECK_EQ(s.n, 7);
    CHECK_EQ(frames[0].pc, 0x999);
    CHECK_EQ(frames[1].pc, 7);
    CHECK_EQ(frames[6].pc, 2);
    r = branches(&b, other, 4);
    s = perf_lbr_walk(&r, &known, &depth, frames, 16);
    CHECK(!s.whole && s.n == 5);
    vec_release(&known);
    buf_release(&b);
}
