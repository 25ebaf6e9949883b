/* stat_print.c - measures as a table and as JSON.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat.h"
#include "text/human.h"
#include "text/json.h"
#include "text/table.h"

static struct human shown(const struct stat_measure *m, double x)
{
    struct human h;

    if (strcmp(m->unit, "ns") == 0)
        return human_ns(x);
    if (strcmp(m->unit, "bytes") == 0)
        return human_bytes(x);
    if (strcmp(m->unit, "count") == 0)
        return human_count((int64_t)(x + 0.5));
    snprintf(h.s, sizeof h.s, "%.2f%s", x, strcmp(m->unit, "pct") == 0 ? " %" : "");
    return h;
}

static double *sorted_copy(const struct stat_measure *m, struct summary *sum)
{
    double *copy = mem_alloc(m->n * sizeof *copy);

    memcpy(copy, m->value, m->n * sizeof *copy);
    *sum = stats_summary(copy, m->n);
    return copy;
}

static void put_row(struct table *t, const struct stat_measure *m, size_t runs)
{
    struct summary sum;
    double *sorted = sorted_copy(m, &sum);
    struct interval i = stats_median_interval(sorted, m->n);

    table_text(t, m->name);
    table_text(t, shown(m, sum.median).s);
    table_text(t, runs > 1 ? shown(m, i.low).s : "");
    table_text(t, runs > 1 ? shown(m, i.high).s : "");
    if (m->running_pct > 0 && m->running_pct < 99.95)
        table_printf(t, "counted %.1f %% of the time%s%s", m->running_pct, *m->note ? ", " : "",
                     m->note);
    else
        table_text(t, m->note);
    table_style(t, TERM_DIM);
    free(sorted);
}

/* "; 3 of 8 runs failed, exit status 139 (SIGSEGV)": a shell says 128 + n of signal n. */
static void put_failures(const struct stat_result *s, struct out *o)
{
    size_t failed = 0;
    int status = 0;

    for (size_t k = 0; k < s->runs; k++) {
        status = s->run[k].exit_status ? s->run[k].exit_status : status;
        failed += s->run[k].exit_status != 0;
    }
    if (!failed)
        return;
    if (s->runs > 1)
        out_printf(o, "; %zu of them failed, exit status %d", failed, status);
    else
        out_printf(o, "; exit status %d", status);
    if (status > 128 && sigabbrev_np(status - 128))
        out_printf(o, " (SIG%s)", sigabbrev_np(status - 128));
}

static void put_head(const struct stat_result *s, struct out *o)
{
    struct buf line = { 0 };

    for (size_t k = 0; s->command[k]; k++)
        buf_printf(&line, "%s%s", k ? " " : "", s->command[k]);
    term_clean(buf_text(&line), line.n);
    out_str(o, "\n");
    out_add(o, line.data, line.n);
    buf_release(&line);
    if (s->runs > 1) { /* the confidence depends on the number of values alone */
        struct interval i = stats_median_interval(s->measure.v[0].value, s->runs);

        out_printf(o, ": %zu runs, medians with their %.1f %% interval", s->runs,
                   100 * i.confidence);
    }
    put_failures(s, o);
    out_str(o, "\n\n");
}

void stat_text(const struct stat_result *s, struct out *o, int fd)
{
    static const struct table_column columns[] = {
        { "", TABLE_TEXT }, { "median", TABLE_NUMBER }, { "low", TABLE_NUMBER },
        { "high", TABLE_NUMBER }, { "", TABLE_TEXT },
    };
    struct table_column one_run[ARRAY_LEN(columns)];
    struct term term = term_of(fd);
    struct table t;

    memcpy(one_run, columns, sizeof columns);
    one_run[1].title = "";
    put_head(s, o);
    table_init(&t, s->runs > 1 ? columns : one_run, ARRAY_LEN(columns));
    for (size_t i = 0; i < s->measure.n; i++)
        put_row(&t, &s->measure.v[i], s->runs);
    table_print(&t, o, &term);
    table_release(&t);
    if (*s->hardware)
        out_printf(o, "\n%s\n", s->hardware);
}

static void put_measure(struct json *j, const struct stat_measure *m)
{
    struct summary sum;
    double *sorted = sorted_copy(m, &sum);
    struct interval i = stats_median_interval(sorted, m->n);

    json_object(j);
    json_put_str(j, "name", m->name);
    json_put_str(j, "unit", m->unit);
    json_put_num(j, "median", sum.median, 4);
    json_put_num(j, "low", i.low, 4);
    json_put_num(j, "high", i.high, 4);
    json_put_num(j, "confidence", i.confidence, 4);
    json_put_num(j, "min", sum.min, 4);
    json_put_num(j, "max", sum.max, 4);
    json_put_num(j, "mean", sum.mean, 4);
    json_put_num(j, "stddev", sum.stddev, 4);
    if (m->running_pct > 0)
        json_put_num(j, "running_pct", m->running_pct, 2);
    json_key(j, "values");
    json_array(j);
    for (size_t k = 0; k < m->n; k++)
        json_num(j, m->value[k], 4);
    json_end_array(j);
    json_end_object(j);
    free(sorted);
}

void stat_json(const struct stat_result *s, struct out *o)
{
    struct json j = { .out = o };

    json_object(&j);
    json_put_u64(&j, "version", 1);
    json_key(&j, "command");
    json_array(&j);
    for (size_t k = 0; s->command[k]; k++)
        json_str(&j, s->command[k]);
    json_end_array(&j);
    json_put_u64(&j, "runs", s->runs);
    json_key(&j, "exit_status");
    json_array(&j);
    for (size_t k = 0; k < s->runs; k++)
        json_i64(&j, s->run[k].exit_status);
    json_end_array(&j);
    json_put_str(&j, "hardware", s->hardware);
    json_key(&j, "measures");
    json_array(&j);
    for (size_t i = 0; i < s->measure.n; i++)
        put_measure(&j, &s->measure.v[i]);
    json_end_array(&j);
    json_end_object(&j);
    out_char(o, '\n');
}
