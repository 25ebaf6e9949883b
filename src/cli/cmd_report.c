/* cmd_report.c - print costs as tables and trees.  SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "analyze/an_report.h"
#include "cli/command.h"
#include "cli/filters.h"
#include "cli/input.h"
#include "profile/limits.h"

enum { ROWS_IN_TEXT = 40 };

struct report_args {
    struct filters filters;
    bool tree, inverted, json, csv, idle;
    const char *callers, *by, *sort;
    uint64_t rows; /* UINT64_MAX: not given; 0: all */
    double min_pct; /* negative: not given */
};

static enum result_form form_of(const struct report_args *a)
{
    return a->json ? RESULT_AS_JSON : a->csv ? RESULT_AS_CSV : RESULT_AS_TEXT;
}

static uint64_t rows_of(const struct report_args *a, const struct an_report_query *q)
{
    if (a->rows != UINT64_MAX)
        return a->rows ? a->rows : UINT64_MAX;
    return form_of(a) == RESULT_AS_TEXT && q->form == AN_REPORT_FLAT ? ROWS_IN_TEXT : UINT64_MAX;
}

static int make_query(const struct report_args *a, struct an_report_query *q, struct err *e)
{
    q->sort = a->sort ? a->sort : "self";
    if (!an_flat_can_sort(q->sort)) {
        err_set(e, ERR_USAGE, "--sort: unknown column \"%s\"", a->sort);
        err_hint(e, "use self, total, samples, function or module");
        return -1;
    }
    if (a->json && a->csv)
        return err_set(e, ERR_USAGE, "--json and --csv cannot be combined");
    if (a->tree + a->inverted + !!a->callers + !!a->by > 1)
        return err_set(e, ERR_USAGE, "use only one of --tree, --inverted, --callers and --by");
    if (a->sort && (a->tree || a->inverted || a->callers || a->by))
        return err_set(e, ERR_USAGE, "--sort is for the flat table: trees and groups sort by cost");
    q->form = a->tree       ? AN_REPORT_TREE
              : a->inverted ? AN_REPORT_INVERTED
              : a->callers  ? AN_REPORT_CALLERS
                            : AN_REPORT_FLAT;
    q->callers = a->callers;
    q->min_pct = a->min_pct;
    q->idle = a->idle;
    q->rows = rows_of(a, q);
    return a->by ? an_levels_parse(&q->levels, a->by, e) : 0;
}

static int print(const struct report_args *a, const struct an_report_query *q, struct an_view *v,
                 struct err *e)
{
    struct out o = out_fd(STDOUT_FILENO);
    struct term term = term_of(STDOUT_FILENO);
    struct an_report r;
    int rc = an_report_build(&r, v, q, e);

    o.limit = LIMIT_EXPORT_BYTES;
    if (rc == 0)
        result_print(&r.result, form_of(a), &o, &term);
    if (out_close(&o, rc == 0 ? e : NULL) < 0)
        rc = -1;
    an_report_release(&r);
    return rc;
}

static int report_run(void *args, const struct opts_rest *rest, struct err *e)
{
    const struct report_args *a = args;
    struct an_report_query q = { 0 };
    struct an_view v = { 0 };
    struct profile *p;
    int rc;

    if (make_query(a, &q, e) < 0)
        return -1;
    p = input_open(rest, e);
    if (!p)
        return -1;
    rc = filters_apply(&a->filters, p, AN_VIEW_KINDS, &v, e);
    if (rc == 0)
        rc = print(a, &q, &v, e);
    an_view_release(&v);
    profile_free(p);
    return rc;
}

static const struct option report_options[] = {
    { OPT_FLAG, 't', "tree", offsetof(struct report_args, tree), NULL,
      "print the call tree, callers above callees" },
    { OPT_FLAG, 'i', "inverted", offsetof(struct report_args, inverted), NULL,
      "print the inverted tree, functions above their callers" },
    { OPT_STR, 0, "callers", offsetof(struct report_args, callers), "FUNC",
      "print the callers of FUNC as a tree" },
    { OPT_STR, 'b', "by", offsetof(struct report_args, by), "LIST",
      "group by command, process, thread, module, function, line, tag:KEY" },
    { OPT_STR, 's', "sort", offsetof(struct report_args, sort), "COLUMN",
      "sort by self (default), total, samples, function or module" },
    { OPT_U64, 'n', "rows", offsetof(struct report_args, rows), "ROWS",
      "print at most ROWS rows; 0 prints all (default: 40 in text)" },
    { OPT_DOUBLE, 0, "min", offsetof(struct report_args, min_pct), "PCT",
      "hide rows below PCT percent (default: 0.5 for trees, 0 otherwise)" },
    { OPT_FLAG, 0, "idle", offsetof(struct report_args, idle), NULL,
      "with wall: include idle threads" },
    { OPT_FLAG, 0, "json", offsetof(struct report_args, json), NULL, "print one JSON object" },
    { OPT_FLAG, 0, "csv", offsetof(struct report_args, csv), NULL, "print comma-separated values" },
    { 0 },
};

static const struct opts_table report_tables[] = {
    { report_options, 0 },
    { filters_options, offsetof(struct report_args, filters) },
    { 0 },
};

static const struct report_args report_defaults = {
    .rows = UINT64_MAX,
    .min_pct = -1,
};

const struct command cmd_report = {
    .name = "report",
    .summary = "show where the time went: functions, call trees, lines",
    .usage = "report [options] [FILE...]\nreport [options] -- CMD...",
    .examples = "  fathom report                      the hottest functions of profile.fathom\n"
                "  fathom report -t -- ./prog         record ./prog, show its call tree\n"
                "  fathom report --callers malloc     who calls malloc\n"
                "  fathom report -b process,module    shares by process, then module\n"
                "  fathom report -m wait -i           wait kinds and their callers",
    .options = report_tables,
    .args_size = sizeof(struct report_args),
    .defaults = &report_defaults,
    .run = report_run,
};
