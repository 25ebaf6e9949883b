/* cmd_report.c - where the cost went, as tables and trees.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/report.h"

enum { ROWS_IN_TEXT = 40 };
static const double TREE_MIN_PCT = 0.5;

bool report_has_tree(const struct report *r)
{
    return r->args->tree || r->args->inverted || r->args->callers;
}

bool report_has_groups(const struct report *r)
{
    return r->levels.n > 1 || (r->levels.n == 1 && r->levels.by[0] >= AN_BY_THREAD);
}

bool report_has_waits(const struct report *r)
{
    return r->view.waiting != 0;
}

size_t report_flat_rows(const struct report *r)
{
    size_t n = 0;

    while (n < r->flat.row.n && n < r->rows)
        n++;
    return n;
}

/* Sorting by cost leaves the small rows at the end; sorting by name does not. */
static void drop_small(struct an_flat *f, double min_pct)
{
    size_t kept = 0;

    for (size_t i = 0; i < f->row.n; i++)
        if (an_share_pct(f->row.v[i].total, &f->all) >= min_pct)
            f->row.v[kept++] = f->row.v[i];
    f->row.n = kept;
}

static void build_upright(struct report *r, int64_t **self, int64_t **wait)
{
    an_tree_build(&r->trees, &r->symbols, NULL);
    *self = an_tree_self(&r->trees, &r->view, NULL);
    if (report_has_waits(r))
        *wait = an_tree_waits(&r->trees, &r->view, &r->node_kinds);
}

static void invert(struct report *r, int64_t **self, int64_t **wait)
{
    struct an_tree upright = r->trees;
    int64_t *upright_self = *self, *upright_wait = *wait;

    an_tree_invert(&upright, upright_self, &r->trees, self);
    if (upright_wait)
        *wait = an_tree_invert_more(&upright, upright_wait, &r->trees);
    an_tree_release(&upright);
    free(upright_self);
    free(upright_wait);
    free(r->node_kinds); /* they belong to leaves, which are the top now */
    r->node_kinds = NULL;
}

static int build_tree(struct report *r, struct err *e)
{
    int64_t *self = NULL, *wait = NULL;
    double least = r->min_pct / 100 * (double)r->all.weight;
    int rc = 0;

    if (r->args->callers)
        rc = an_callers_build(&r->trees, &self, &wait, &r->symbols, &r->view, r->args->callers, e);
    else
        build_upright(r, &self, &wait);
    if (r->args->inverted)
        invert(r, &self, &wait);
    if (rc == 0)
        an_list_build(&r->list, &r->trees, &r->symbols, self, wait, (int64_t)least);
    free(self);
    free(wait);
    return rc;
}

static int build(struct report *r, struct err *e)
{
    const struct report_args *a = r->args;
    bool text = !a->json && !a->csv;

    for (size_t i = 0; i < r->levels.n; i++)
        r->view.all_threads |= r->levels.by[i] == AN_BY_THREAD;
    r->view.all_threads |= a->idle;
    r->all = an_sum_of(&r->view);
    r->exact = an_view_is_exact(&r->view) || report_has_waits(r);
    r->unit = an_view_unit(&r->view);
    if (report_has_waits(r))
        an_threads_build(&r->threads, &r->view);
    r->min_pct = a->filters.min_pct >= 0 ? a->filters.min_pct
                 : report_has_tree(r)    ? TREE_MIN_PCT
                                         : 0;
    r->rows = a->rows == 0 ? UINT64_MAX
              : a->rows != UINT64_MAX            ? a->rows
              : text && !report_has_tree(r)      ? ROWS_IN_TEXT
                                                 : UINT64_MAX;
    an_symbols_init(&r->symbols, r->p);
    an_flat_build(&r->flat, &r->symbols, &r->view,
                  r->levels.n == 1 && !report_has_groups(r) ? r->levels.by[0] : AN_BY_FUNCTION);
    drop_small(&r->flat, a->filters.min_pct);
    an_flat_sort(&r->flat, r->p, a->sort);
    if (report_has_groups(r))
        an_groups_build(&r->groups, &r->symbols, &r->view, &r->levels);
    return report_has_tree(r) ? build_tree(r, e) : 0;
}

static void release(struct report *r)
{
    an_flat_release(&r->flat);
    an_groups_release(&r->groups);
    an_list_release(&r->list);
    an_tree_release(&r->trees);
    an_symbols_release(&r->symbols);
    an_threads_release(&r->threads);
    an_view_release(&r->view);
    free(r->node_kinds);
}

static int check(const struct report_args *a, struct report *r, struct err *e)
{
    if (!an_flat_can_sort(a->sort)) {
        err_set(e, ERR_USAGE, "--sort: there is no column \"%s\"", a->sort);
        err_hint(e, "self, total, samples, function and module are columns");
        return -1;
    }
    if (a->json && a->csv)
        return err_set(e, ERR_USAGE, "--json and --csv exclude each other");
    if (a->tree + a->inverted + !!a->callers + !!a->by > 1)
        return err_set(e, ERR_USAGE, "choose one of --tree, --inverted, --callers and --by");
    return a->by ? an_levels_parse(&r->levels, a->by, e) : 0;
}

static int report_run(void *args, const struct opts_rest *rest, struct err *e)
{
    const struct report_args *a = args;
    struct report r = { .args = a };
    struct out o = out_fd(STDOUT_FILENO);
    struct profile *p = NULL;
    int rc = check(a, &r, e);

    if (rc == 0)
        p = input_open(rest, e);
    if (!p)
        return -1;
    r.p = p;
    rc = filters_apply(&a->filters, p, AN_VIEW_KINDS, &r.view, e);
    if (rc == 0)
        rc = build(&r, e);
    if (rc == 0)
        (a->json ? report_json : a->csv ? report_csv : report_text)(&r, &o);
    if (out_close(&o, rc == 0 ? e : NULL) < 0)
        rc = -1;
    release(&r);
    profile_free(p);
    return rc;
}

static const struct option report_options[] = {
    { OPT_FLAG, 't', "tree", offsetof(struct report_args, tree), NULL,
      "the call tree, callers above what they call" },
    { OPT_FLAG, 'i', "inverted", offsetof(struct report_args, inverted), NULL,
      "the tree from the leaves: functions above their callers" },
    { OPT_STR, 0, "callers", offsetof(struct report_args, callers), "FUNC",
      "who calls FUNC, as a tree" },
    { OPT_STR, 'b', "by", offsetof(struct report_args, by), "LIST",
      "group by command, process, thread, module, function, line" },
    { OPT_STR, 's', "sort", offsetof(struct report_args, sort), "COLUMN",
      "self (default), total, samples, function, module" },
    { OPT_U64, 'n', "rows", offsetof(struct report_args, rows), "ROWS",
      "show ROWS rows; 0 shows all (40 in text)" },
    { OPT_FLAG, 0, "idle", offsetof(struct report_args, idle), NULL,
      "wall: count the waiting of idle threads too" },
    { OPT_FLAG, 0, "json", offsetof(struct report_args, json), NULL, "one JSON object" },
    { OPT_FLAG, 0, "csv", offsetof(struct report_args, csv), NULL, "comma-separated values" },
    { 0 },
};

static const struct opts_table report_tables[] = {
    { report_options, 0 },
    { filters_options, offsetof(struct report_args, filters) },
    { 0 },
};

static const struct report_args report_defaults = {
    .filters = { .min_pct = -1 },
    .sort = "self",
    .rows = UINT64_MAX,
};

const struct command cmd_report = {
    .name = "report",
    .summary = "where the time went: functions, call trees, lines",
    .usage = "report [options] [FILE...]\nreport [options] -- CMD...",
    .examples = "  fathom report                      the hottest functions of profile.fathom\n"
                "  fathom report -t -- ./prog         record ./prog, show its call tree\n"
                "  fathom report --callers malloc     who calls malloc\n"
                "  fathom report -b process,module    shares by process, then module\n"
                "  fathom report -m wait -i           what was waited for, and who called it",
    .options = report_tables,
    .args_size = sizeof(struct report_args),
    .defaults = &report_defaults,
    .run = report_run,
};
