/* col_stack.h - from a sample's registers, stack bytes and call chain to a stack id.
 *
 * The walk by unwind tables is believed first.  Where it does not reach the root, the same
 * thread's earlier stacks may: a frame with an equal (pc, sp) has the same callers, so that the
 * missing part is joined on; else the kernel's frame-pointer chain goes on.  What still has no
 * root is put under a frame "[truncated]".  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_STACK_H
#define FATHOM_COLLECT_COL_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/col_process.h"
#include "collect/collect.h"
#include "profile/joint.h"

enum { COL_MAX_FRAMES = 4096 };

struct col_stack_counts { /* of stacks with a user part */
    uint64_t all, rooted, joined, cut, lost;
    uint64_t short_copies; /* walks that ended for want of bytes, joined or not */
};

struct col_stacks {
    struct intern *in;
    struct col_processes *processes;
    enum col_graph graph;
    struct unw_cache *rules;
    struct unw_frame *frames; /* of the sample at hand, leaf first */
    struct joints joints;
    struct umap kernel_frames; /* pc * 2 + is_return -> frame id */
    struct umap root_frames;   /* frame ids at which a walk found the root */
    struct umap ends;          /* outermost frame -> stacks that a frame-pointer chain ended at */
    size_t lbr_depth;
    uint32_t kernel_module, truncated;
    struct col_stack_counts counts;
};

void col_stack_init(struct col_stacks *s, struct intern *in, struct col_processes *p,
                    enum col_graph graph);
void col_stack_release(struct col_stacks *s);

/* Stack id of sample R on thread T; 0 when it has no frame at all. */
uint32_t col_stack_of(struct col_stacks *s, struct col_thread *t, const struct col_record *r);
/* The same without the kernel's part. */
uint32_t col_stack_of_user(struct col_stacks *s, struct col_thread *t, const struct col_record *r);

#endif
