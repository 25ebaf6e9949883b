/* an_report_rows.c - add the rows of a report to its result as tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analyze/an_quality.h"
#include "analyze/an_report.h"
#include "profile/limits.h"
#include "text/human.h"

/* On a narrow terminal, show the name of a function rather than its file and line. */
static const double UNNAMED_PCT = 0.5; /* with less, better names would not matter */

enum { UNNAMED_ROWS = 10, WIDE = 110, LESS_WIDE = 80, DECIMALS = 4 };

static enum term_style heat(double pct)
{
    return pct >= 10 ? TERM_HOT : pct >= 2 ? TERM_WARM : TERM_PLAIN;
}

static const char *file_of(const struct an_report *r, uint32_t function)
{
    return function ? profile_string(r->p, r->p->function.v[function - 1].file) : "";
}

static void put_pct(const struct an_report *r, struct result_table *t, int64_t weight)
{
    double pct = an_share_pct(weight, &r->all);

    result_cell(t, result_real(pct, DECIMALS));
    result_show(t, human_pct(pct).s);
    result_style(t, heat(pct));
}

/* Add the interval of a share; in text, only its distance to the farther end. */
static void put_interval(const struct an_report *r, struct result_table *t, int64_t weight)
{
    double share = an_share_pct(weight, &r->all);
    struct interval i = an_share_interval(weight, &r->all);
    double margin = i.high - share > share - i.low ? i.high - share : share - i.low;

    result_cell(t, r->exact ? result_none() : result_real(i.low, DECIMALS));
    result_cell(t, r->exact ? result_none() : result_real(i.high, DECIMALS));
    result_cell(t, result_none());
    result_show(t, r->exact || !weight ? "" : human_pct(margin).s);
}

/* Add running and waiting time, if the report shows wait kinds. */
static void put_times(const struct an_report *r, struct result_table *t, int64_t all,
                      int64_t wait)
{
    bool waits = an_report_has_waits(r), both = waits && r->view->metric;

    result_cell(t, waits ? result_int(all - wait) : result_none());
    result_show(t, both && all > wait ? human_ns((double)(all - wait)).s : "");
    result_cell(t, waits ? result_int(wait) : result_none());
    result_show(t, waits && wait ? human_ns((double)wait).s : "");
}

static void put_kinds(struct an_report *r, struct result_table *t, const int64_t *kind,
                      const char *more)
{
    struct buf text = { 0 };

    an_report_kinds(r, kind, &text);
    buf_str(&text, more);
    result_cell(t, an_report_has_waits(r) ? an_report_kinds_value(r, kind) : result_none());
    result_show(t, buf_text(&text));
    buf_release(&text);
}

static void put_samples(const struct an_report *r, struct result_table *t, uint64_t samples)
{
    result_cell(t, result_uint(samples));
    if (an_report_has_waits(r))
        result_show(t, "");
}

static void put_text(struct result_table *t, const char *shown)
{
    result_cell(t, result_none());
    result_show(t, shown);
}

/* --- functions -------------------------------------------------------------------------- */

#define FLAT_COLUMNS(source_width)                                                             \
    {                                                                                          \
        { NULL, "name" }, { NULL, "module" }, { NULL, "file" }, { NULL, "line" },              \
        { NULL, "self" }, { "self %", "self_pct" }, { NULL, "self_low_pct" },                  \
        { NULL, "self_high_pct" }, { "±", NULL }, { "running", "running" },                    \
        { "waiting", "waiting" }, { NULL, "total" }, { "total %", "total_pct" },               \
        { NULL, "total_waiting" }, { "samples", "samples" },                                   \
        { "waits for", "waits_for", TABLE_NAME }, { "module", NULL, TABLE_NAME },              \
        { "function", NULL, TABLE_NAME }, { "source", NULL, TABLE_NAME, source_width },        \
    }

static const struct result_column flat_columns[] = FLAT_COLUMNS(LESS_WIDE);
static const struct result_column waits_columns[] = FLAT_COLUMNS(WIDE);

static void put_row(struct an_report *r, struct result_table *t, const struct an_row *row)
{
    bool by_module = r->query->levels.n && r->query->levels.by[0] == AN_BY_MODULE &&
                     !an_report_has_groups(r);
    const char *module = an_module_name(r->p, row->module);
    char place[512];

    result_cell(t, result_text(row->name));
    result_cell(t, result_text(module));
    result_cell(t, result_text(file_of(r, row->function)));
    result_cell(t, result_uint(row->line));
    result_cell(t, result_int(row->self));
    put_pct(r, t, row->self);
    put_interval(r, t, row->self);
    put_times(r, t, row->self, row->wait);
    result_cell(t, result_int(row->total));
    put_pct(r, t, row->total);
    result_cell(t, an_report_has_waits(r) ? result_int(row->wait_total) : result_none());
    put_samples(r, t, row->samples);
    put_kinds(r, t, row->kind, "");
    put_text(t, by_module ? row->name : module);
    put_text(t, by_module ? "" : row->name);
    put_text(t, by_module ? "" : an_row_place(r->p, row, place, sizeof place));
}

static struct result_table *add_functions(struct an_report *r)
{
    struct result_table *t = result_table(
        &r->result, "functions", an_report_has_waits(r) ? waits_columns : flat_columns,
        ARRAY_LEN(flat_columns));

    for (size_t i = 0; i < r->flat.row.n; i++)
        put_row(r, t, &r->flat.row.v[i]);
    return t;
}

/* --- groups ----------------------------------------------------------------------------- */

static const struct result_column group_columns[] = {
    { NULL, "depth" }, { NULL, "parent" }, { NULL, "by" }, { NULL, "name" }, { NULL, "file" },
    { NULL, "line" }, { NULL, "weight" }, { "share %", "pct" }, { NULL, "low_pct" },
    { NULL, "high_pct" }, { "±", NULL }, { "cost", NULL }, { "running", "running" },
    { "waiting", "waiting" }, { "samples", "samples" }, { "waits for", "waits_for", TABLE_NAME },
    { NULL, "idle" }, { "group", NULL, TABLE_NAME },
};

static void put_group_name(const struct an_report *r, struct result_table *t,
                           const struct an_group *g)
{
    struct buf name = { 0 };

    for (uint32_t i = 0; i < g->depth; i++)
        buf_str(&name, "  ");
    buf_str(&name, g->name);
    if (g->line)
        buf_printf(&name, "  %s:%u", file_of(r, g->function), g->line);
    put_text(t, buf_text(&name));
    buf_release(&name);
}

static int64_t index_of(uint32_t parent)
{
    return parent == UINT32_MAX ? -1 : (int64_t)parent;
}

static void put_group(struct an_report *r, struct result_table *t, const struct an_group *g)
{
    char by[AN_TAG_KEY + 8];

    result_cell(t, result_uint(g->depth));
    result_cell(t, result_int(index_of(g->parent)));
    result_cell(t, result_text(an_level_name(&r->query->levels, g->depth, by)));
    result_cell(t, result_text(g->name));
    result_cell(t, result_text(file_of(r, g->function)));
    result_cell(t, result_uint(g->line));
    result_cell(t, result_int(g->weight));
    put_pct(r, t, g->weight);
    put_interval(r, t, g->weight);
    put_text(t, an_report_has_waits(r) ? "" : human_weight((double)g->weight, r->unit).s);
    put_times(r, t, g->weight, g->wait);
    put_samples(r, t, g->samples);
    put_kinds(r, t, g->kind, g->idle ? ", idle" : "");
    result_cell(t, g->idle ? result_bool(true) : result_none());
    put_group_name(r, t, g);
}

static struct result_table *add_groups(struct an_report *r)
{
    struct result_table *t = result_table(&r->result, "groups", group_columns,
                                          ARRAY_LEN(group_columns));

    for (size_t i = 0; i < r->groups.group.n; i++)
        put_group(r, t, &r->groups.group.v[i]);
    return t;
}

/* --- trees ------------------------------------------------------------------------------ */

static const struct result_column tree_columns[] = {
    { NULL, "depth" }, { NULL, "parent" }, { NULL, "name" }, { NULL, "module" },
    { NULL, "inlined" }, { NULL, "self" }, { NULL, "total" }, { "total %", "total_pct" },
    { "running", NULL }, { "waiting", "total_waiting" }, { "self %", "self_pct" },
    { "waits for", "waits_for", TABLE_NAME }, { "module", NULL, TABLE_NAME },
    { "function", NULL, TABLE_NAME },
};

/* Indent only where the tree branches.  A chain of single calls stays in its column, so that deep
 * stacks fit the terminal. */
struct branch {
    VEC(unsigned char) open; /* by step: do more siblings follow? */
    VEC(uint32_t) steps;     /* by depth: number of steps a line is indented */
};

static void put_guides(struct branch *b, const struct an_line *l, struct buf *text)
{
    uint32_t steps = l->depth ? b->steps.v[l->depth - 1] : 0;
    bool branches = l->siblings > 1 && l->depth > 0;

    b->steps.n = l->depth;
    b->open.n = steps;
    if (steps > LIMIT_INDENT)
        buf_printf(text, "[%u] ", steps); /* deeper lines would grow with their depth */
    for (uint32_t i = 0; i < steps && steps <= LIMIT_INDENT; i++)
        buf_str(text, b->open.v[i] ? "│  " : "   ");
    if (branches) {
        buf_str(text, l->last ? "└─ " : "├─ ");
        vec_push(&b->open, !l->last);
    }
    vec_push(&b->steps, steps + branches);
}

static void put_self(const struct an_report *r, struct result_table *t, int64_t self)
{
    bool upright = r->query->form == AN_REPORT_TREE;
    double pct = an_share_pct(self, &r->all);

    result_cell(t, upright ? result_real(pct, DECIMALS) : result_none());
    result_show(t, upright && self ? human_pct(pct).s : "");
    result_style(t, heat(pct));
}

static void put_line(struct an_report *r, struct result_table *t, const struct an_line *l,
                     struct branch *b)
{
    const struct an_symbol *y = &r->symbols.symbol.v[r->trees.trie.node.v[l->node].key];
    const int64_t *kinds = r->node_kinds ? &r->node_kinds[(size_t)l->node * AN_KINDS] : NULL;
    const char *module = an_module_name(r->p, y->module);
    struct buf text = { 0 };

    result_cell(t, result_uint(l->depth));
    result_cell(t, result_int(index_of(l->parent)));
    result_cell(t, result_text(y->name));
    result_cell(t, result_text(module));
    result_cell(t, result_bool(y->inlined));
    result_cell(t, r->query->form == AN_REPORT_TREE ? result_int(l->self) : result_none());
    result_cell(t, result_int(l->total));
    put_pct(r, t, l->total);
    put_times(r, t, l->total, l->wait);
    put_self(r, t, l->self);
    put_kinds(r, t, kinds, "");
    put_text(t, module);
    put_guides(b, l, &text);
    buf_printf(&text, "%s%s", y->name, y->inlined ? " (inlined)" : "");
    put_text(t, buf_text(&text));
    buf_release(&text);
}

static struct result_table *add_tree(struct an_report *r)
{
    struct result_table *t = result_table(&r->result, "tree", tree_columns,
                                          ARRAY_LEN(tree_columns));
    struct branch b = { 0 };

    for (size_t i = 0; i < r->list.line.n; i++)
        put_line(r, t, &r->list.line.v[i], &b);
    vec_release(&b.open);
    vec_release(&b.steps);
    return t;
}

/* --- modules without names -------------------------------------------------------------- */

static const struct result_column unnamed_columns[] = {
    { NULL, "module" }, { NULL, "self" }, { "self %", "self_pct" }, { "module", NULL, TABLE_NAME },
    { "names from", "source", TABLE_TEXT }, { "better names", "advice", TABLE_TEXT },
};

static void add_unnamed(struct an_report *r)
{
    struct result_table *t = result_table(&r->result, "without_symbols", unnamed_columns,
                                          ARRAY_LEN(unnamed_columns));
    struct an_unnamed_list list;
    size_t worth = 0; /* rows in text */

    an_quality_unnamed(r->view, &list);
    for (size_t i = 0; i < list.v.n; i++) {
        const struct an_unnamed *u = &list.v.v[i];
        double pct = an_share_pct(u->weight, &r->all);

        worth += pct >= UNNAMED_PCT && worth < UNNAMED_ROWS;
        result_cell(t, result_text(profile_string(r->p, r->p->module.v[u->module - 1].path)));
        result_cell(t, result_int(u->weight));
        result_cell(t, result_real(pct, DECIMALS));
        result_show(t, human_pct(pct).s);
        put_text(t, an_module_name(r->p, u->module));
        result_cell(t, result_text(u->source));
        result_cell(t, result_text(u->advice));
    }
    t->title = "modules without full symbols";
    t->text_rows = an_report_is_empty(r) ? 0 : worth;
    if (list.v.n > worth)
        t->after = result_printf(&r->result, "... %s more; --json lists all\n",
                                 human_u64(list.v.n - worth).s);
    vec_release(&list.v);
}

/* Add "... 4 more, 12.30 %; -n 0 shows all", and the same figures for JSON. */
static void add_hidden(struct an_report *r, struct result_table *t)
{
    double pct = an_share_pct(r->hidden_weight, &r->all);
    struct result_value v = result_object(&r->result);
    bool flat = !an_report_has_groups(r) && !an_report_has_tree(r);

    result_put(&r->result, v, "rows", result_uint(r->hidden_rows));
    result_put(&r->result, v, "weight", result_int(r->hidden_weight));
    result_put(&r->result, v, "pct", result_real(pct, DECIMALS));
    result_fact(&r->result, "hidden", v);
    if (r->hidden_rows)
        t->after = result_printf(&r->result, "... %s more, %s %%%s; -n 0%s shows all\n",
                                 human_u64(r->hidden_rows).s, human_pct(pct).s,
                                 flat ? " self" : "",
                                 r->min_pct > 0 ? " --min 0" : "");
}

void an_report_tables(struct an_report *r)
{
    struct result_table *t = add_functions(r);

    if (an_report_has_groups(r) || an_report_has_tree(r)) {
        t->text_rows = 0;
        t = an_report_has_tree(r) ? add_tree(r) : add_groups(r);
    }
    r->result.main = t;
    t->text_rows = an_report_is_empty(r) ? 0 : SIZE_MAX;
    t->before = an_report_has_waits(r) ? "\n" : "";
    add_hidden(r, t);
    add_unnamed(r);
}
