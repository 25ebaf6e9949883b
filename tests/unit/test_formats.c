/* test_formats.c - the small readers that importers stand on.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/marshal.h"
#include "formats/protobuf.h"
#include "formats/textscan.h"
#include "test.h"

TEST(scan_line_takes_both_line_ends_and_a_last_line_without_one)
{
    struct scan_text rest = scan_of("a\r\n\nb", 5), line;

    CHECK(scan_line(&rest, &line) && scan_is(line, "a"));
    CHECK(scan_line(&rest, &line) && line.n == 0);
    CHECK(scan_line(&rest, &line) && scan_is(line, "b"));
    CHECK(!scan_line(&rest, &line));
}

TEST(scan_u64_stays_at_the_largest_number_when_there_are_too_many_digits)
{
    struct scan_text t = scan_of("99999999999999999999999x", 24);
    uint64_t x;

    CHECK(scan_u64(&t, &x));
    CHECK(x == UINT64_MAX);
    CHECK(scan_is(t, "x"));
}

TEST(scan_i64_leaves_a_lone_minus_alone)
{
    struct scan_text t = scan_of("-x", 2);
    int64_t x;

    CHECK(!scan_i64(&t, &x));
    CHECK(scan_is(t, "-x"));
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

TEST(protobuf_says_when_a_length_does_not_fit)
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
