/* an_flat.h - self and total cost by function, line or module.
 *
 * The total counts a sample once, however often the function occurs in its stack.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_FLAT_H
#define FATHOM_ANALYZE_AN_FLAT_H

#include "analyze/an_symbols.h"
#include "analyze/an_view.h"
#include "stats/stats.h"

/* Cost of a whole view, which shares refer to. */
struct an_sum {
    int64_t weight;
    uint64_t samples;
    double effective; /* effective sample size; see docs/math.md */
};
struct an_sum an_sum_of(const struct an_view *v);
double an_share_pct(int64_t weight, const struct an_sum *all);
/* 95 % interval of a share, in percent. */
struct interval an_share_interval(int64_t weight, const struct an_sum *all);

enum an_by { AN_BY_FUNCTION, AN_BY_LINE, AN_BY_MODULE, AN_BY_THREAD, AN_BY_PROCESS,
             AN_BY_COMMAND, AN_BY_TAG };

struct an_row {
    const char *name;  /* of the function, or of the module when by module; never NULL */
    uint32_t function; /* 0 when unresolved or by module */
    uint32_t module;   /* 0 when unknown */
    uint32_t line;     /* by line: the line; by function: its declaration; 0 when unknown */
    int64_t self, total;
    uint64_t samples; /* number of samples in self */
    int64_t wait, wait_total; /* waiting parts of self and total (wall views) */
    int64_t *kind;            /* self by wait kind, in the arena of the table; NULL if none */
};

struct an_flat {
    VEC(struct an_row) row; /* unordered until sorted */
    struct an_sum all;
    struct arena arena;
};

/* BY is function, line or module.  Names are valid as long as S. */
void an_flat_build(struct an_flat *f, const struct an_symbols *s, const struct an_view *v,
                   enum an_by by);
void an_flat_release(struct an_flat *f);

/* COLUMN: "self", "total", "samples", "function" (or "name"), "module".  Ties by name. */
bool an_flat_can_sort(const char *column);
void an_flat_sort(struct an_flat *f, const struct profile *p, const char *column);

/* "file:line", "file" or "", without directories (JSON and CSV contain the full path). */
const char *an_row_place(const struct profile *p, const struct an_row *r, char *text, size_t cap);

#endif
