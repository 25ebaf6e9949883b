/* joint.h - complete a truncated stack with the callers of an earlier one.
 *
 * If two stacks of a thread contain a frame with the same program counter and stack pointer, the
 * frame has the same callers in both while the call lasts.  So the frames of complete stacks are
 * stored in a table, and a truncated stack is joined to the callers that the table has for its
 * outermost frame.  The table has a fixed size: newer frames replace older ones.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_JOINT_H
#define FATHOM_PROFILE_JOINT_H

#include <stdint.h>

struct joint { /* identifies a frame on a thread's stack */
    uint64_t thread, pc, sp;
};
struct joints { /* start from {0} */
    struct joint_slot {
        uint64_t key;
        uint32_t stack;
    } *slot;
};

void joint_release(struct joints *j);
void joint_put(struct joints *j, struct joint at, uint32_t stack); /* STACK ends in frame AT */
uint32_t joint_find(const struct joints *j, struct joint at);      /* stack id, 0 if not found */

#endif
