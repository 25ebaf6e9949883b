/* test_result.c - one result as text, JSON and CSV.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <math.h>

#include "text/result.h"

static const struct result_column columns[] = {
    { NULL, "name" }, { "cost", "weight" }, { "share %", "pct" }, { "±", NULL },
    { NULL, "waits_for" }, { NULL, "idle" }, { NULL, "rows" }, { "function", NULL, TABLE_NAME },
    { "source", NULL, TABLE_NAME, 100 },
};
static const struct result_column inner_columns[] = { { NULL, "line" } };

static void put_row(struct result *r, struct result_table *t, const char *name, int64_t weight,
                    bool idle)
{
    struct result_value kinds = result_object(r), rows;
    struct result_table *inner;

    result_put(r, kinds, "futex", result_int(3));
    result_put(r, kinds, "run queue", result_int(weight));
    rows = result_rows(r, inner_columns, ARRAY_LEN(inner_columns), &inner);
    result_cell(inner, result_uint(7));
    result_cell(t, result_text(name));
    result_cell(t, result_int(weight));
    result_cell(t, result_real((double)weight / 3, 4));
    result_show(t, "about");
    result_cell(t, result_none());
    result_show(t, "1.5");
    result_cell(t, kinds);
    result_cell(t, idle ? result_bool(true) : result_none());
    result_cell(t, rows);
    result_cell(t, result_none());
    result_show(t, name);
    result_cell(t, result_none());
    result_show(t, "a.c");
}

static void make(struct result *r)
{
    struct result_table *t;

    result_init(r);
    result_fact(r, "version", result_uint(1));
    result_fact(r, "absent", result_none());
    result_fact(r, "nothing", result_null());
    result_fact(r, "bad", result_real(NAN, 2));
    t = result_table(r, "functions", columns, ARRAY_LEN(columns));
    r->main = t;
    put_row(r, t, "a, b", 12345, false);
    put_row(r, t, "say \"x\"", -6, true);
    t->before = "before\n";
    t->after = "after\n";
    buf_str(&r->head, "head\n");
    buf_str(&r->tail, "tail\n");
}

static void check(enum result_form form, int width, const char *want)
{
    struct term term = { .width = width };
    struct out o = out_memory();
    struct result r;

    make(&r);
    result_print(&r, form, &o, &term);
    CHECK_STR(buf_text(&o.buf), want);
    out_close(&o, NULL);
    result_release(&r);
}

TEST(result_text_has_titled_columns_and_surrounding_text)
{
    check(RESULT_AS_TEXT, 0, "head\nbefore\n"
                             "  cost  share %    ±  function  source\n"
                             "12,345    about  1.5  a, b      a.c\n"
                             "    -6    about  1.5  say \"x\"   a.c\n"
                             "after\ntail\n");
}

TEST(result_text_leaves_a_wide_column_out_on_a_narrow_terminal)
{
    check(RESULT_AS_TEXT, 99, "head\nbefore\n"
                              "  cost  share %    ±  function\n"
                              "12,345    about  1.5  a, b\n"
                              "    -6    about  1.5  say \"x\"\n"
                              "after\ntail\n");
}

TEST(result_json_has_keyed_columns_and_no_absent_members)
{
    check(RESULT_AS_JSON, 0,
          "{\"version\":1,\"nothing\":null,\"bad\":null,\"functions\":["
          "{\"name\":\"a, b\",\"weight\":12345,\"pct\":4115.0000,"
          "\"waits_for\":{\"futex\":3,\"run queue\":12345},\"rows\":[{\"line\":7}]},"
          "{\"name\":\"say \\\"x\\\"\",\"weight\":-6,\"pct\":-2.0000,"
          "\"waits_for\":{\"futex\":3,\"run queue\":-6},\"idle\":true,\"rows\":[{\"line\":7}]}]}\n");
}

TEST(result_csv_has_the_rows_of_the_main_table_in_full)
{
    check(RESULT_AS_CSV, 0, "name,weight,pct,waits_for,idle\n"
                            "\"a, b\",12345,4115.0000,futex=3;run queue=12345,\n"
                            "\"say \"\"x\"\"\",-6,-2.0000,futex=3;run queue=-6,true\n");
}

TEST(result_text_shows_as_many_rows_as_the_table_says)
{
    struct term term = { 0 };
    struct out o = out_memory();
    struct result r;

    make(&r);
    r.main->text_rows = 1;
    result_print(&r, RESULT_AS_TEXT, &o, &term);
    CHECK(strstr(buf_text(&o.buf), "a, b") && !strstr(buf_text(&o.buf), "say"));
    out_close(&o, NULL);
    o = out_memory();
    r.main->text_rows = 0;
    result_print(&r, RESULT_AS_TEXT, &o, &term);
    CHECK_STR(buf_text(&o.buf), "head\ntail\n");
    out_close(&o, NULL);
    result_release(&r);
}

TEST(result_csv_of_an_empty_table_has_its_titles)
{
    struct out o = out_memory();
    struct result r;

    result_init(&r);
    r.main = result_table(&r, "functions", columns, ARRAY_LEN(columns));
    result_print(&r, RESULT_AS_CSV, &o, NULL);
    CHECK_STR(buf_text(&o.buf), "name,weight,pct,waits_for,idle,rows\n");
    out_close(&o, NULL);
    result_release(&r);
}

TEST(result_csv_starts_with_the_first_column_that_has_a_key)
{
    static const struct result_column two[] = { { "about", NULL }, { "cost", "weight" } };
    struct result_table *t;
    struct out o = out_memory();
    struct result r;

    result_init(&r);
    r.main = t = result_table(&r, "functions", two, ARRAY_LEN(two));
    result_cell(t, result_text("x"));
    result_cell(t, result_int(5));
    result_print(&r, RESULT_AS_CSV, &o, NULL);
    CHECK_STR(buf_text(&o.buf), "weight\n5\n");
    out_close(&o, NULL);
    result_release(&r);
}

TEST(result_text_has_titles_and_lines_below_cells)
{
    static const struct result_column two[] = { { "", "name", TABLE_TEXT },
                                                { "", "value", TABLE_TEXT } };
    struct term term = { 0 };
    struct out o = out_memory();
    struct result r;

    result_init(&r);
    for (int i = 0; i < 2; i++) {
        struct result_table *t = result_table(&r, i ? "b" : "a", two, ARRAY_LEN(two));

        t->title = i ? "second" : "first";
        t->indent = 2;
        result_cell(t, result_text("key"));
        result_cell(t, result_bool(i));
        if (i)
            result_below(t, "-> change it");
    }
    result_print(&r, RESULT_AS_TEXT, &o, &term);
    CHECK_STR(buf_text(&o.buf), "first\n  key  no\n\nsecond\n  key  yes\n       -> change it\n");
    out_close(&o, NULL);
    result_release(&r);
}
