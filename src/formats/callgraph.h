/* callgraph.h - for importers of call graphs (callgrind, pstats): convert functions with their self
 * cost and calls with their total cost to stacks.
 *
 * A call graph does not record how the cost of a function divides over the paths that lead to it,
 * so it is divided in proportion to the cost of the calls, as gprof does.  Paths below a
 * ten-thousandth of the total are not distinguished: their cost goes to callers whose calls have
 * cost left.  The self cost of each line is therefore exact.  Without recursion the total cost of
 * each function and each call is exact too, for the first value; the others follow in proportion.
 * This code defines all frames and stacks itself and uses the intern for everything else.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_CALLGRAPH_H
#define FATHOM_FORMATS_CALLGRAPH_H

#include <stdbool.h>

#include "profile/intern.h"

enum { CALLGRAPH_MAX_VALUES = 32 };

struct callgraph_function {
    uint32_t function;            /* id in the intern */
    uint32_t first_part;          /* index + 1 into part */
    uint32_t first_out, first_in; /* index + 1 into edge; first_in skips calls that are used up */
    uint32_t caller;              /* edge of its most expensive call, index + 1 */
    uint32_t first_node;          /* first node of the walk for this function, index + 1 */
    double self, in, out;         /* of the first value */
    double rest;                  /* part of self that is not in any stack yet */
    uint32_t best_stack;          /* of the most expensive path found to it */
    double best;
    bool reached;
    bool written; /* all of its cost */
};

struct callgraph_part { /* a function's own lines, or those inlined from one other file */
    uint32_t function;           /* index */
    uint32_t inlined;            /* id in the intern: its name in that file; 0: its own lines */
    uint32_t next;               /* of the function's parts, index + 1 */
    uint32_t first_run, last_run; /* index + 1 */
    bool indexed;                /* its lines are in line_of */
    /* The last line written, which may have cost left: its index + 1, its frame, its last stack
     * and the parent of that stack. */
    uint32_t last_line, frame, below, stack;
};

struct callgraph_run { /* lines of a part that are adjacent in line and value */
    uint32_t first, end, next; /* next: index + 1 of the part's next run */
};

struct callgraph_edge {
    uint32_t part, callee, line; /* place of the call, and the function it calls */
    uint32_t next_out, next_in;  /* index + 1 of the next edge of the caller, of the callee */
    uint32_t frame;              /* of the caller at that line; id, 0 until needed */
    double cost, left;           /* total; not in any stack yet */
    size_t self;   /* index into edge_self: self cost of the callee in these calls */
    bool has_self; /* false: unknown */
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
    VEC(int64_t) value; /* line index * n_values: cost that is not in any stack yet */
    VEC(int64_t) edge_self;
    VEC(struct callgraph_edge) edge;
    struct umap function_of, part_of, line_of, stack_of;
    struct index edge_of;
    struct umap here; /* lines of the current part, during its first visit */
    uint32_t at;      /* that part + 1 */
    bool ascending;   /* its lines so far are: here is empty */
    uint32_t n_frames, n_stacks;
};

void callgraph_init(struct callgraph *g, struct intern *in, enum frame_kind kind);
void callgraph_release(struct callgraph *g);
/* Set n_values and metric before the first cost. */
uint32_t callgraph_function(struct callgraph *g, uint32_t function); /* index for intern's id */
/* Index of the part with the lines of FUNCTION (an index) itself, or of INLINED (intern's id). */
uint32_t callgraph_part(struct callgraph *g, uint32_t function, uint32_t inlined);
void callgraph_cost(struct callgraph *g, uint32_t part, uint32_t line, const int64_t *values);
/* A call at a line of PART; SELF may be NULL. */
void callgraph_call(struct callgraph *g, uint32_t part, uint32_t line, uint32_t callee,
                    double cost, const int64_t *self);
/* Write stacks and samples to the sink. */
void callgraph_write(struct callgraph *g);

#endif
