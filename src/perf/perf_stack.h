/* perf_stack.h - build the stack of a sample from its registers, stack bytes and call chain.
 *
 * The walk by unwind tables comes first.  If it does not reach the root, it is joined to an
 * earlier stack of the same thread: a frame with equal (pc, sp) has the same callers.  Otherwise
 * the kernel's frame-pointer chain continues it through functions whose rules say that they keep a
 * frame pointer.  Of a chain without a walk, addresses that cannot be return addresses are
 * dropped.  A stack that is still truncated is placed under a frame "[truncated]".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_STACK_H
#define FATHOM_PERF_PERF_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/perf_process.h"
#include "profile/joint.h"

enum { PERF_MAX_FRAMES = 4096 };

struct perf_stack_counts { /* of stacks with a user part */
    uint64_t all, complete, joined, cut, lost;
    uint64_t chains; /* of those lost: frame-pointer chains */
    uint64_t bare; /* end in code without unwind information */
    uint64_t short_copies; /* walks that needed bytes beyond the copy, joined or not */
};

struct perf_stacks {
    struct intern *in;
    struct perf_processes *processes;
    struct unw_cache *rules;
    struct unw_frame *frames; /* of the current sample, leaf first */
    struct joints joints;
    struct umap kernel_frames; /* pc * 2 + is_return -> frame id */
    struct umap root_frames;   /* frame ids at which a walk ended at the root */
    struct umap ends;          /* outermost frame -> stacks from frame-pointer chains */
    size_t lbr_depth;
    uint32_t kernel_module, truncated;
    uint32_t bare_module; /* in whose code the last stack of counts.bare ends */
    char kernel_path[128]; /* of the kernel as a module */
    uint64_t kernel_shift; /* from addresses in records to addresses of symbols */
    struct unw_space *ksymbols; /* code that the kernel generated or loaded; module: frame id */
    struct perf_stack_counts counts;
};

void perf_stack_init(struct perf_stacks *s, struct intern *in, struct perf_processes *p);
void perf_stack_ksymbol(struct perf_stacks *s, const struct perf_record *r);
void perf_stack_release(struct perf_stacks *s);

/* Stack id of sample R on thread T; 0 when it has no frames. */
uint32_t perf_stack_of(struct perf_stacks *s, struct perf_thread *t, const struct perf_record *r);
/* The same without kernel frames. */
uint32_t perf_stack_of_user(struct perf_stacks *s, struct perf_thread *t,
                            const struct perf_record *r);

#endif
