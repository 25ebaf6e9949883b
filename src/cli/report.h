/* report.h - what the parts of `fathom report` share: the question, and one printer for each
 * form of answer.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_REPORT_H
#define FATHOM_CLI_REPORT_H

#include "analyze/an_flat.h"
#include "analyze/an_group.h"
#include "analyze/an_list.h"
#include "analyze/an_threads.h"
#include "cli/filters.h"
#include "text/term.h"

struct report_args {
    struct filters filters;
    bool tree, inverted, json, csv, idle;
    const char *callers, *by, *sort;
    uint64_t rows; /* UINT64_MAX: not given; 0: all */
};

struct report {
    const struct report_args *args;
    const struct profile *p;
    struct an_symbols symbols;
    struct an_view view;
    struct an_sum all;
    bool exact; /* no intervals: counted in full, or of waits, whose lengths are no samples */
    const char *unit;
    uint64_t rows;   /* UINT64_MAX: all */
    double min_pct;

    struct an_flat flat;     /* always */
    struct an_levels levels; /* --by */
    struct an_groups groups; /* when levels.n > 1, or by thread or process */
    struct an_tree trees;    /* --tree, --inverted, --callers */
    struct an_list list;
    int64_t *node_kinds;       /* by node of an upright tree, AN_KINDS each; NULL without waits */
    struct an_threads threads; /* with waits */
};

bool report_has_groups(const struct report *r);
bool report_has_tree(const struct report *r);
/* Waits are seen by kind: of "wall" beside running, of "wait" alone. */
bool report_has_waits(const struct report *r);
/* "futex", or "futex 71 %, run queue 29 %": the kinds that matter of AN_KINDS waits, or NULL. */
const char *report_kinds(const struct report *r, const int64_t *kind, struct buf *text);

/* Rows of the flat table that pass --min and -n. */
size_t report_flat_rows(const struct report *r);

void report_other_metrics(const struct report *r, struct out *o); /* "; also: -m cpu" */
/* The sums and threads above the table; in report_waits.c. */
void report_waits_text(const struct report *r, struct out *o, const struct term *term);

void report_text(const struct report *r, struct out *o);
void report_json(const struct report *r, struct out *o);
void report_csv(const struct report *r, struct out *o);

#endif
