/* an_quality.h - how far a recording can be trusted, in sentences.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_QUALITY_H
#define FATHOM_ANALYZE_AN_QUALITY_H

#include "analyze/an_view.h"
#include "text/out.h"

/* What was recorded, where and how: one or two lines; "" lines are not printed. */
void an_quality_facts(const struct profile *p, struct out *o);
/* Samples, losses, stacks, rung, overhead: one line, and one for each thing that is wrong. */
void an_quality_lines(const struct profile *p, struct out *o);

/* Modules whose functions have no or poor names, with what would help. */
struct an_unnamed {
    uint32_t module;
    int64_t weight;     /* self, of the metric */
    const char *source; /* where names came from; "" unknown */
    const char *advice; /* what to do; "" none known */
};
struct an_unnamed_list {
    VEC(struct an_unnamed) v; /* heaviest first */
};
void an_quality_unnamed(const struct an_view *v, struct an_unnamed_list *out);

#endif
