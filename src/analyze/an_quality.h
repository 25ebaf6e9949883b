/* an_quality.h - describe the quality of a recording.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_QUALITY_H
#define FATHOM_ANALYZE_AN_QUALITY_H

#include "analyze/an_view.h"
#include "text/out.h"

/* Print what was recorded, where and how, in one or two lines.  Omit empty lines. */
void an_quality_facts(const struct profile *p, struct out *o);
/* Print a line with samples, losses, stacks, rung and overhead, and a line for each problem. */
void an_quality_lines(const struct profile *p, struct out *o);

/* A module without full symbols, and how to get them. */
struct an_unnamed {
    uint32_t module;
    int64_t weight;     /* self cost */
    const char *source; /* source of its names; "" when unknown */
    const char *advice; /* how to get better names; "" when unknown */
};
struct an_unnamed_list {
    VEC(struct an_unnamed) v; /* largest weight first */
};
void an_quality_unnamed(const struct an_view *v, struct an_unnamed_list *out);

#endif
