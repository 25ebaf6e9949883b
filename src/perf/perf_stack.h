/* perf_stack.h - from a sample's registers, stack bytes and call chain to a stack id.
 *
 * The walk by unwind tables is believed first.  Where it does not reach the root, the same
 * thread's earlier stacks may: a frame with an equal (pc, sp) has the same callers, so that the
 * missing part is joined on; else the kernel's frame-pointer chain goes on.  What still has no
 * root is put under a frame "[truncated]".  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_STACK_H
#define FATHOM_PERF_PERF_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/perf_process.h"
#include "profile/joint.h"

enum { PERF_MAX_FRAMES = 4096 };

struct perf_stack_counts { /* of stacks with a user part */
    uint64_t all, complete, joined, cut, lost;
    uint64_t short_copies; /* walks that ended for want of bytes, joined or not */
};

struct perf_ksymbol { /* code that the kernel has made or loaded */
    uint64_t start, end;
    uint32_t frame;
};

struct perf_stacks {
    struct intern *in;
    struct perf_processes *processes;
    struct unw_cache *rules;
    struct unw_frame *frames; /* of the sample at hand, leaf first */
    struct joints joints;
    struct umap kernel_frames; /* pc * 2 + is_return -> frame id */
    struct umap root_frames;   /* frame ids at which a walk found the root */
    struct umap ends;          /* outermost frame -> stacks that a frame-pointer chain ended at */
    size_t lbr_depth;
    uint32_t kernel_module, truncated;
    char kernel_path[128]; /* of the kernel as a module */
    uint64_t kernel_shift; /* from its addresses in the records to those of its names */
    VEC(struct perf_ksymbol) ksymbol;
    struct perf_stack_counts counts;
};

void perf_stack_init(struct perf_stacks *s, struct intern *in, struct perf_processes *p);
void perf_stack_ksymbol(struct perf_stacks *s, const struct perf_record *r);
void perf_stack_release(struct perf_stacks *s);

/* Stack id of sample R on thread T; 0 when it has no frame at all. */
uint32_t perf_stack_of(struct perf_stacks *s, struct perf_thread *t, const struct perf_record *r);
/* The same without the kernel's part. */
uint32_t perf_stack_of_user(struct perf_stacks *s, struct perf_thread *t,
                            const struct perf_record *r);

#endif
