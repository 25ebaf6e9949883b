/* callgraph.h - for importers of call graphs (callgrind, pstats): functions with what they cost
 * themselves and calls with what they cost in all, turned into stacks.
 *
 * A call graph does not say how a function's cost divides over the ways that lead to it, so it
 * is divided by the cost of the calls, as gprof does.  What each function and each line costs
 * itself comes out exactly; ways below a ten-thousandth of the whole are not followed, and what
 * is left over goes to the function's costliest way.  All frames and stacks are made here: the
 * intern serves for the rest.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_CALLGRAPH_H
#define FATHOM_FORMATS_CALLGRAPH_H

#include <stdbool.h>

#include "profile/intern.h"

enum { CALLGRAPH_MAX_VALUES = 32 };

struct callgraph_function {
    uint32_t function;               /* id in the intern */
    uint32_t first_line, last_line;  /* index + 1 into line */
    uint32_t first_out;              /* index + 1 into edge */
    uint32_t caller;                 /* edge of the costliest call of it, index + 1 */
    double self, in, out;            /* of the first value */
    uint32_t best_stack;             /* the costliest way found to it */
    double best;
    bool reached;
    bool given;   /* whole */
    bool indexed; /* its lines are in line_of */
    /* The line that was given last, which may have more to give: its index + 1, its frame, and
     * the last stack made of it with what it stands on. */
    uint32_t given_line, frame, below, stack;
};

struct callgraph_line { /* as small as can be: there may be millions */
    uint32_t line, next; /* next: index + 1 of the function's next line */
};

struct callgraph_edge {
    uint32_t caller, callee, line, next; /* next: index + 1 of the caller's next edge */
    uint32_t frame;                      /* of the caller at that line; id, 0 until needed */
    double cost;                         /* in all */
    size_t self;  /* index into value of what the callee cost itself in these calls, or */
    bool has_self; /* unknown */
};

struct callgraph {
    struct intern *in;
    enum frame_kind kind;
    size_t n_values; /* of each cost, at most CALLGRAPH_MAX_VALUES */
    uint32_t metric[CALLGRAPH_MAX_VALUES];
    VEC(struct callgraph_function) function;
    VEC(struct callgraph_line) line;
    VEC(int64_t) value; /* line index * n_values: what has not been given to stacks yet */
    VEC(int64_t) edge_self;
    VEC(struct callgraph_edge) edge;
    struct umap function_of, line_of, edge_of;
    struct umap here;       /* lines of the function at hand, when it is visited first */
    uint32_t at;            /* that function + 1 */
    bool ascending;         /* its lines do so far: here is not filled */
    uint32_t n_frames, n_stacks;
};

void callgraph_init(struct callgraph *g, struct intern *in, enum frame_kind kind);
void callgraph_release(struct callgraph *g);
/* Set n_values and metric before the first cost. */
uint32_t callgraph_function(struct callgraph *g, uint32_t function); /* index for intern's id */
void callgraph_cost(struct callgraph *g, uint32_t function, uint32_t line, const int64_t *values);
/* SELF may be NULL. */
void callgraph_call(struct callgraph *g, uint32_t caller, uint32_t callee, uint32_t line,
                    double cost, const int64_t *self);
/* Send stacks and samples. */
void callgraph_give(struct callgraph *g);

#endif
