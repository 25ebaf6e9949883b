/* test_text.c - tables, widths and numbers.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/escape.h"
#include "text/human.h"
#include "text/nearest.h"
#include "text/notice.h"
#include "text/table.h"
#include "text/term.h"

TEST(human_numbers_use_readable_units)
{
    CHECK_STR(human_ns(0).s, "0 s");
    CHECK_STR(human_ns(870).s, "870 ns");
    CHECK_STR(human_ns(4.5e6).s, "4.50 ms");
    CHECK_STR(human_ns(999.9e3).s, "1.00 ms");
    CHECK_STR(human_ns(1.234e9).s, "1.23 s");
    CHECK_STR(human_ns(123e6).s, "123 ms");
    CHECK_STR(human_ns(90e9).s, "90.0 s");
    CHECK_STR(human_ns(185e9).s, "3m05s");
    CHECK_STR(human_ns(7440e9).s, "2h04m");
    CHECK_STR(human_bytes(512).s, "512 B");
    CHECK_STR(human_bytes(12.3 * 1048576).s, "12.3 MiB");
    CHECK_STR(human_bytes(1024 * 1024 - 1).s, "1.00 MiB");
    CHECK_STR(human_bytes(3.5 * 1024 * 1024 * 1024 * 1024).s, "3.50 TiB");
    CHECK_STR(human_count(123456).s, "123,456");
    CHECK_STR(human_count(1234567).s, "1,234,567");
    CHECK_STR(human_count(-1000).s, "-1,000");
    CHECK_STR(human_count(INT64_MIN).s, "-9,223,372,036,854,775,808");
    CHECK_STR(human_weight(1500, "ns").s, "1.50 us");
    CHECK_STR(human_weight(2048, "bytes").s, "2.00 KiB");
    CHECK_STR(human_weight(1500, "events").s, "1,500");
}

static const char *meant(const char *typed)
{
    static const char *const known[] = { "record", "report", "stat", "flame", "metric", "min" };
    struct nearest n = nearest_to(typed, strlen(typed));

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        nearest_offer(&n, known[i]);
    return n.best ? n.best : "";
}

TEST(nearest_finds_the_closest_word)
{
    CHECK_STR(meant("reprot"), "report");
    CHECK_STR(meant("recrod"), "record");
    CHECK_STR(meant("stats"), "stat");
    CHECK_STR(meant("satt"), "stat"); /* a transposition counts as one edit */
    CHECK_STR(meant("flam"), "flame");
    CHECK_STR(meant("metrik"), "metric");
    CHECK_STR(meant("wobble"), "");
    CHECK_STR(meant("m"), "");
    CHECK_STR(meant("mi"), "");
    CHECK_STR(meant("repxyz"), "");
    CHECK_STR(meant(""), "");
    CHECK_STR(meant("a word that is far too long to be any of these at all"), "");
}

TEST(term_columns_counts_visible_columns)
{
    CHECK_EQ(term_columns("abc", 3), 3);
    CHECK_EQ(term_columns("é", strlen("é")), 1);
    CHECK_EQ(term_columns("漢字", strlen("漢字")), 4);
    CHECK_EQ(term_columns("한글", strlen("한글")), 4);
    CHECK_EQ(term_columns("e\xcc\x81", 3), 1); /* combining accent */
    CHECK_EQ(term_columns("\xff\xfe", 2), 2);
}

TEST(term_clean_leaves_no_control_character)
{
    char s[] = "a\033[31mb\xff\xc2\x9b" "é";

    term_clean(s, strlen(s));
    CHECK_STR(s, "a?[31mb???é");
}

static const char *cut(const char *s, size_t columns)
{
    static struct buf b;

    b.n = 0;
    table_cut(&b, s, strlen(s), columns);
    return buf_text(&b);
}

TEST(table_cut_keeps_both_ends_of_a_name)
{
    CHECK_STR(cut("short", 10), "short");
    CHECK_STR(cut("std::vector<int>::push_back", 16), "std::v…push_back");
    CHECK_EQ(term_columns(cut("漢字漢字漢字漢字漢字", 10), strlen(cut("漢字漢字漢字漢字漢字", 10))) <= 10, 1);
    CHECK_STR(cut("abcdef", 2), "ab");
}

static const struct table_column columns[] = {
    { "self", TABLE_NUMBER }, { "module", TABLE_TEXT }, { "gone", TABLE_TEXT },
    { "function", TABLE_NAME }, { "line", TABLE_NAME },
};

static void fill(struct table *t)
{
    table_init(t, columns, 5);
    table_printf(t, "%.2f", 71.5);
    table_text(t, "app");
    table_text(t, "");
    table_text(t, "one");
    table_text(t, "a.c:1");
    table_printf(t, "%.2f", 3.25);
    table_text(t, "libc");
    table_text(t, "");
    table_text(t, "a_function_with_a_rather_long_name_that_does_not_end_soon");
    table_text(t, "");
}

TEST(table_in_a_pipe_is_aligned_and_uncut)
{
    struct out o = out_memory();
    struct table t;

    fill(&t);
    table_print(&t, &o, &(struct term){ 0 });
    CHECK_STR(buf_text(&o.buf),
              " self  module  function                                          line\n"
              "71.50  app     one                                               a.c:1\n"
              " 3.25  libc    a_function_with_a_rather_long_name_that_does_not_end_soon\n");
    buf_release(&o.buf);
    table_release(&t);
}

TEST(table_without_a_title_row_is_no_wider_than_its_cells)
{
    static const struct table_column two[] = { { "a long title", TABLE_TEXT }, { "n", TABLE_NUMBER } };
    struct out o = out_memory();
    struct table t;

    table_init(&t, two, 2);
    table_text(&t, "");
    table_text(&t, "123");
    table_print(&t, &o, &(struct term){ 0 });
    CHECK_STR(buf_text(&o.buf), "  n\n123\n");
    buf_release(&o.buf);
    table_release(&t);
    out_close(&o, NULL);
}

TEST(table_uses_all_of_a_terminals_width)
{
    struct out o = out_memory();
    struct table t;
    size_t longest = 0;
    char *line;

    fill(&t);
    table_print(&t, &o, &(struct term){ .tty = true, .width = 74 });
    for (line = strtok(buf_text(&o.buf), "\n"); line; line = strtok(NULL, "\n"))
        longest = term_columns(line, strlen(line)) > longest ? term_columns(line, strlen(line)) : longest;
    CHECK_EQ(longest, 74);
    table_release(&t);
    out_close(&o, NULL);
}

TEST(csv_cells_are_quoted_where_they_must_be)
{
    struct out o = out_memory();

    table_csv_cell(&o, "plain", true);
    table_csv_cell(&o, "a,b", false);
    table_csv_cell(&o, "say \"so\"", false);
    table_csv_cell(&o, "two\nlines", false);
    CHECK_STR(buf_text(&o.buf), "plain,\"a,b\",\"say \"\"so\"\"\",\"two\nlines\"");
    out_close(&o, NULL);
}

/* A pseudo-terminal for this test. */
static int open_terminal(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), fd;

    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        test_skip("no terminals here");
    fd = open(ptsname(master), O_RDWR | O_NOCTTY);
    CHECK(fd >= 0);
    return fd;
}

TEST(term_follows_the_environment)
{
    int fd = open_terminal();

    setenv("TERM", "xterm", 1);
    setenv("COLUMNS", "120", 1);
    unsetenv("NO_COLOR");
    CHECK(term_of(fd).tty && term_of(fd).color);
    CHECK_EQ(term_of(fd).width, 120);
    setenv("COLUMNS", "10", 1);
    CHECK_EQ(term_of(fd).width, 40);
    setenv("NO_COLOR", "1", 1);
    CHECK(!term_of(fd).color);
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    CHECK(!term_of(fd).color);
    CHECK(!term_of(open("/dev/null", O_WRONLY)).tty);
}

TEST(out_keeps_the_first_failure)
{
    struct out o = out_fd(open("/dev/full", O_WRONLY));
    struct err e = { 0 };

    out_str(&o, "text");
    CHECK_EQ(out_close(&o, &e), -1);
    CHECK_EQ(e.sys, ENOSPC);
}

struct patience {
    int calls, most;
};

static bool is_ready(void *context, int fd)
{
    struct patience *p = context;

    (void)fd;
    return ++p->calls <= p->most;
}

TEST(out_writes_to_a_pipe_only_what_it_takes_at_once)
{
    struct patience p = { .most = 3 };
    char text[2 * PIPE_BUF + 1], got[sizeof text];
    struct err e = { 0 };
    struct out o;
    int fd[2];

    CHECK_EQ(pipe(fd), 0);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i % 26);
    o = out_fd(fd[1]);
    o.ready = is_ready;
    o.context = &p;
    out_add(&o, text, sizeof text);
    out_flush(&o);
    CHECK_EQ(p.calls, 3);
    CHECK_EQ(read(fd[0], got, sizeof got), sizeof got);
    CHECK(memcmp(got, text, sizeof got) == 0);
    out_str(&o, "more");
    CHECK_EQ(out_close(&o, &e), -1);
    CHECK_EQ(e.sys, ECANCELED);
    CHECK_EQ(p.calls, 4);
    close(fd[0]);
    close(fd[1]);
}

TEST(out_numbers_have_all_their_digits)
{
    struct out o = out_memory();

    out_i64(&o, -120);
    out_char(&o, ' ');
    out_i64(&o, INT64_MIN);
    out_char(&o, ' ');
    out_u64(&o, UINT64_MAX);
    CHECK_STR(buf_text(&o.buf), "-120 -9223372036854775808 18446744073709551615");
    out_close(&o, NULL);
}

TEST(table_on_a_terminal_fits_its_width)
{
    struct out o = out_memory();
    struct table t;
    char *line;

    fill(&t);
    table_print(&t, &o, &(struct term){ .tty = true, .width = 50 });
    for (line = strtok(buf_text(&o.buf), "\n"); line; line = strtok(NULL, "\n"))
        CHECK(term_columns(line, strlen(line)) <= 50);
    table_release(&t);
}

TEST(utf8_decode_gives_back_every_code_point_that_utf8_add_wrote)
{
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        bool surrogate = code >= 0xd800 && code < 0xe000;
        struct buf b = { 0 };
        uint32_t back;
        size_t n;

        utf8_add(&b, code);
        n = utf8_decode(b.data, b.n, &back);
        if (n != (surrogate ? 0 : b.n) || back != (surrogate ? 0 : code))
            CHECK_EQ(back, code);
        if (b.n > 1 && utf8_length(b.data, b.n - 1))
            CHECK_EQ(code, 0); /* a truncated sequence is invalid */
        buf_release(&b);
    }
}

TEST(utf8_clean_replaces_invalid_bytes_and_controls)
{
    static const struct {
        const char *in, *out;
    } texts[] = {
        { "plain ASCII, longer than a word", "plain ASCII, longer than a word" },
        { "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82" },
        { "12345678\x01tab\tdel\x7f", "12345678?tab?del?" },
        { "\xc3", "?" },
        { "\xc0\x80\xed\xa0\x80", "?????" },
        { "\xf4\x90\x80\x80", "????" },
        { "12345678\xff", "12345678?" },
        { "a\xe2\x80\xa9\xe2\x80\xae" "b\xe2\x81\xa6\xd8\x9c", "a??????b?????" }, /* U+2029, 202e, 2066, 61c */
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct buf b = { 0 };

        buf_add_clean(&b, texts[i].in, strlen(texts[i].in));
        CHECK_STR(buf_text(&b), texts[i].out);
        CHECK_EQ(utf8_is_clean(texts[i].in, strlen(texts[i].in)),
                 strcmp(texts[i].in, texts[i].out) == 0);
        buf_release(&b);
    }
}

TEST(utf8_repair_replaces_each_invalid_byte)
{
    struct buf b = { 0 };

    CHECK(utf8_is_valid("plain and longer than a word", 28));
    CHECK(utf8_is_valid("caf\xc3\xa9", 5));
    CHECK(!utf8_is_valid("12345678\xff", 9));
    CHECK(!utf8_is_valid("\xed\xa0\x80", 3)); /* a lone surrogate */
    CHECK(!utf8_is_valid("\xf4\x90\x80\x80", 4)); /* above 0x10ffff */
    CHECK(utf8_is_valid("\xee\xa5\x80", 3));
    CHECK(!utf8_is_valid("caf\xc3", 4));
    buf_add_repaired(&b, "a\xff\xc3\xa9\xc3", 5);
    CHECK_STR(buf_text(&b), "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
    buf_release(&b);
}

TEST(utf8_text_with_control_characters_is_not_clean)
{
    struct buf b = { 0 };

    CHECK(utf8_is_clean("a name, longer than a word~", 27));
    CHECK(!utf8_is_clean("12345\x1f" "89", 8));
    CHECK(!utf8_is_clean("12345\x7f" "89", 8));
    CHECK(!utf8_is_clean("\xc2\x85", 2));
    buf_add_clean(&b, "\xc2\x9f\xc3\xa9\t", 5);
    CHECK_STR(buf_text(&b), "??\xc3\xa9?");
    b.n = 0;
    utf8_add(&b, 0xe9);
    utf8_add(&b, 0x905);
    utf8_add(&b, 0x20ac);
    utf8_add(&b, 0x1f600);
    CHECK_STR(buf_text(&b), "\xc3\xa9\xe0\xa4\x85\xe2\x82\xac\xf0\x9f\x98\x80");
    buf_release(&b);
}

static const char *escaped(const char *s, size_t n, struct escaped (*escape)(const char *, size_t))
{
    static struct buf b;

    b.n = 0;
    for (struct escaped e; n; s += e.taken, n -= e.taken) {
        e = escape(s, n);
        CHECK(e.taken > 0 && e.taken <= n);
        buf_add(&b, escaped_text(&e), e.n);
    }
    return buf_text(&b);
}

TEST(escape_json_keeps_text_and_escapes_the_rest)
{
    CHECK_STR(escaped("plain, caf\xc3\xa9", 12, escape_json), "plain, caf\xc3\xa9");
    CHECK_STR(escaped("a\"b\\c\n\t\b\f\r", 10, escape_json), "a\\\"b\\\\c\\n\\t\\b\\f\\r");
    CHECK_STR(escaped("\0\x1f\x7f\x1b[2J", 7, escape_json), "\\u0000\\u001f\\u007f\\u001b[2J");
    CHECK_STR(escaped("x\xff\xc3", 3, escape_json), "x\\ufffd\\ufffd");
    CHECK_STR(escaped("\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xd8\x9c.", 11, escape_json),
              "\\u009b\\u202e\\u2066\\u061c.");
}

TEST(escape_csv_doubles_quotes)
{
    CHECK_STR(escaped("a\"b\"\",c", 7, escape_csv), "a\"\"b\"\"\"\",c");
    CHECK(!escape_csv_needs_quotes("plain text; and more"));
    CHECK(escape_csv_needs_quotes("a,b") && escape_csv_needs_quotes("a\"b"));
    CHECK(escape_csv_needs_quotes("a\nb"));
}

TEST(escape_csv_keeps_only_printable_characters_and_line_ends)
{
    CHECK_STR(escaped("a\x1b[2J\r\n\xc2\x9b\xe2\x80\xae\xc3\xa9\xff", 15, escape_csv),
              "a?[2J?\n??\xc3\xa9?");
}

TEST(escape_csv_marks_text_that_is_a_formula_but_no_number)
{
    static const char *const formulas[] = { "=1+1", "+cmd", "-[NSObject init]", "@SUM(1)", "\t=1",
                                            "\r=1", "-1+1", "-1.2.3", "-", "+.", "-1e", "\xef\xbc\x9dx" };
    static const char *const others[] = { "-12.5", "+3", "-1e-9", "-.5", "12", "a=b", "'=x", "", "main" };

    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        CHECK_STR(escape_csv_start(formulas[i]), "'");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_STR(escape_csv_start(others[i]), "");
}

/* What reaches the other end of a pipe; *READ is its end for reading. */
static struct out out_pipe(int *read_end, bool is_binary)
{
    int ends[2];

    CHECK_EQ(pipe(ends), 0);
    *read_end = ends[0];
    return is_binary ? out_binary(ends[1]) : out_fd(ends[1]);
}

static const char *arrived(struct out *o, int from)
{
    static char text[256];
    ssize_t n;

    CHECK_EQ(out_close(o, NULL), 0);
    n = read(from, text, sizeof text - 1);
    CHECK(n >= 0);
    text[n] = 0;
    return text;
}

TEST(out_cleans_text_but_not_its_own_colors)
{
    struct term term = { .color = true };
    int from;
    struct out o = out_pipe(&from, false);

    term_begin(&term, &o, TERM_BOLD);
    out_printf(&o, "%s\n", "a\x1b[2Jb\r");
    term_end(&term, &o, TERM_BOLD);
    out_char(&o, '\xc3'); /* byte by byte */
    out_char(&o, '\xa9');
    out_str(&o, "\xc2\x9b\xc3");
    CHECK_STR(arrived(&o, from), "\033[1ma?[2Jb?\n\033[0m\xc3\xa9???");
}

TEST(out_keeps_a_character_that_a_flush_would_cut)
{
    int from;
    struct out o = out_pipe(&from, false);

    out_str(&o, "ab\xe2\x82");
    out_spill_(&o);
    out_str(&o, "\xac.\xe2");
    out_spill_(&o);
    out_str(&o, "xy");
    CHECK_STR(arrived(&o, from), "ab\xe2\x82\xac.?xy");
}

TEST(out_completes_no_character_of_text_with_its_own_colors)
{
    int from;
    struct out o = out_pipe(&from, false);

    out_str(&o, "a\xe2\x82");
    out_trusted(&o, "\033[0m");
    out_str(&o, "b");
    CHECK_STR(arrived(&o, from), "a??\033[0mb");
}

TEST(out_leaves_binary_formats_alone)
{
    int from;
    struct out o = out_pipe(&from, true);

    out_str(&o, "\x1b\xff\x07");
    CHECK_STR(arrived(&o, from), "\x1b\xff\x07");
}

TEST(out_in_memory_keeps_every_byte)
{
    struct out o = out_memory();

    out_str(&o, "\x1b\xff");
    out_trusted(&o, "\033[0m");
    out_str(&o, "\xc3");
    CHECK_STR(buf_text(&o.buf), "\x1b\xff\033[0m\xc3");
    out_close(&o, NULL);
}

TEST(out_printf_writes_texts_of_any_length_and_keeps_few_of_them)
{
    char text[1025];
    struct out o;
    int fd;

    memset(text, 'x', sizeof text);
    for (int n = 500; n <= 1024; n++) {
        o = out_memory();
        out_printf(&o, "%.*s", n, text);
        out_char(&o, '.');
        CHECK_EQ(o.buf.n, n + 1);
        CHECK(memcmp(o.buf.data, text, (size_t)n) == 0 && o.buf.data[n] == '.');
        out_close(&o, NULL);
    }
    fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    o = out_fd(fd);
    for (int i = 0; i < 200; i++)
        out_printf(&o, "%.*s", 1024, text);
    CHECK(o.buf.n < 1 << 16);
    CHECK_EQ(o.written + o.buf.n, 200 * 1024);
    CHECK_EQ(out_close(&o, NULL), 0);
    close(fd);
}

TEST(notice_is_one_clean_line)
{
    int ends[2], saved = dup(STDERR_FILENO);
    char text[64] = "";

    CHECK_EQ(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    notice("a %s", "b\nc\x1b\xc3");
    dup2(saved, STDERR_FILENO);
    CHECK(read(ends[0], text, sizeof text - 1) > 0);
    CHECK_STR(text, "a b?c??\n");
}
