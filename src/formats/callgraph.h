/* callgraph.h - for importers of call graphs (callgrind, pstats): convert functions with their self
 * cost and calls with their total cost to stacks.
 *
 * A call graph does not say how a function's cost divides over the ways that lead to it, so it
 * is divided by the cost of the calls, as gprof does.  Ways below a ten-thousandth of the whole
 * are not told apart: their cost goes up the calls that have any left to explain.  So what each
 * line costs itself comes out exactly, and without recursion what each function and each call
 * costs in all does too, by the first value; the others follow in proportion.  All frames and
 * stacks are made here: the intern serves for the rest.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_CALLGRAPH_H
#define FATHOM_FORMATS_CALLGRAPH_H

#include <stdbool.h>

#include "profile/intern.h"

enum { CALLGRAPH_MAX_VALUES = 32 };

struct callgraph_function {
    uint32_t function;            /* id in the intern */
    uint32_t first_part;          /* index + 1 into part */
    uint32_t first_out, first_in; /* index + 1 into edge; first_in moves on as calls are used up */
    uint32_t caller;              /* edge of the costliest call of it, index + 1 */
    uint32_t first_node;          /* of the ways to it: the walk's, index + 1 */
    double self, in, out;         /* of the first value */
    double rest;                  /* of self: not given to stacks yet */
    uint32_t best_stack;          /* the costliest way found to it */
    double best;
    bool reached;
    bool given; /* whole */
};

struct callgraph_part { /* a function's own lines, or those inlined from one other file */
    uint32_t function;           /* index */
    uint32_t inlined;            /* id in the intern: its name in that file; 0: its own lines */
    uint32_t next;               /* of the function's parts, index + 1 */
    uint32_t first_run, last_run; /* index + 1 */
    bool indexed;                /* its lines are in line_of */
    /* The line that was given last, which may have more to give: its index + 1, its frame, and
     * the last stack made of it with what it stands on. */
    uint32_t given_line, frame, below, stack;
};

struct callgraph_run { /* lines of a part that follow each other in line and value */
    uint32_t first, end, next; /* next: index + 1 of the part's next run */
};

struct callgraph_edge {
    uint32_t part, callee, line; /* where the call is, and of what function */
    uint32_t next_out, next_in;  /* index + 1 of the next edge of the caller, of the callee */
    uint32_t frame;              /* of the caller at that line; id, 0 until needed */
    double cost, left;           /* in all; not in any stack yet */
    size_t self;   /* index into edge_self of what the callee cost itself in these calls, or */
    bool has_self; /* unknown */
};

struct callgraph {
    struct intern *in;
    enum frame_kind kind;
    size_t n_values; /* of each cost, at most CALLGRAPH_MAX_VALUES */
    uint32_t metric[CALLGRAPH_MAX_VALUES];
    VEC(struct callgraph_function) function;
    VEC(struct callgraph_part) part;
    VEC(struct callgraph_run) run;
    VEC(uint32_t) line; /* numbers */
    VEC(int64_t) value; /* line index * n_values: what has not been given to stacks yet */
    VEC(int64_t) edge_self;
    VEC(struct callgraph_edge) edge;
    struct umap function_of, part_of, line_of, stack_of;
    struct index edge_of;
    struct umap here; /* lines of the part at hand, when it is visited first */
    uint32_t at;      /* that part + 1 */
    bool ascending;   /* its lines do so far: here is not filled */
    uint32_t n_frames, n_stacks;
};

void callgraph_init(struct callgraph *g, struct intern *in, enum frame_kind kind);
void callgraph_release(struct callgraph *g);
/* Set n_values and metric before the first cost. */
uint32_t callgraph_function(struct callgraph *g, uint32_t function); /* index for intern's id */
/* Index of the lines of a function, by its index: its own, or those INLINED (intern's id). */
uint32_t callgraph_part(struct callgraph *g, uint32_t function, uint32_t inlined);
void callgraph_cost(struct callgraph *g, uint32_t part, uint32_t line, const int64_t *values);
/* A call at a line of PART; SELF may be NULL. */
void callgraph_call(struct callgraph *g, uint32_t part, uint32_t line, uint32_t callee,
                    double cost, const int64_t *self);
/* Send stacks and samples. */
void callgraph_give(struct callgraph *g);

#endif
