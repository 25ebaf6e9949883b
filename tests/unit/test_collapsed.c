/* test_collapsed.c - collapsed stacks in and out.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "formats/formats.h"

extern const struct format format_collapsed;

static struct import_input input_of(const char *text)
{
    return (struct import_input){ .data = (const unsigned char *)text, .size = strlen(text),
                                  .path = "x" };
}

static struct profile *read_text(const char *text)
{
    struct import_input in = input_of(text);
    struct profile *p = profile_new();
    struct err e = { 0 };

    if (format_collapsed.import(&in, profile_sink(p), &e) < 0)
        test_fail(__FILE__, __LINE__, "%s", e.msg);
    return p;
}

static void check_written(const struct profile *p, const char *metric, const char *want)
{
    struct export_options opt = { 0 };
    struct an_view v;
    struct out o = out_memory();
    struct err e = { 0 };

    CHECK_EQ(an_view_open(&v, p, metric, format_collapsed.view, &e), 0);
    CHECK_EQ(format_collapsed.write(&v, &opt, &o, &e), 0);
    an_view_release(&v);
    CHECK_STR(buf_text(&o.buf), want);
    out_close(&o, NULL);
}

TEST(collapsed_round_trip_is_exact)
{
    static const char text[] = "main 3\n"
                               "main;a b;c_[i] 7\n"
                               "main;a b;c_[i];d_[k] 12\n"
                               "main;a b;e 1\n"
                               "main;z_[j] 5\n"
                               "other;main;a b 2\n";
    struct profile *p = read_text(text);

    check_written(p, NULL, text);
    profile_free(p);
}

TEST(collapsed_parses_kinds_and_inlining)
{
    struct profile *p = read_text("main;f_[i];g_[i];read_[k] 2\nmain;j_[j] 1\nx (a.py:3) 1\n");

    /* main with f and g inlined is one frame; then read, main alone, j, and the Python frame */
    CHECK_EQ(p->frame.n, 5);
    CHECK_EQ(p->chain.v[0].n, 3);
    CHECK_EQ(p->frame.v[1].kind, FRAME_KERNEL);
    CHECK_EQ(p->frame.v[3].kind, FRAME_JIT);
    CHECK_EQ(p->frame.v[4].kind, FRAME_PYTHON);
    CHECK_STR(profile_string(p, p->function.v[p->location.v[1].function - 1].name), "f");
    profile_free(p);
}

TEST(collapsed_reuse_of_the_line_before_notices_a_new_inlined_call)
{
    static const char text[] = "main;a;b 1\nmain;a;b_[i] 2\nmain;a;b_[i];c 3\nmain;a;b;c 4\n";
    struct profile *p = read_text(text);

    check_written(p, NULL, "main;a;b 1\nmain;a;b;c 4\nmain;a;b_[i] 2\nmain;a;b_[i];c 3\n");
    profile_free(p);
}

TEST(collapsed_with_two_counts_on_every_line_becomes_two_metrics)
{
    struct profile *p = read_text("main;a 10 20\nmain;b 5 0\n");

    CHECK_EQ(p->metric.n, 2);
    check_written(p, "before", "main;a 10\nmain;b 5\n");
    check_written(p, "after", "main;a 20\n");
    profile_free(p);
}

TEST(collapsed_keeps_a_number_in_a_name_when_only_some_lines_have_two)
{
    struct profile *p = read_text("main;worker 1 20\nmain;b 5\n");

    check_written(p, NULL, "main;b 5\nmain;worker 1 20\n");
    profile_free(p);
}

TEST(collapsed_skips_bad_lines_and_counts_them)
{
    struct profile *p = read_text("# made by hand\n\nmain;a 2.6\r\nno count here\nmain;b 1");

    CHECK_EQ(profile_meta_number(p, "quality.lines_skipped", 0), 1);
    check_written(p, NULL, "main;a 3\nmain;b 1\n");
    profile_free(p);
}

TEST(collapsed_refuses_text_without_stacks)
{
    struct import_input in = input_of("hello\nworld\n");
    struct profile *p = profile_new();
    struct err e = { 0 };

    CHECK_EQ(format_collapsed.recognize(&in), 0);
    CHECK_EQ(format_collapsed.import(&in, profile_sink(p), &e), -1);
    CHECK_EQ(e.code, ERR_FORMAT);
    profile_free(p);
}

TEST(collapsed_is_recognized_by_its_lines)
{
    struct import_input yes = input_of("main;a 1\nmain;b 2\n"), json = input_of("{\"a;b\": 1 2\n"),
                        binary = { (const unsigned char *)"a;b\0 1\n", 7, "x", false };

    CHECK(format_collapsed.recognize(&yes) > 50);
    CHECK_EQ(format_collapsed.recognize(&json), 0);
    CHECK_EQ(format_collapsed.recognize(&binary), 0);
}
