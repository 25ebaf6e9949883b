/* an_view.h - what of a profile is looked at: one metric, or running and waiting together.
 *
 * "wall" is no metric of a file but two of them added up: time on a CPU and time off it.  A wait
 * then belongs to the function that waits, and what it waits for (its tag TAG_WAIT) is the kind of
 * the cost.  Threads that only wait for work are idle: their waiting is left out, as
 * it would bury everything else.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_VIEW_H
#define FATHOM_ANALYZE_AN_VIEW_H

#include <stdbool.h>

#include "profile/profile.h"

enum { AN_KINDS = 16 }; /* kind 0 is running */

struct an_view {
    const struct profile *profile;
    uint32_t metric;  /* id; of a wall view the running one; 0: none */
    uint32_t waiting; /* id of a metric of waits that are seen by kind, 0: none */
    bool all_threads; /* idle ones count */
    /* With waits only; for an_view_release. */
    unsigned n_kinds;
    const char *kind[AN_KINDS];  /* "futex", "sleep" ...; in the profile */
    unsigned char *kind_of_tags; /* by tag set; [0]: some wait */
    unsigned char *idle;          /* by thread id */
};

enum an_view_way {
    /* Without a name the first metric with samples; idle threads keep their waits. */
    AN_VIEW_PLAIN,
    AN_VIEW_BOTH,  /* the same, but without a name "wall" where that can be */
    AN_VIEW_KINDS, /* without a name "wall" where that can be; waits are seen by kind */
};

/* One metric of P; nothing to release. */
struct an_view an_view_of(const struct profile *p, uint32_t metric);
/* The view called NAME: a metric, or "wall"; NULL for the one that suits P. */
int an_view_open(struct an_view *v, const struct profile *p, const char *name,
                 enum an_view_way way, struct err *e);
void an_view_release(struct an_view *v);

/* Leave the metrics of V alone in P, which is V's profile. */
void an_view_narrow(struct an_view *v, struct profile *p);

const char *an_view_name(const struct an_view *v); /* "" when there is no metric */
const char *an_view_unit(const struct an_view *v);
bool an_view_is_exact(const struct an_view *v); /* counted in full: no intervals */

/* Does M count, and if so on which stack and as what kind? */
static inline bool an_view_takes(const struct an_view *v, const struct sample *m, uint32_t *stack,
                                 unsigned *kind)
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
