/* rt_report.c - the table people see at exit, and its short form for logs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_report.h"

#include <stdio.h>
#include <string.h>

#include "runtime/rt_rules.h"
#include "text/human.h"

enum { NAME_MOST = 44, COLUMNS = 9, CELL = 48, ADVICE = 3 };

const char *const rt_kind_name[LIVE_SITE_KINDS] = {
    "zone", "op", "counter", "gauge", "instant", "frame", "lock wait", "lock hold", "pool",
    "flow" };
const char *const rt_loss_name[FATHOM_LOST_CAUSES] = {
    "trace records (memory full)", "zones (no memory for a call path)",
    "zones (no memory for a thread)", "events (signal inside the library)",
    "labels (more than 64 at one site)", "histogram values (memory full)" };

uint32_t rt_report_next(const struct result *r, uint32_t row)
{
    if (r->row[row].child != LIVE_NO_NODE)
        return r->row[row].child;
    while (row != LIVE_NO_NODE && r->row[row].next == LIVE_NO_NODE)
        row = r->row[row].parent;
    return row == LIVE_NO_NODE ? row : r->row[row].next;
}

bool rt_report_shows(const struct result *r, uint32_t row, const char *context)
{
    const struct row *w = &r->row[row];

    return w->kind != LIVE_ROOT && (w->count || w->open) && rt_result_in(r, row, context);
}

/* ---- Cells ---- */

static size_t columns_of(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

struct line {
    char cell[COLUMNS][CELL];
    bool slowest, section;
};

static const char *const titles[COLUMNS] = { "operation", "count", "avg", "total", "self",
                                             "%", "p99", "throughput", "backend" };

static void name_cell(char *cell, const struct result *r, uint32_t row)
{
    const struct row *w = &r->row[row];
    uint32_t depth = w->depth > 1 ? w->depth - 1 : 0;
    const char *mark = w->open ? " (open)" : "";

    if (depth > 10)
        depth = 10;
    if (w->kind == LIVE_CONTEXT)
        snprintf(cell, CELL, "%*s[%.30s]", (int)(2 * depth), "", w->name);
    else if (w->label[0])
        snprintf(cell, CELL, "%*s%.22s{%.14s}%s", (int)(2 * depth), "", w->name, w->label, mark);
    else
        snprintf(cell, CELL, "%*s%.36s%s", (int)(2 * depth), "", w->name, mark);
}

static void put(struct line *l, int column, const char *text)
{
    snprintf(l->cell[column], CELL, "%s", text);
}

static void time_cells(struct line *l, const struct result *r, const struct row *w)
{
    double share = r->all_ns > 0 ? 100 * w->self / r->all_ns : 0;

    if (w->count > w->untimed)
        put(l, 2, human_ns(w->mean).s);
    if (w->total > 0)
        put(l, 3, human_ns(w->total).s);
    if (w->kind <= LIVE_OP || w->kind == LIVE_LOCK_WAIT) {
        put(l, 4, human_ns(w->self).s);
        snprintf(l->cell[5], CELL, "%.1f", share);
    }
    if (w->p99 > 0)
        put(l, 6, human_ns(w->p99).s);
    if (w->throughput > 0)
        snprintf(l->cell[7], CELL, "%s/s", human_bytes(w->throughput).s);
    put(l, 8, w->backend);
}

static void value_cells(struct line *l, const struct row *w)
{
    if (w->kind == LIVE_COUNTER)
        snprintf(l->cell[7], CELL, "sum %.10g", w->bytes);
    else if (w->kind == LIVE_GAUGE)
        snprintf(l->cell[7], CELL, "last %.6g, %.6g..%.6g", w->last, w->low, w->high);
    else if (w->kind == LIVE_POOL)
        snprintf(l->cell[7], CELL, "%s in use, peak %s", human_bytes(w->last).s,
                 human_bytes(w->high).s);
    put(l, 8, rt_kind_name[w->kind]);
}

static void fill_line(struct line *l, const struct result *r, uint32_t row)
{
    const struct row *w = &r->row[row];

    memset(l, 0, sizeof *l);
    name_cell(l->cell[0], r, row);
    if (w->kind == LIVE_CONTEXT) {
        l->section = true;
        put(l, 3, human_ns(w->total).s);
        return;
    }
    put(l, 1, human_count((int64_t)w->count).s);
    if (row_is_timed(w))
        time_cells(l, r, w);
    else
        value_cells(l, w);
    if (w->kind > LIVE_OP && row_is_timed(w))
        put(l, 8, rt_kind_name[w->kind]);
}

static uint32_t slowest_row(const struct result *r, const char *context)
{
    uint32_t best = LIVE_NO_NODE, shown = 0;

    for (uint32_t i = 0; i < r->n; i++) {
        if (!rt_report_shows(r, i, context) || r->row[i].kind > LIVE_OP)
            continue;
        shown++;
        if (best == LIVE_NO_NODE || r->row[i].self > r->row[best].self)
            best = i;
    }
    return shown > 1 ? best : LIVE_NO_NODE;
}

/* ---- The table ---- */

static void measure(const struct result *r, const char *context, size_t width[COLUMNS])
{
    struct line l;

    for (int c = 0; c < COLUMNS; c++)
        width[c] = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        if (!rt_report_shows(r, i, context))
            continue;
        fill_line(&l, r, i);
        for (int c = 0; c < COLUMNS; c++)
            if (columns_of(l.cell[c]) > width[c])
                width[c] = columns_of(l.cell[c]);
    }
    for (int c = 0; c < COLUMNS; c++)
        if (width[c] && columns_of(titles[c]) > width[c])
            width[c] = columns_of(titles[c]);
}

static void pad(struct rt_out *o, size_t n)
{
    while (n-- > 0)
        rt_out_str(o, " ");
}

static void print_line(struct rt_out *o, const struct line *l, const size_t width[COLUMNS])
{
    size_t owed = 0; /* spaces before the next cell that is not empty */

    for (int c = 0; c < COLUMNS; c++) {
        size_t n = columns_of(l->cell[c]);
        bool left = c == 0 || c == COLUMNS - 1;

        if (width[c] == 0)
            continue;
        if (c)
            owed += 2;
        if (n == 0) {
            owed += width[c];
            continue;
        }
        pad(o, owed + (left ? 0 : width[c] - n));
        rt_out_str(o, l->cell[c]);
        owed = left ? width[c] - n : 0;
    }
    if (l->slowest) {
        pad(o, owed + 2);
        rt_out_str(o, "← slowest");
    }
    rt_out_str(o, "\n");
}

static void print_titles(struct rt_out *o, const size_t width[COLUMNS])
{
    struct line l;
    size_t all = 0;

    memset(&l, 0, sizeof l);
    for (int c = 0; c < COLUMNS; c++) {
        put(&l, c, titles[c]);
        all += width[c] ? width[c] + (c ? 2 : 0) : 0;
    }
    print_line(o, &l, width);
    while (all-- > 0)
        rt_out_str(o, "─");
    rt_out_str(o, "\n");
}

static void print_head(struct rt_out *o, const struct result *r, const char *context)
{
    rt_out_printf(o, "\n%s", r->view.head.comm[0] ? r->view.head.comm : "program");
    if (context)
        rt_out_printf(o, " [%s]", context);
    rt_out_printf(o, "  %s in zones", human_ns(r->all_ns).s);
    rt_out_printf(o, ", %s of wall time, %u thread%s\n\n", human_ns(r->wall_ns).s, r->n_threads,
                  r->n_threads == 1 ? "" : "s");
}

static void print_quality(struct rt_out *o, const struct result *r)
{
    double share = r->all_ns > 0 ? 100 * r->overhead_ns / (r->all_ns + r->overhead_ns) : 0;

    rt_out_printf(o, "\nmeasuring took %s (%.2f %%), taken off above;", human_ns(r->overhead_ns).s,
                  share);
    rt_out_printf(o, " clock %s\n", r->view.head.clock == LIVE_TICKS ? "tsc" : "monotonic");
    for (int c = 0; c < FATHOM_LOST_CAUSES; c++)
        if (r->lost[c])
            rt_out_printf(o, "lost: %s %s\n", human_count((int64_t)r->lost[c]).s, rt_loss_name[c]);
}

static void print_advice(const struct rt_advice *a, void *arg)
{
    struct rt_out *o = arg;

    rt_out_printf(o, "\n%-6s %s\n", a->priority, a->title);
    rt_out_printf(o, "       %s\n", a->evidence);
    if (a->estimate[0])
        rt_out_printf(o, "       %s\n", a->estimate);
}

void rt_report_table(struct rt_out *o, const struct result *r, const char *context)
{
    uint32_t slow = slowest_row(r, context);
    size_t width[COLUMNS];
    struct line l;

    print_head(o, r, context);
    measure(r, context, width);
    if (width[0] == 0) {
        rt_out_str(o, "nothing was measured: is anything marked, and was it enabled?\n");
        return;
    }
    print_titles(o, width);
    for (uint32_t root = 0; root < r->n; root++) {
        if (r->row[root].parent != LIVE_NO_NODE)
            continue;
        for (uint32_t i = root; i != LIVE_NO_NODE; i = rt_report_next(r, i)) {
            if (!rt_report_shows(r, i, context))
                continue;
            fill_line(&l, r, i);
            l.slowest = i == slow;
            print_line(o, &l, width);
        }
    }
    print_quality(o, r);
    if (!context)
        rt_rules_run(r, ADVICE, print_advice, o);
}

void rt_report_compact(struct rt_out *o, const struct result *r, const char *context)
{
    char path[512];

    for (uint32_t i = 0; i < r->n; i++) {
        const struct row *w = &r->row[i];

        if (!rt_report_shows(r, i, context) || w->kind == LIVE_CONTEXT)
            continue;
        rt_result_path(r, i, '/', path, sizeof path);
        rt_out_printf(o, "%s n=%llu", path, (unsigned long long)w->count);
        if (row_is_timed(w))
            rt_out_printf(o, " avg=%s total=%s self=%s p99=%s", human_ns(w->mean).s,
                          human_ns(w->total).s, human_ns(w->self).s, human_ns(w->p99).s);
        else if (w->kind == LIVE_COUNTER)
            rt_out_printf(o, " sum=%.10g", w->bytes);
        else
            rt_out_printf(o, " last=%.10g", w->last);
        if (w->backend[0])
            rt_out_printf(o, " backend=%s", w->backend);
        if (w->label[0])
            rt_out_printf(o, " %s", w->label);
        rt_out_str(o, "\n");
    }
}
