/* test_formats.c - low-level readers of the importers.  SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "formats/gzip.h"
#include "formats/marshal.h"
#include "formats/protobuf.h"
#include "formats/textscan.h"
#include "formats/timeline.h"
#include "formats/unwrap.h"
#include "profile/limits.h"
#include "test.h"

#include <zstd.h>

TEST(scan_line_takes_both_line_ends_and_a_last_line_without_one)
{
    struct scan_text rest = scan_of("a\r\n\nb", 5), line;

    CHECK(scan_line(&rest, &line) && scan_is(line, "a"));
    CHECK(scan_line(&rest, &line) && line.n == 0);
    CHECK(scan_line(&rest, &line) && scan_is(line, "b"));
    CHECK(!scan_line(&rest, &line));
}

TEST(scan_u64_saturates)
{
    struct scan_text t = scan_of("99999999999999999999999x", 24);
    uint64_t x;

    CHECK(scan_u64(&t, &x));
    CHECK(x == UINT64_MAX);
    CHECK(scan_is(t, "x"));
}

TEST(scan_i64_saturates)
{
    struct scan_text t = scan_of("9223372036854775808 -9223372036854775808 -7", 43);
    int64_t x;

    CHECK(scan_i64(&t, &x) && x == INT64_MAX);
    scan_space(&t);
    CHECK(scan_i64(&t, &x) && x == -INT64_MAX);
    scan_space(&t);
    CHECK(scan_i64(&t, &x) && x == -7 && !t.n);
}

TEST(scan_i64_does_not_consume_a_lone_minus)
{
    struct scan_text t = scan_of("-x", 2);
    int64_t x;

    CHECK(!scan_i64(&t, &x));
    CHECK(scan_is(t, "-x"));
}

TEST(scan_hex_takes_both_cases_and_stops_at_other_characters)
{
    struct scan_text t = scan_of("09afAFg", 7), skipped = t, none = scan_of("g1", 2);
    uint64_t x;

    CHECK(scan_hex(&t, &x) && x == 0x09afAF && scan_is(t, "g"));
    CHECK(scan_skip_hex(&skipped) && scan_is(skipped, "g"));
    CHECK(!scan_hex(&none, &x) && !scan_skip_hex(&none) && scan_is(none, "g1"));
    for (int c = 0; c < 256; c++) {
        char text[1] = { (char)c };

        t = scan_of(text, 1);
        CHECK_EQ(scan_skip_hex(&t), strchr("0123456789abcdefABCDEF", c) && c);
    }
}

TEST(protobuf_reads_what_it_wrote)
{
    struct buf b = { 0 };
    size_t at = pb_begin(&b, 3);
    struct pb_reader r;
    uint64_t x, sum = 0;

    buf_uleb(&b, 1);
    buf_uleb(&b, 300);
    pb_end(&b, at);
    pb_u64(&b, 4, 7);
    r = pb_reader_of(cursor_of(b.data, b.n));
    CHECK(pb_next(&r) && r.field == 3);
    while (pb_each(&r, &x))
        sum += x;
    CHECK_EQ(sum, 301);
    CHECK(pb_next(&r) && r.field == 4);
    CHECK(pb_each(&r, &x) && x == 7 && !pb_each(&r, &x));
    CHECK(!pb_next(&r) && !r.at.failed);
    buf_release(&b);
}

TEST(protobuf_lengths_may_take_several_bytes)
{
    struct buf b = { 0 };
    size_t at = pb_begin(&b, 5);
    struct pb_reader r;

    for (int i = 0; i < 20000; i++)
        buf_u8(&b, 'x');
    pb_end(&b, at);
    pb_u64(&b, 6, 1);
    r = pb_reader_of(cursor_of(b.data, b.n));
    CHECK(pb_next(&r) && r.field == 5 && cur_left(&r.bytes) == 20000);
    CHECK(pb_next(&r) && r.field == 6 && r.value == 1);
    buf_release(&b);
}

TEST(protobuf_reports_a_truncated_packed_number)
{
    static const unsigned char bytes[] = { 0x1a, 0x01, 0x80, 0x20, 0x07 };
    struct pb_reader r = pb_reader_of(cursor_of(bytes, sizeof bytes));
    uint64_t x;

    CHECK(pb_next(&r) && r.field == 3);
    CHECK(!pb_each(&r, &x));
    CHECK(r.at.failed);
}

TEST(unwrap_restores_the_packed_bytes)
{
    static const char text[] = "main;one 70\nmain;two 30\n";
    unsigned char packed[400];
    struct buf out = { 0 };
    struct err e = { 0 };
    size_t n = ZSTD_compress(packed, sizeof packed, text, sizeof text, 3);
    bool cut;

    CHECK(unwrap_needed(packed, n));
    CHECK_EQ(unwrap(packed, n, &out, &cut, &e), 0);
    CHECK(!cut && out.n == sizeof text && memcmp(out.data, text, out.n) == 0);
    out.n = 0;
    CHECK_EQ(unwrap(packed, n - 3, &out, &cut, &e), 0);
    CHECK(cut);
    buf_release(&out);
}

TEST(unwrap_limits_large_files_by_their_growth)
{
    CHECK_EQ(unwrap_limit(20), 64 << 20);
    CHECK_EQ(unwrap_limit(1 << 20), 400 << 20);
    CHECK_EQ(unwrap_limit((uint64_t)1 << 30), ((uint64_t)1 << 30) + LIMIT_UNPACKED);
    CHECK_EQ(unwrap_limit((uint64_t)1 << 40), ((uint64_t)1 << 40) + LIMIT_UNPACKED);
}

enum { ZEROS = 40 << 20 };

/* Unpack the packed zeros TIMES times in succession. */
static int unwrap_zeros(const struct buf *packed, size_t times, struct err *e)
{
    struct buf all = { 0 }, out = { 0 };
    bool cut;
    int rc;

    for (size_t i = 0; i < times; i++)
        buf_add(&all, packed->data, packed->n);
    rc = unwrap(all.data, all.n, &out, &cut, e);
    CHECK(rc < 0 || (!cut && out.n == times * ZEROS));
    buf_release(&all);
    buf_release(&out);
    return rc;
}

TEST(unwrap_refuses_what_expands_too_much)
{
    char *zeros = mem_zalloc(ZEROS);
    struct out gzip = out_memory();
    struct buf zstd = { 0 };
    struct err e = { 0 };

    gzip_write(&gzip, zeros, ZEROS);
    CHECK_EQ(unwrap_zeros(&gzip.buf, 1, &e), 0);
    CHECK_EQ(unwrap_zeros(&gzip.buf, 2, &e), -1);
    CHECK_EQ(e.code, ERR_LIMIT);
    CHECK(strstr(e.msg, "compressed bytes expand to more than"));
    buf_reserve(&zstd, ZSTD_compressBound(ZEROS));
    zstd.n = ZSTD_compress(zstd.data, zstd.cap, zeros, ZEROS, 1);
    CHECK_EQ(unwrap_zeros(&zstd, 1, &e), 0);
    e = (struct err){ 0 };
    CHECK_EQ(unwrap_zeros(&zstd, 2, &e), -1);
    CHECK_EQ(e.code, ERR_LIMIT);
    out_close(&gzip, NULL);
    buf_release(&zstd);
    free(zeros);
}

TEST(timeline_units_are_nanoseconds_when_they_are_times)
{
    CHECK(timeline_unit_ns("ns") == 1);
    CHECK(timeline_unit_ns("us") == 1e3 && timeline_unit_ns("microseconds") == 1e3);
    CHECK(timeline_unit_ns("ms") == 1e6 && timeline_unit_ns("milliseconds") == 1e6);
    CHECK(timeline_unit_ns("s") == 1e9 && timeline_unit_ns("seconds") == 1e9);
    CHECK(timeline_unit_ns("bytes") == 0);
}

TEST(protobuf_reports_a_length_that_does_not_fit)
{
    static const unsigned char bytes[] = { 0x1a, 0x7f, 0x01 };
    struct pb_reader r = pb_reader_of(cursor_of(bytes, sizeof bytes));

    CHECK(!pb_next(&r));
    CHECK(r.at.failed);
}

TEST(marshal_keeps_numbers_of_every_size)
{
    static const uint64_t numbers[] = { 0, 1, INT32_MAX, (uint64_t)INT32_MAX + 1, 1ull << 52 };

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        struct buf b = { 0 };
        struct marshal_reader r = { 0 };

        marshal_int(&b, numbers[i]);
        r.c = cursor_of(b.data, b.n);
        CHECK(marshal_next(&r).number == (double)numbers[i]);
        CHECK(!cur_left(&r.c));
        buf_release(&b);
    }
}
