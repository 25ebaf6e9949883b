/* edges.h - convert a profile to a call graph, for formats that store one (callgrind, pstats): the
 * self cost of each function by line, and the cost of each call.  A sample counts once for a
 * function and once for a call, no matter how often they occur in its stack.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_EDGES_H
#define FATHOM_FORMATS_EDGES_H

#include "base/hash.h"
#include "base/mem.h"
#include "analyze/an_labels.h"

struct edges_self { /* self cost of a line of a function */
    uint32_t label, line;
};
struct edges_call {
    uint32_t caller, callee, line; /* caller, callee: labels; line: in the caller */
};
struct edges_value {
    int64_t self, total; /* of a function, or of the callee in a call */
};

struct edges {
    struct an_labels labels;
    size_t n_values; /* the profile's metrics */
    VEC(struct edges_self) self;
    VEC(struct edges_call) call;
    VEC(int64_t) self_value;            /* self index * n_values */
    VEC(struct edges_value) call_value; /* call index * n_values */
    VEC(uint64_t) call_count;           /* samples */
    VEC(struct edges_value) function;   /* (label - 1) * n_values */
    VEC(uint64_t) function_count;
    VEC(uint32_t) module; /* label - 1: the first module seen, 0 unknown */
    struct umap self_of, call_of;
};

/* Fails if the calls have more values than LIMIT_CELLS; release G even then. */
int edges_build(struct edges *g, const struct profile *p, struct err *e);
void edges_release(struct edges *g);
/* Return the labels sorted by name, file and line, so that output does not depend on the order of
 * samples: an array of an_labels_count() labels, which the caller frees. */
uint32_t *edges_order(const struct edges *g);
/* Return g->call.n call indexes sorted by that order of the caller, then of the callee. */
uint32_t *edges_call_order(const struct edges *g, const uint32_t *labels);

#endif
