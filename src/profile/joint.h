/* joint.h - where a stack that was cut goes on.
 *
 * Two stacks of one thread with a frame of equal program counter and stack pointer share its
 * callers, as long as that call lasts.  So frames of whole stacks are remembered, and a stack
 * whose copied bytes ended too early is put on the callers that an earlier one had there.  The
 * memory is a table of fixed size: newer frames take the place of older ones.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_JOINT_H
#define FATHOM_PROFILE_JOINT_H

#include <stdint.h>

struct joint { /* a frame: who and where it is */
    uint64_t thread, pc, sp;
};
struct joints {
    struct joint_slot {
        uint64_t key;
        uint32_t stack;
    } *slot;
};

void joint_init(struct joints *j);
void joint_release(struct joints *j);
void joint_put(struct joints *j, struct joint at, uint32_t stack); /* the id it is the leaf of */
uint32_t joint_find(const struct joints *j, struct joint at);      /* 0 when unknown */

#endif
