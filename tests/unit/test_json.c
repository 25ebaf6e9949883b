/* test_json.c - the JSON writer and reader.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "text/json.h"

TEST(json_writer_escapes_and_places_commas)
{
    struct out o = out_memory();
    struct json j = { .out = &o };

    json_object(&j);
    json_put_str(&j, "a\"b", "x\n\x01\xff");
    json_key(&j, "list");
    json_array(&j);
    json_u64(&j, 1);
    json_object(&j);
    json_end_object(&j);
    json_num(&j, 0.5, 2);
    json_end_array(&j);
    json_put_bool(&j, "yes", true);
    json_end_object(&j);
    CHECK_STR(buf_text(&o.buf),
              "{\"a\\\"b\":\"x\\n\\u0001\\ufffd\",\"list\":[1,{},0.50],\"yes\":true}");
    out_close(&o, NULL);
}

TEST(json_reader_returns_tokens_in_order)
{
    static const char text[] =
        " {\"k\\u00e9\": [1, -2.5e1, \"s\\ud83d\\ude00\", null], \"t\": true} ";
    static const enum json_token want[] = { JSON_OBJECT, JSON_KEY,  JSON_ARRAY, JSON_NUMBER,
                                            JSON_NUMBER, JSON_STRING, JSON_NULL, JSON_ARRAY_END,
                                            JSON_KEY,    JSON_TRUE, JSON_OBJECT_END, JSON_END };
    struct json_reader r;

    json_reader_init(&r, text, sizeof text - 1);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        CHECK_EQ(json_next(&r), want[i]);
        if (i == 1)
            CHECK(json_text_is(&r, "k\xc3\xa9"));
        if (i == 4)
            CHECK(r.number == -25);
        if (i == 5)
            CHECK(json_text_is(&r, "s\xf0\x9f\x98\x80"));
    }
    json_reader_release(&r);
}

static const char *error_of(const char *text)
{
    struct json_reader r;
    const char *error;

    json_reader_init(&r, text, strlen(text));
    while (json_next(&r) > JSON_ERROR)
        ;
    error = r.error;
    json_reader_release(&r);
    return error;
}

TEST(json_reader_refuses_what_is_not_json)
{
    static const char *const bad[] = { "{", "[1 2]", "{\"a\" 1}", "[}", "\"abc", "\"\\x\"",
                                       "{\"a\":}", "tru", "1 2", "-", "[\"\\u12\"]", "{1:2}" };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!error_of(bad[i]))
            test_fail(__FILE__, __LINE__, "accepted %s", bad[i]);
    CHECK(!error_of("[1,2,]"));
}

TEST(json_reader_bounds_depth)
{
    char deep[2000];

    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    CHECK_STR(error_of(deep), "nested too deeply");
}

TEST(json_skip_skips_one_value)
{
    static const char text[] = "{\"a\":{\"b\":[1,{}]},\"c\":9007199254740993}";
    struct json_reader r;

    json_reader_init(&r, text, sizeof text - 1);
    CHECK_EQ(json_next(&r), JSON_OBJECT);
    CHECK(json_next_key(&r));
    json_skip(&r);
    CHECK(json_next_key(&r) && json_text_is(&r, "c"));
    CHECK_EQ(json_read_i64(&r, 0), 9007199254740993);
    CHECK(!json_next_key(&r));
    CHECK_EQ(json_next(&r), JSON_END);
    json_reader_release(&r);
}

TEST(json_strings_end_at_their_quote_at_any_offset)
{
    char text[64], plain[32];

    for (size_t n = 0; n < 20; n++)
        for (size_t escape = 0; escape <= n; escape++) {
            struct json_reader r;
            size_t size;

            /* bytes above the quote: '\xe9' as unsigned, '#' in any case */
            memset(plain, escape % 2 ? '\xe9' : '#', n);
            memcpy(text, plain, n);
            memmove(text + 1, text, n);
            text[0] = '"';
            size = n + 1;
            if (escape < n) { /* one character becomes an escaped quote */
                plain[escape] = '"';
                memmove(text + escape + 3, text + escape + 2, n - escape - 1);
                memcpy(text + escape + 1, "\\\"", 2);
                size++;
            }
            text[size++] = '"';
            json_reader_init(&r, text, size);
            CHECK_EQ(json_next(&r), JSON_STRING);
            CHECK(r.n == n && memcmp(r.text, plain, n) == 0);
            CHECK_EQ(json_next(&r), JSON_END);
            json_reader_release(&r);
        }
}

TEST(json_numbers_of_any_length_keep_their_value)
{
    static const char digits[] = "1234567890123456789";

    for (int n = 1; n <= 19; n++)
        for (int spaces = 0; spaces < 9; spaces += 8) {
            struct json_reader r;
            char text[40];
            int size = snprintf(text, sizeof text, "-%.*s%*s", n, digits, spaces, "");

            json_reader_init(&r, text, (size_t)size);
            CHECK_EQ(json_read_i64(&r, 0), strtoll(text, NULL, 10));
            json_reader_release(&r);
        }
}

static double number(const char *text)
{
    struct json_reader r;
    double x;

    json_reader_init(&r, text, strlen(text));
    x = json_read_num(&r, -1);
    json_reader_release(&r);
    return x;
}

TEST(json_fractions_keep_sign_and_digits)
{
    CHECK(number("-0.25") == -0.25);
    CHECK(number("12.5") == 12.5);
    CHECK(number("[12.5]") == -1);
    CHECK(number("0.1234567890123456789") == 0.1234567890123456789);
}

static int64_t integer(const char *text)
{
    struct json_reader r;
    int64_t x;

    json_reader_init(&r, text, strlen(text));
    x = json_read_i64(&r, 7);
    json_reader_release(&r);
    return x;
}

TEST(json_integers_are_exact_or_refused)
{
    CHECK_EQ(integer("9007199254740993"), 9007199254740993);
    CHECK_EQ(integer("-9007199254740993"), -9007199254740993);
    CHECK_EQ(integer("2.5e3"), 2500);
    CHECK_EQ(integer("99999999999999999999"), 7);
    CHECK_EQ(integer("\"1\""), 7);
}

TEST(json_escapes_are_decoded)
{
    static const char text[] = "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\ud800\\ud83d\\ude00\"";
    struct json_reader r;

    json_reader_init(&r, text, sizeof text - 1);
    CHECK_EQ(json_next(&r), JSON_STRING);
    CHECK(json_text_is(&r, "\"\\/\b\f\n\r\t\xef\xbf\xbd\xf0\x9f\x98\x80"));
    json_reader_release(&r);
}

TEST(json_failure_names_the_line)
{
    static const char text[] = "[1,\n2,\n?,\n4]";
    struct json_reader r;
    struct err e = { 0 };

    json_reader_init(&r, text, sizeof text - 1);
    while (json_next(&r) > JSON_ERROR)
        ;
    CHECK_EQ(json_failure(&r, &e), -1);
    CHECK(strstr(e.msg, "line 3"));
    CHECK(strstr(e.msg, "byte 7"));
    json_refuse(&r, "another reason");
    CHECK_EQ(json_failure(&r, &e), -1);
    CHECK_STR(e.msg, "invalid JSON in line 3, at byte 7: not a value");
    json_reader_release(&r);
}

TEST(json_failure_tells_refused_content_from_invalid_json)
{
    struct json_reader r;
    struct err e = { 0 };

    json_reader_init(&r, "[-1]", 4);
    json_next(&r);
    json_next(&r);
    json_refuse(&r, "a negative number");
    json_refuse(&r, "another reason");
    CHECK_EQ(json_failure(&r, &e), -1);
    CHECK_STR(e.msg, "line 1, at byte 3: a negative number");
    json_reader_release(&r);
}

TEST(json_reader_accepts_the_maximum_depth)
{
    char deep[2 * JSON_MAX_DEPTH + 1];

    memset(deep, '[', JSON_MAX_DEPTH);
    memset(deep + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
    deep[sizeof deep - 1] = 0;
    CHECK(!error_of(deep));
    memset(deep, '[', JSON_MAX_DEPTH + 1);
    deep[JSON_MAX_DEPTH + 1] = 0;
    CHECK_STR(error_of(deep), "nested too deeply");
}

TEST(json_reader_reports_an_invalid_string)
{
    struct json_reader r;

    json_reader_init(&r, "\"abc", 4);
    CHECK_EQ(json_next(&r), JSON_ERROR);
    json_reader_release(&r);
}

TEST(json_real_numbers_are_written_with_all_their_digits)
{
    struct out o = out_memory();
    struct json j = { .out = &o };

    json_array(&j);
    json_real(&j, 0.1);
    json_real(&j, 1.0 / 0.0);
    json_str(&j, "\x1f\x7f");
    json_end_array(&j);
    CHECK_STR(buf_text(&o.buf), "[0.10000000000000001,null,\"\\u001f\\u007f\"]");
    out_close(&o, NULL);
}
