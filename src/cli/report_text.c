/* report_text.c - the report for people.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/an_quality.h"
#include "cli/report.h"
#include "text/human.h"
#include "text/table.h"

enum { UNNAMED_ROWS = 10, WIDE = 110, LESS_WIDE = 80 };

static enum term_style heat(double pct)
{
    return pct >= 10 ? TERM_HOT : pct >= 2 ? TERM_WARM : TERM_PLAIN;
}

void report_other_metrics(const struct report *r, struct out *o)
{
    const char *name = an_view_name(&r->view), *before = "; also:";

    for (uint32_t i = 1; i <= r->p->metric.n; i++) {
        const char *other = profile_string(r->p, r->p->metric.v[i - 1].name);

        if (strcmp(other, name) == 0)
            continue;
        out_printf(o, "%s -m %s", before, other);
        before = ",";
    }
}

/* What to do about an empty table: most often the program slept. */
static void put_no_samples(const struct report *r, struct out *o)
{
    bool ours = *profile_meta(r->p, "quality.samples") && !*r->p->damage;

    out_str(o, "no samples");
    if (r->p->metric.n > 1 && !*r->p->damage)
        report_other_metrics(r, o);
    else if (ours)
        out_str(o, ": it hardly used the CPU; fathom record --wall shows waiting, a higher -F "
                   "short runs");
    out_char(o, '\n');
}

static void put_header(const struct report *r, struct out *o, const struct term *term)
{
    uint64_t before = o->written + o->buf.n;

    an_quality_facts(r->p, o);
    an_quality_lines(r->p, o);
    if (o->written + o->buf.n > before)
        out_char(o, '\n');
    if (!r->all.samples)
        put_no_samples(r, o);
    else if (report_has_waits(r))
        report_waits_text(r, o, term);
    else if (strcmp(r->unit, "samples") == 0)
        out_printf(o, "%s samples\n\n", human_count(r->all.weight).s);
    else
        out_printf(o, "%s: %s in %s %s%s", an_view_name(&r->view),
                   human_weight((double)r->all.weight, r->unit).s,
                   human_u64(r->all.samples).s, r->exact ? "event" : "sample",
                   r->all.samples == 1 ? "" : "s");
    if (r->all.samples && strcmp(r->unit, "samples") != 0 && !report_has_waits(r)) {
        report_other_metrics(r, o);
        out_str(o, "\n\n");
    }
}

/* Half the width of the interval at its wider side: what to add after "plus or minus". */
static double margin(const struct report *r, int64_t weight)
{
    double share = an_share_pct(weight, &r->all);
    struct interval i = an_share_interval(weight, &r->all);

    return i.high - share > share - i.low ? i.high - share : share - i.low;
}

static void put_pct(struct table *t, double pct)
{
    table_text(t, human_pct(pct).s);
    table_style(t, heat(pct));
}

/* Time on and off the CPU, and why off; nothing where waits are not seen by kind. */
static void put_times(const struct report *r, struct table *t, int64_t all, int64_t wait)
{
    bool both = r->view.metric != 0 && report_has_waits(r);

    table_text(t, both && all > wait ? human_ns((double)(all - wait)).s : "");
    table_text(t, report_has_waits(r) && wait ? human_ns((double)wait).s : "");
}

static const struct table_column flat_columns[] = {
    { "self %", TABLE_NUMBER },  { "±", TABLE_NUMBER },      { "running", TABLE_NUMBER },
    { "waiting", TABLE_NUMBER }, { "total %", TABLE_NUMBER }, { "samples", TABLE_NUMBER },
    { "waits for", TABLE_NAME }, { "module", TABLE_NAME },   { "function", TABLE_NAME },
    { "source", TABLE_NAME },
};

static void put_flat(const struct report *r, struct out *o, const struct term *term)
{
    bool by_module = r->levels.n && r->levels.by[0] == AN_BY_MODULE;
    /* Where there is little room, the name of a function says more than its place. */
    bool narrow = term->width > 0 && term->width < (report_has_waits(r) ? WIDE : LESS_WIDE);
    size_t n = report_flat_rows(r);
    struct buf kinds = { 0 };
    char place[512];
    struct table t;

    table_init(&t, flat_columns, ARRAY_LEN(flat_columns));
    for (size_t i = 0; i < n; i++) {
        const struct an_row *row = &r->flat.row.v[i];

        put_pct(&t, an_share_pct(row->self, &r->all));
        table_text(&t, r->exact || !row->self ? "" : human_pct(margin(r, row->self)).s);
        put_times(r, &t, row->self, row->wait);
        put_pct(&t, an_share_pct(row->total, &r->all));
        table_text(&t, report_has_waits(r) ? "" : human_u64(row->samples).s);
        table_text(&t, report_kinds(r, row->kind, &kinds));
        table_text(&t, by_module ? row->name : an_module_name(r->p, row->module));
        table_text(&t, by_module ? "" : row->name);
        table_text(&t, by_module || narrow ? "" : an_row_place(r->p, row, place, sizeof place));
    }
    table_print(&t, o, term);
    table_release(&t);
    buf_release(&kinds);
    if (n < r->flat.row.n)
        out_printf(o, "... %s more; -n 0 shows all\n",
                   human_u64(r->flat.row.n - n).s);
}

static const struct table_column group_columns[] = {
    { "share %", TABLE_NUMBER }, { "±", TABLE_NUMBER },       { "cost", TABLE_NUMBER },
    { "running", TABLE_NUMBER }, { "waiting", TABLE_NUMBER }, { "samples", TABLE_NUMBER },
    { "waits for", TABLE_NAME }, { "group", TABLE_NAME },
};

static void group_name(const struct report *r, const struct an_group *g, struct buf *name)
{
    const char *file = g->function
                           ? profile_string(r->p, r->p->function.v[g->function - 1].file) : "";

    name->n = 0;
    for (uint32_t i = 0; i < g->depth; i++)
        buf_str(name, "  ");
    buf_str(name, g->name);
    if (g->line)
        buf_printf(name, "  %s:%u", file, g->line);
}

static void put_groups(const struct report *r, struct out *o, const struct term *term)
{
    struct buf name = { 0 }, kinds = { 0 };
    struct table t;
    uint64_t rows = 0;
    size_t left = 0;

    table_init(&t, group_columns, ARRAY_LEN(group_columns));
    for (size_t i = 0; i < r->groups.group.n; i++) {
        const struct an_group *g = &r->groups.group.v[i];
        double pct = an_share_pct(g->weight, &r->all);

        if (pct < r->min_pct || rows >= r->rows) {
            left++;
            continue;
        }
        rows++;
        put_pct(&t, pct);
        table_text(&t, r->exact ? "" : human_pct(margin(r, g->weight)).s);
        table_text(&t, report_has_waits(r) ? "" : human_weight((double)g->weight, r->unit).s);
        put_times(r, &t, g->weight, g->wait);
        table_text(&t, report_has_waits(r) ? "" : human_u64(g->samples).s);
        report_kinds(r, g->kind, &kinds);
        buf_str(&kinds, g->idle ? ", idle" : "");
        table_text(&t, buf_text(&kinds));
        group_name(r, g, &name);
        table_text(&t, buf_text(&name));
    }
    table_print(&t, o, term);
    table_release(&t);
    buf_release(&name);
    buf_release(&kinds);
    if (left)
        out_printf(o, "... %s more; -n 0 --min 0 shows all\n", human_u64(left).s);
}

static const struct table_column tree_columns[] = {
    { "total %", TABLE_NUMBER }, { "running", TABLE_NUMBER }, { "waiting", TABLE_NUMBER },
    { "self %", TABLE_NUMBER },  { "waits for", TABLE_NAME }, { "module", TABLE_NAME },
    { "function", TABLE_NAME },
};

/* A chain of single calls stays in its column, so that deep stacks do not run off the page;
 * only where the tree branches is there a step to the right. */
struct branch {
    VEC(unsigned char) open; /* by step: more siblings follow below */
    VEC(uint32_t) steps;     /* by depth: steps to the left of a line there */
};

static void put_guides(struct branch *b, const struct an_line *l, struct buf *text)
{
    uint32_t steps = l->depth ? b->steps.v[l->depth - 1] : 0;
    bool branches = l->siblings > 1 && l->depth > 0;

    b->steps.n = l->depth;
    b->open.n = steps;
    for (uint32_t i = 0; i < steps; i++)
        buf_str(text, b->open.v[i] ? "│  " : "   ");
    if (branches) {
        buf_str(text, l->last ? "└─ " : "├─ ");
        vec_push(&b->open, !l->last);
    }
    vec_push(&b->steps, steps + branches);
}

static const int64_t *node_kinds(const struct report *r, const struct an_line *l)
{
    return r->node_kinds ? &r->node_kinds[(size_t)l->node * AN_KINDS] : NULL;
}

static void put_tree(const struct report *r, struct out *o, const struct term *term)
{
    bool upright = r->args->tree;
    struct branch b = { 0 };
    struct buf text = { 0 }, kinds = { 0 };
    struct table t;
    size_t i;

    table_init(&t, tree_columns, ARRAY_LEN(tree_columns));
    for (i = 0; i < r->list.line.n && i < r->rows; i++) {
        const struct an_line *l = &r->list.line.v[i];
        const struct an_symbol *y = &r->symbols.symbol.v[r->trees.trie.node.v[l->node].key];
        double self = an_share_pct(l->self, &r->all);

        text.n = 0;
        put_guides(&b, l, &text);
        buf_str(&text, y->name);
        buf_str(&text, y->inlined ? " (inlined)" : "");
        put_pct(&t, an_share_pct(l->total, &r->all));
        put_times(r, &t, l->total, l->wait);
        table_text(&t, upright && l->self ? human_pct(self).s : "");
        table_style(&t, heat(self));
        table_text(&t, report_kinds(r, node_kinds(r, l), &kinds));
        table_text(&t, an_module_name(r->p, y->module));
        table_text(&t, buf_text(&text));
    }
    table_print(&t, o, term);
    table_release(&t);
    vec_release(&b.open);
    vec_release(&b.steps);
    buf_release(&text);
    buf_release(&kinds);
    if (i < r->list.line.n || r->list.hidden)
        out_printf(o, "... smaller ones are hidden; --min 0 -n 0 shows all\n");
}

static void put_unnamed(const struct report *r, struct out *o, const struct term *term)
{
    static const struct table_column columns[] = {
        { "self %", TABLE_NUMBER }, { "module", TABLE_NAME }, { "names from", TABLE_TEXT },
        { "better names", TABLE_TEXT },
    };
    struct an_unnamed_list list;
    struct table t;

    an_quality_unnamed(&r->view, &list);
    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < list.v.n && i < UNNAMED_ROWS; i++) {
        const struct an_unnamed *u = &list.v.v[i];

        table_text(&t, human_pct(an_share_pct(u->weight, &r->all)).s);
        table_text(&t, an_module_name(r->p, u->module));
        table_text(&t, u->source);
        table_text(&t, u->advice);
    }
    if (list.v.n) {
        out_str(o, "\nmodules without full symbols\n");
        table_print(&t, o, term);
    }
    if (list.v.n > UNNAMED_ROWS)
        out_printf(o, "... %s more; --json lists all\n", human_u64(list.v.n - UNNAMED_ROWS).s);
    table_release(&t);
    vec_release(&list.v);
}

void report_text(const struct report *r, struct out *o)
{
    struct term term = term_of(STDOUT_FILENO);

    put_header(r, o, &term);
    if (!r->all.samples)
        return;
    if (report_has_tree(r))
        put_tree(r, o, &term);
    else if (report_has_groups(r))
        put_groups(r, o, &term);
    else
        put_flat(r, o, &term);
    put_unnamed(r, o, &term);
}
