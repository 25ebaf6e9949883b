/* an_shown.h - the part of a listing that `fathom annotate` shows, in every form of output.
 *
 * Shown are the lines with cost and, if there is source text, two lines around each.  Below a hot
 * line are the functions inlined into it and its expensive instructions with their neighbors.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_SHOWN_H
#define FATHOM_ANALYZE_AN_SHOWN_H

#include "analyze/an_source.h"

struct an_shown_query {
    int64_t whole;  /* the cost that shares refer to */
    double min_pct; /* of a hot line, and of an inlined function */
    bool code;      /* show instructions */
    bool all_code;  /* show all instructions of a hot line */
};

struct an_shown_line {
    uint32_t number;
    const struct an_source_line *cost; /* NULL: has none, shown for context */
    uint32_t first_inlined, n_inlined; /* into inlined[] */
    uint32_t first_instr, n_instr;     /* into instr[] */
    uint32_t n_hidden;                 /* hidden instructions with cost */
    int64_t hidden;                    /* their cost */
};

struct an_shown { /* pointers into the listing */
    VEC(struct an_shown_line) line;
    VEC(const struct an_inlined *) inlined;
    VEC(const struct an_instr *) instr;
    bool has_lines; /* false: no debug information; all cost is on line 0, show only its code */
};

/* X as a share of WHOLE. */
static inline double an_shown_pct(int64_t x, int64_t whole)
{
    return whole ? 100.0 * (double)x / (double)whole : 0;
}

/* Whether a share is large enough to be shown with two decimals. */
static inline bool an_shown_is_visible(double pct)
{
    return pct >= 0.005;
}

/* Select the rows of L, which must outlive S. */
void an_shown_select(struct an_shown *s, const struct an_listing *l,
                     const struct an_shown_query *q);
void an_shown_release(struct an_shown *s);

#endif
