/* an_stat_result.c - print measures as a table.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_stat.h"
#include "analyze/an_surroundings.h"
#include "base/sat.h"
#include "text/human.h"

enum { DECIMALS = 4 };
static const double COUNTED_PCT = 99.95; /* a higher share counts as all of the time */

static struct human shown(const struct an_measure *m, double x)
{
    struct human h;

    if (strcmp(m->unit, "ns") == 0)
        return human_ns(x);
    if (strcmp(m->unit, "bytes") == 0)
        return human_bytes(x);
    if (strcmp(m->unit, "count") == 0)
        return human_count(sat_of(x + 0.5));
    snprintf(h.s, sizeof h.s, "%.2f%s", x, strcmp(m->unit, "pct") == 0 ? " %" : "");
    return h;
}

static double *sorted_copy(const struct an_measure *m, struct summary *sum)
{
    double *copy = mem_alloc(m->n * sizeof *copy);

    memcpy(copy, m->value, m->n * sizeof *copy);
    *sum = stats_summary(copy, m->n);
    return copy;
}

/* "; 3 of 8 runs failed, exit status 139 (SIGSEGV)".  Like a shell, use
 * 128 + n for signal n. */
static void add_failures(const struct an_stat *s, struct buf *b)
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
        buf_printf(b, "; %zu of them failed, exit status %d", failed, status);
    else
        buf_printf(b, "; exit status %d", status);
    if (status > 128 && sigabbrev_np(status - 128))
        buf_printf(b, " (SIG%s)", sigabbrev_np(status - 128));
}

static void add_head(const struct an_stat *s, struct buf *b)
{
    buf_u8(b, '\n');
    for (size_t k = 0; s->command[k]; k++)
        buf_printf_clean(b, "%s%s", k ? " " : "", s->command[k]);
    if (s->runs > 1) { /* the confidence depends only on the number of values */
        struct interval i = stats_median_interval(s->measure.v[0].value, s->runs);

        buf_printf(b, ": %zu runs, medians with their %.1f %% interval", s->runs,
                   100 * i.confidence);
    }
    add_failures(s, b);
    buf_str(b, "\n\n");
}

#define COLUMNS(median)                                                                        \
    {                                                                                          \
        { "", "name", TABLE_TEXT }, { NULL, "unit" }, { median, "median" }, { "low", "low" },  \
        { "high", "high" }, { NULL, "confidence" }, { NULL, "min" }, { NULL, "max" },          \
        { NULL, "mean" }, { NULL, "stddev" }, { NULL, "running_pct" }, { NULL, "values" },     \
        { "", "note", TABLE_TEXT },                                                            \
    }
static const struct result_column one_run[] = COLUMNS("");
static const struct result_column several_runs[] = COLUMNS("median");

static void put_number(struct result_table *t, double x, const char *text)
{
    result_cell(t, result_real(x, DECIMALS));
    result_show(t, text);
}

static void put_note(struct result_table *t, const struct an_measure *m)
{
    char text[160];

    result_cell(t, result_text(m->note));
    if (m->running_pct > 0 && m->running_pct < COUNTED_PCT) {
        snprintf(text, sizeof text, "counted %.1f %% of the time%s%s", m->running_pct,
                 *m->note ? ", " : "", m->note);
        result_show(t, text);
    }
    result_style(t, TERM_DIM);
}

static void put_measure(struct result *r, struct result_table *t, const struct an_measure *m,
                        size_t runs)
{
    struct summary sum;
    double *sorted = sorted_copy(m, &sum);
    struct interval i = stats_median_interval(sorted, m->n);
    struct result_value values = result_list(r);

    result_cell(t, result_text(m->name));
    result_cell(t, result_text(m->unit));
    put_number(t, sum.median, shown(m, sum.median).s);
    put_number(t, i.low, runs > 1 ? shown(m, i.low).s : "");
    put_number(t, i.high, runs > 1 ? shown(m, i.high).s : "");
    result_cell(t, result_real(i.confidence, DECIMALS));
    result_cell(t, result_real(sum.min, DECIMALS));
    result_cell(t, result_real(sum.max, DECIMALS));
    result_cell(t, result_real(sum.mean, DECIMALS));
    result_cell(t, result_real(sum.stddev, DECIMALS));
    result_cell(t, m->running_pct > 0 ? result_real(m->running_pct, 2) : result_none());
    for (size_t k = 0; k < m->n; k++)
        result_put(r, values, NULL, result_real(m->value[k], DECIMALS));
    result_cell(t, values);
    put_note(t, m);
    free(sorted);
}

static void put_missing(const struct an_stat *s, struct result *r)
{
    static const char *const tasks[] = { "processes", "threads" };
    struct result_value missing = result_list(r);
    const struct usage *first = &s->run[0];

    for (size_t k = 0; !first->has_tasks && k < ARRAY_LEN(tasks); k++)
        result_put(r, missing, NULL, result_text(tasks[k]));
    for (size_t k = 0; k < first->n_counters; k++)
        if (first->counter[k].errnum)
            result_put(r, missing, NULL, result_text(first->counter[k].name));
    result_fact(r, "missing", missing);
}

/* Say which figures are missing, and why. */
static void add_missing(const struct an_stat *s, struct buf *b)
{
    if (s->refused) {
        buf_printf(b, "\nnot counted: processes, threads, hardware counters: %s\n", s->refused);
        if (*s->remedy)
            buf_printf(b, "  %s\n", s->remedy);
        return;
    }
    if (*s->hardware)
        buf_printf(b, "\n%s\n", s->hardware);
    if (!s->run[0].has_tasks)
        buf_str(b, "\nnot counted: processes, threads: the ring buffers were too small for all of "
                   "their records\n");
}

static void put_facts(const struct an_stat *s, struct result *r)
{
    struct result_value command = result_list(r), status = result_list(r);
    struct result_value meta = result_object(r);

    for (size_t k = 0; s->command[k]; k++)
        result_put(r, command, NULL, result_text(s->command[k]));
    for (size_t k = 0; k < s->runs; k++)
        result_put(r, status, NULL, result_int(s->run[k].exit_status));
    result_fact(r, "version", result_uint(1));
    result_fact(r, "command", command);
    result_fact(r, "runs", result_uint(s->runs));
    result_fact(r, "exit_status", status);
    result_fact(r, "hardware", result_text(s->hardware));
    result_fact(r, "remedy", result_text(s->remedy ? s->remedy : ""));
    put_missing(s, r);
    for (size_t k = 0; s->facts && k < s->facts->meta.n; k++)
        result_put(r, meta, s->facts->meta.v[k].key, result_text(s->facts->meta.v[k].value));
    result_fact(r, "meta", meta);
}

static void add_surroundings(const struct an_stat *s, struct result *r)
{
    struct out lines = out_memory();

    if (s->facts)
        an_surroundings_lines(s->facts, &lines);
    if (lines.buf.n)
        buf_u8(&r->tail, '\n');
    buf_add(&r->tail, lines.buf.data, lines.buf.n);
    out_close(&lines, NULL);
}

void an_stat_result(const struct an_stat *s, struct result *r)
{
    struct result_table *t = result_table(r, "measures", s->runs > 1 ? several_runs : one_run,
                                          ARRAY_LEN(one_run));

    r->main = t;
    put_facts(s, r);
    add_head(s, &r->head);
    for (size_t i = 0; i < s->measure.n; i++)
        put_measure(r, t, &s->measure.v[i], s->runs);
    add_missing(s, &r->tail);
    add_surroundings(s, r);
}
