/* an_view.h - the part of a profile to show: one metric, or running and waiting together.
 *
 * "wall" is not a metric of a file but the sum of two: running and waiting.  A wait is part of the
 * cost of the function that waits, and its wait kind (TAG_WAIT) is the kind of that cost.  The
 * waits of idle threads are not counted, because they would hide everything else.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_VIEW_H
#define FATHOM_ANALYZE_AN_VIEW_H

#include <stdbool.h>

#include "profile/profile.h"

enum { AN_KINDS = 16 }; /* kind 0 is running */

struct an_view {
    const struct profile *profile;
    uint32_t metric;  /* id; in a wall view, of the running metric; 0 if none */
    uint32_t waiting; /* id of a metric of waits shown by kind, 0 if none */
    bool all_threads; /* count the waits of idle threads */
    /* Only with waits; freed by an_view_release(). */
    unsigned n_kinds;
    const char *kind[AN_KINDS];  /* "futex", "sleep" ...; in the profile */
    unsigned char *kind_of_tags; /* by tag set; [0]: unspecified */
    unsigned char *idle;          /* by thread id */
};

enum an_view_way {
    /* Default: the first metric with samples.  The waits of idle threads count. */
    AN_VIEW_PLAIN,
    AN_VIEW_BOTH,  /* the same, but default: "wall" if the profile has both metrics */
    AN_VIEW_KINDS, /* default: "wall" if the profile has both metrics; waits are shown by kind */
};

/* A view of one metric of P, which need not be released. */
struct an_view an_view_of(const struct profile *p, uint32_t metric);
/* Open the view NAME: a metric or "wall"; NULL for the default. */
int an_view_open(struct an_view *v, const struct profile *p, const char *name,
                 enum an_view_way way, struct err *e);
void an_view_release(struct an_view *v);

/* Remove all metrics but those of V from P, the profile of V. */
void an_view_narrow(struct an_view *v, struct profile *p);

const char *an_view_name(const struct an_view *v); /* "" when there is no metric */
const char *an_view_unit(const struct an_view *v);
bool an_view_is_exact(const struct an_view *v); /* not sampled: no intervals */

/* Does M count?  If so, set its stack and kind. */
static inline bool an_view_takes(const struct an_view *v, const struct profile_sample *m,
                                 uint32_t *stack, unsigned *kind)
{
    *stack = m->stack;
    *kind = 0;
    if (m->metric == v->metric)
        return true;
    if (!v->waiting || m->metric != v->waiting)
        return false;
    if (v->idle && !v->all_threads && v->idle[m->thread])
        return false;
    *kind = v->kind_of_tags[m->tags];
    return true;
}

#endif
