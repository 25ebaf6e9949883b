/* rt_report.c - the table printed at exit, and its compact form for logs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_report.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "runtime/rt_advice.h"
#include "text/human.h"

enum { NAME_MOST = 44, COLUMNS = 9, CELL = 48, ADVICE = 3 };

const char *const rt_kind_name[LIVE_SITE_KINDS] = {
    "zone", "op", "counter", "gauge", "instant", "frame", "lock wait", "lock hold", "pool",
    "flow" };
const char *const rt_loss_name[FATHOM_LOST_CAUSES] = {
    "trace records (memory full)", "zones (no memory for a call path)",
    "zones (no memory for a thread)", "events (signal inside the library)",
    "labels (more than 64 at one site)", "histogram values (memory full)" };

uint32_t rt_report_next(const struct zone_rows *r, uint32_t row)
{
    if (r->row[row].child != LIVE_NO_NODE)
        return r->row[row].child;
    while (row != LIVE_NO_NODE && r->row[row].next == LIVE_NO_NODE)
        row = r->row[row].parent;
    return row == LIVE_NO_NODE ? row : r->row[row].next;
}

bool rt_report_shows(const struct zone_rows *r, uint32_t row, const char *context)
{
    const struct zone_row *w = &r->row[row];

    return w->kind != LIVE_ROOT && (w->count || w->open) && zone_rows_in(r, row, context);
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

/* Titles of the two tables: times and counted values. */
static const char *const titles[2][COLUMNS] = {
    { "operation", "count", "avg", "total", "self", "%", "p99", "throughput", "backend" },
    { "value", "count", "last or sum", "least", "most", "", "", "", "kind" } };

static void name_cell(char *cell, const struct zone_rows *r, uint32_t row)
{
    const struct zone_row *w = &r->row[row];
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

static bool is_in_tree(const struct zone_row *w)
{
    return w->kind <= LIVE_OP || w->kind == LIVE_LOCK_WAIT;
}

static void time_cells(struct line *l, const struct zone_rows *r, const struct zone_row *w)
{
    double share = r->all_ns > 0 ? 100 * w->self / r->all_ns : 0;

    if (w->count > w->untimed)
        put(l, 2, human_ns(w->mean).s);
    if (w->total > 0)
        put(l, 3, human_ns(w->total).s);
    if (is_in_tree(w) && (w->count > w->untimed || w->self > 0)) {
        put(l, 4, human_ns(w->self).s);
        snprintf(l->cell[5], CELL, "%.1f", share);
    }
    if (w->p99 > 0)
        put(l, 6, human_ns(w->p99).s);
    if (w->throughput > 0)
        snprintf(l->cell[7], CELL, "%s/s", human_bytes(w->throughput).s);
    put(l, 8, w->backend);
}

static void put_number(struct line *l, int column, double x)
{
    if (x > -1e15 && x < 1e15 && x == (double)(int64_t)x)
        put(l, column, human_count((int64_t)x).s);
    else
        snprintf(l->cell[column], CELL, "%.6g", x);
}

static void value_cells(struct line *l, const struct zone_row *w)
{
    if (w->kind == LIVE_COUNTER)
        put_number(l, 2, w->bytes);
    if (w->kind == LIVE_POOL) {
        put(l, 2, human_bytes(w->last).s);
        put(l, 4, human_bytes(w->high).s);
    }
    if (w->kind == LIVE_GAUGE) {
        put_number(l, 2, w->last);
        put_number(l, 3, w->low);
        put_number(l, 4, w->high);
    }
    put(l, 8, rt_kind_name[w->kind]);
}

static void fill_cells(struct line *l, const struct zone_rows *r, uint32_t row)
{
    const struct zone_row *w = &r->row[row];

    memset(l, 0, sizeof *l);
    name_cell(l->cell[0], r, row);
    if (w->kind == LIVE_CONTEXT) {
        l->section = true;
        put(l, 3, human_ns(w->total).s);
        return;
    }
    put(l, 1, human_count((int64_t)w->count).s);
    if (zone_row_is_timed(w))
        time_cells(l, r, w);
    else
        value_cells(l, w);
    if (w->kind > LIVE_OP && zone_row_is_timed(w))
        put(l, 8, rt_kind_name[w->kind]);
}

static void fill_line(struct line *l, const struct zone_rows *r, uint32_t row)
{
    fill_cells(l, r, row);
    for (int c = 0; c < COLUMNS; c++)
        utf8_clean_line(l->cell[c], strlen(l->cell[c]));
}

static uint32_t slowest_row(const struct zone_rows *r, const char *context)
{
    uint32_t best = LIVE_NO_NODE, shown = 0;

    for (uint32_t i = 0; i < r->n; i++) {
        if (!rt_report_shows(r, i, context) || !is_in_tree(&r->row[i]))
            continue;
        shown++;
        if (best == LIVE_NO_NODE || r->row[i].self > r->row[best].self)
            best = i;
    }
    return shown > 1 && r->row[best].self > 0 ? best : LIVE_NO_NODE;
}

/* ---- The table ---- */

struct table {
    const struct zone_rows *r;
    const char *context;
    int which; /* index into titles */
    size_t width[COLUMNS];
};

static bool is_in(const struct table *t, uint32_t row)
{
    const struct zone_row *w = &t->r->row[row];
    bool value = w->kind != LIVE_CONTEXT && !zone_row_is_timed(w);

    return value == (t->which == 1) && rt_report_shows(t->r, row, t->context);
}

static void measure(struct table *t)
{
    struct line l;

    for (uint32_t i = 0; i < t->r->n; i++) {
        if (!is_in(t, i))
            continue;
        fill_line(&l, t->r, i);
        for (int c = 0; c < COLUMNS; c++)
            if (columns_of(l.cell[c]) > t->width[c])
                t->width[c] = columns_of(l.cell[c]);
    }
    for (int c = 0; c < COLUMNS; c++)
        if (t->width[c] && columns_of(titles[t->which][c]) > t->width[c])
            t->width[c] = columns_of(titles[t->which][c]);
}

static void pad(struct rt_out *o, size_t n)
{
    while (n-- > 0)
        rt_out_str(o, " ");
}

static void print_line(struct rt_out *o, const struct table *t, const struct line *l)
{
    size_t owed = 0; /* spaces to print before the next non-empty cell */

    for (int c = 0; c < COLUMNS; c++) {
        size_t n = columns_of(l->cell[c]);
        bool left = c == 0 || c == COLUMNS - 1;

        if (t->width[c] == 0)
            continue;
        if (c)
            owed += 2;
        if (n == 0) {
            owed += t->width[c];
            continue;
        }
        pad(o, owed + (left ? 0 : t->width[c] - n));
        rt_out_str(o, l->cell[c]);
        owed = left ? t->width[c] - n : 0;
    }
    if (l->slowest) {
        pad(o, owed + 2);
        rt_out_str(o, "← slowest");
    }
    rt_out_str(o, "\n");
}

static void print_titles(struct rt_out *o, const struct table *t)
{
    struct line l;
    size_t all = 0;

    memset(&l, 0, sizeof l);
    for (int c = 0; c < COLUMNS; c++) {
        put(&l, c, titles[t->which][c]);
        all += t->width[c] ? t->width[c] + (c ? 2 : 0) : 0;
    }
    print_line(o, t, &l);
    while (all-- > 0)
        rt_out_str(o, "─");
    rt_out_str(o, "\n");
}

/* Parents before children, longest first. */
static bool print_table(struct rt_out *o, struct table *t)
{
    const struct zone_rows *r = t->r;
    uint32_t slow = t->which == 0 ? slowest_row(r, t->context) : LIVE_NO_NODE;
    struct line l;

    measure(t);
    if (t->width[0] == 0)
        return false;
    rt_out_str(o, "\n");
    print_titles(o, t);
    for (uint32_t root = 0; root < r->n; root++) {
        if (r->row[root].parent != LIVE_NO_NODE)
            continue;
        for (uint32_t i = root; i != LIVE_NO_NODE; i = rt_report_next(r, i)) {
            if (!is_in(t, i))
                continue;
            fill_line(&l, r, i);
            l.slowest = i == slow;
            print_line(o, t, &l);
        }
    }
    return true;
}

static void print_head(struct rt_out *o, const struct zone_rows *r, const char *context)
{
    rt_out_str(o, "\n");
    rt_out_name(o, r->view.head.comm[0] ? r->view.head.comm : "program");
    if (context) {
        rt_out_str(o, " [");
        rt_out_name(o, context);
        rt_out_str(o, "]");
    }
    rt_out_printf(o, "  %s in zones", human_ns(r->all_ns).s);
    rt_out_printf(o, ", %s of wall time, %u thread%s\n", human_ns(r->wall_ns).s, r->n_threads,
                  r->n_threads == 1 ? "" : "s");
}

static void print_quality(struct rt_out *o, const struct zone_rows *r)
{
    double share = r->all_ns > 0 ? 100 * r->overhead_ns / (r->all_ns + r->overhead_ns) : 0;

    rt_out_printf(o, "\nmeasuring took %s (%.2f %%), subtracted above;", human_ns(r->overhead_ns).s,
                  share);
    rt_out_printf(o, " clock %s\n", r->view.head.clock == LIVE_TICKS ? "tsc" : "monotonic");
    for (int c = 0; c < FATHOM_LOST_CAUSES; c++)
        if (r->lost[c])
            rt_out_printf(o, "lost: %s %s\n", human_count((int64_t)r->lost[c]).s, rt_loss_name[c]);
}

static void print_advice(const struct finding *f, void *arg)
{
    struct rt_out *o = arg;

    const char *const lines[] = { f->title, f->evidence, f->bound };

    rt_out_printf(o, "\n%-6s", f->priority);
    for (int i = 0; i < 3; i++) {
        if (!lines[i][0])
            continue;
        rt_out_str(o, i ? "       " : " ");
        rt_out_name(o, lines[i]);
        rt_out_str(o, "\n");
    }
}

void rt_report_table(struct rt_out *o, const struct zone_rows *r, const char *context)
{
    struct table times = { .r = r, .context = context }, values = times;
    bool some;

    values.which = 1;
    print_head(o, r, context);
    some = print_table(o, &times);
    some |= print_table(o, &values);
    if (!some) {
        rt_out_str(o, "\nno zones were measured; check that the program has zones and enables "
                      "them\n");
        return;
    }
    print_quality(o, r);
    if (!context)
        rt_advice_each(r, ADVICE, print_advice, o);
}

void rt_report_compact(struct rt_out *o, const struct zone_rows *r, const char *context)
{
    char path[512];

    for (uint32_t i = 0; i < r->n; i++) {
        const struct zone_row *w = &r->row[i];

        if (!rt_report_shows(r, i, context) || w->kind == LIVE_CONTEXT)
            continue;
        if (zone_rows_context(r, i)[0]) {
            rt_out_str(o, "[");
            rt_out_name(o, zone_rows_context(r, i));
            rt_out_str(o, "] ");
        }
        zone_rows_path(r, i, '/', path, sizeof path);
        rt_out_name(o, path);
        rt_out_printf(o, " n=%llu", (unsigned long long)w->count);
        if (zone_row_is_timed(w))
            rt_out_printf(o, " avg=%s total=%s", human_ns(w->mean).s, human_ns(w->total).s);
        if (is_in_tree(w))
            rt_out_printf(o, " self=%s", human_ns(w->self).s);
        if (zone_row_is_timed(w))
            rt_out_printf(o, " p99=%s", human_ns(w->p99).s);
        if (w->kind == LIVE_COUNTER)
            rt_out_printf(o, " sum=%.10g", w->bytes);
        if (w->kind == LIVE_GAUGE || w->kind == LIVE_POOL)
            rt_out_printf(o, " last=%.10g", w->last);
        if (w->kind > LIVE_OP)
            rt_out_printf(o, " (%s)", rt_kind_name[w->kind]);
        if (w->backend[0]) {
            rt_out_str(o, " backend=");
            rt_out_name(o, w->backend);
        }
        if (w->label[0]) {
            rt_out_str(o, " ");
            rt_out_name(o, w->label);
        }
        rt_out_str(o, "\n");
    }
}
