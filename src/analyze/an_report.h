/* an_report.h - the answer of `fathom report` as a result: where the cost went, as a flat table,
 * nested groups or a tree.  SPDX-License-Identifier: Apache-2.0 */
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
    const char *callers;     /* AN_REPORT_CALLERS: of which function */
    struct an_levels levels; /* AN_REPORT_FLAT: what to group by; n = 0: functions */
    const char *sort;        /* column of the flat table */
    uint64_t rows;           /* at most; UINT64_MAX: all */
    double min_pct;          /* leave out rows below; < 0: the default of the form */
    bool idle;               /* count the waiting of idle threads */
};

struct an_report {
    const struct an_report_query *query;
    struct an_view *view;
    const struct profile *p;
    struct an_symbols symbols;
    struct an_sum all;
    bool exact; /* no intervals: counted in full, or of waits, whose lengths are no samples */
    const char *unit;
    double min_pct;

    struct an_flat flat;       /* always */
    struct an_groups groups;   /* by several levels, or by thread or process */
    struct an_tree trees;      /* of the forms that are trees */
    struct an_list list;
    int64_t *node_kinds;       /* by node of an upright tree, AN_KINDS each; NULL without waits */
    struct an_threads threads; /* with waits */

    /* What --min and -n left out: rows (of a tree: branches) and their cost. */
    uint64_t left_rows;
    int64_t left_weight;

    struct result result;
};

/* V and Q must outlive R.  an_report_release also after a failure. */
int an_report_build(struct an_report *r, struct an_view *v, const struct an_report_query *q,
                    struct err *e);
void an_report_release(struct an_report *r);

/* --- for the files of the report ---------------------------------------------------------- */

bool an_report_has_groups(const struct an_report *r);
bool an_report_has_tree(const struct an_report *r);
/* Waits are seen by kind: of "wall" beside running, of "wait" alone. */
bool an_report_has_waits(const struct an_report *r);

/* Rows to tables; in an_report_rows.c. */
void an_report_tables(struct an_report *r);
/* The text above the tables and the table of threads; in an_report_head.c. */
void an_report_head(struct an_report *r);
/* "futex", or "futex 71 %, run queue 29 %": the kinds that matter of AN_KINDS waits, or NULL. */
const char *an_report_kinds(const struct an_report *r, const int64_t *kind, struct buf *text);
/* The same for programs: nanoseconds by kind. */
struct result_value an_report_kinds_value(struct an_report *r, const int64_t *kind);

#endif
