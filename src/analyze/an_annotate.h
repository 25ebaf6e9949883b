/* an_annotate.h - the analysis of `fathom annotate`: listings of the requested functions, or of
 * the most expensive ones.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_ANNOTATE_H
#define FATHOM_ANALYZE_AN_ANNOTATE_H

#include "analyze/an_shown.h"
#include "base/map.h"
#include "text/result.h"

struct an_annotate_query {
    const char *name;   /* function, source file or regular expression; NULL: most expensive */
    uint64_t functions; /* without a name: maximum number of functions */
    double share_pct;   /* without a name: stop when this share of the cost is covered */
    bool code;          /* include instructions */
    bool all_code;      /* include all instructions of a hot line */
    double min_pct;     /* minimum share of a hot line */
};

struct an_annotate_listing {
    struct an_listing listing;
    struct an_shown shown;
    struct map disk; /* the source text, if the profile has none */
};

struct an_annotate {
    struct an_source_query source;
    int64_t whole; /* the cost that shares refer to */
    const char *metric_name, *unit;
    bool code, whole_file;
    VEC(struct an_annotate_listing) v;
};

/* P is the profile of V; missing code may be added to it.  V must outlive A.  ERR_MISSING when
 * there is nothing to list.  Call an_annotate_release() even after a failure. */
int an_annotate_build(struct an_annotate *a, struct profile *p, const struct an_view *v,
                      const struct an_annotate_query *q, struct err *e);
void an_annotate_release(struct an_annotate *a);

/* Fill R with the facts and shown rows of all listings: nested for JSON, flat for CSV. */
void an_annotate_result(const struct an_annotate *a, struct result *r);

/* Add the code of FUNCTIONS without line numbers to a profile that has no code.  In an_code.c. */
void an_code_read(struct profile *p, const uint32_t *functions, size_t n);

#endif
