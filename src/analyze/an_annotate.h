/* an_annotate.h - the answer of `fathom annotate`: listings of the functions that were asked for,
 * or of the most expensive ones.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_ANNOTATE_H
#define FATHOM_ANALYZE_AN_ANNOTATE_H

#include "analyze/an_source.h"
#include "base/map.h"
#include "text/result.h"

struct an_annotate_query {
    const char *name;   /* a function, a source file or a regular expression; NULL: the costliest */
    uint64_t functions; /* without a name: at most so many ... */
    double share_pct;   /* ... until so much of the cost is covered */
    bool code;          /* with instructions */
};

struct an_annotate_listing {
    struct an_listing listing;
    struct map disk; /* the text, where the profile has none */
};

struct an_annotate {
    struct an_source_query source;
    int64_t whole; /* what shares are of */
    const char *metric_name, *unit;
    bool code, whole_file;
    VEC(struct an_annotate_listing) v;
};

/* V's profile P may be given code that it lacks.  The view must outlive A.  ERR_MISSING when there
 * is nothing to list.  an_annotate_release also after a failure. */
int an_annotate_build(struct an_annotate *a, struct profile *p, const struct an_view *v,
                      const struct an_annotate_query *q, struct err *e);
void an_annotate_release(struct an_annotate *a);

/* Facts and rows of all listings, for programs. */
void an_annotate_result(const struct an_annotate *a, struct result *r);

/* Add the code of FUNCTIONS that have no lines to a profile that holds no code; in an_code.c. */
void an_code_read(struct profile *p, const uint32_t *functions, size_t n);

#endif
