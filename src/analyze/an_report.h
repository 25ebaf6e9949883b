/* an_report.h - the analysis of `fathom report`: the cost as a flat table, nested groups or a
 * tree.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_REPORT_H
#define FATHOM_ANALYZE_AN_REPORT_H

#include "analyze/an_flat.h"
#include "analyze/an_group.h"
#include "analyze/an_list.h"
#include "analyze/an_threads.h"
#include "text/result.h"

enum an_report_form { AN_REPORT_FLAT, AN_REPORT_TREE, AN_REPORT_INVERTED, AN_REPORT_CALLERS };

struct an_report_query {
    enum an_report_form form;
    const char *callers;     /* AN_REPORT_CALLERS: the function */
    struct an_levels levels; /* AN_REPORT_FLAT: what to group by; n = 0: functions */
    const char *sort;        /* column of the flat table */
    uint64_t rows;           /* maximum number of rows; UINT64_MAX: all */
    double min_pct;          /* hide rows below this share; < 0: the default of the form */
    bool idle;               /* include the waits of idle threads */
};

struct an_report {
    const struct an_report_query *query;
    struct an_view *view;
    const struct profile *p;
    struct an_symbols symbols;
    struct an_sum all;
    bool exact; /* no intervals: an exact metric, or waits, which are not sampled */
    const char *unit;
    double min_pct;

    struct an_flat flat;       /* always */
    struct an_groups groups;   /* by several levels, or by thread or process */
    struct an_tree trees;      /* for trees */
    struct an_list list;
    int64_t *node_kinds;       /* by node of an upright tree, AN_KINDS each; NULL without waits */
    struct an_threads threads; /* with waits */

    /* Rows hidden by --min and -n (branches of a tree), and their cost. */
    uint64_t hidden_rows;
    int64_t hidden_weight;

    struct result result;
};

/* V and Q must outlive R.  Call an_report_release() even after a failure. */
int an_report_build(struct an_report *r, struct an_view *v, const struct an_report_query *q,
                    struct err *e);
void an_report_release(struct an_report *r);

/* --- private to an_report*.c ---------------------------------------------------------------- */

bool an_report_has_groups(const struct an_report *r);
bool an_report_has_tree(const struct an_report *r);
/* Does the report show wait kinds?  "wall" does, with running; "wait" does, without. */
bool an_report_has_waits(const struct an_report *r);
/* CPU time that was not sampled has a weight, but no samples. */
static inline bool an_report_is_empty(const struct an_report *r)
{
    return !r->all.samples && !r->all.weight;
}

/* Add the rows as tables.  In an_report_rows.c. */
void an_report_tables(struct an_report *r);
/* Add the text above the tables and the table of threads.  In an_report_head.c. */
void an_report_head(struct an_report *r);
/* Describe the main wait kinds, "futex" or "futex 71 %, run queue 29 %"; NULL if there are none. */
const char *an_report_kinds(const struct an_report *r, const int64_t *kind, struct buf *text);
/* The same for JSON and CSV: nanoseconds by wait kind. */
struct result_value an_report_kinds_value(struct an_report *r, const int64_t *kind);

#endif
