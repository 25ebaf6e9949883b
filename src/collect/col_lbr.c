/* col_lbr.c - see col_lbr.h.
 *
 * In call-stack mode the CPU drops a call's record when it returns, so that the records left,
 * newest first, are the calls that are open: from = the call instruction in the caller, to = the
 * start of the callee.  There are 8 to 32 of them; deeper stacks lack their outermost frames.
 * What earlier stacks of the thread had there is found by how their inner frames overlap, and
 * since equal call sites at equal depth are the only evidence, such stacks are marked as joined
 * (col_stack.c does that by (pc, sp), where sp is the depth counted from the oldest record).
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_lbr.h"

/* A frame's place in the walk: the address of the call plus one, as a return address would lie
 * behind it (look-ups take one off again). */
size_t col_lbr_frames(const struct col_record *r, struct unw_frame *frames, size_t cap)
{
    size_t calls = r->branches.n / 3, n = 0;

    if (!cap)
        return 0;
    frames[n++] = (struct unw_frame){ .pc = r->ip };
    for (size_t i = 0; i < calls && n < cap; i++) {
        uint64_t from = col_word(&r->branches, i * 3), to = col_word(&r->branches, i * 3 + 1);

        if (!from || !to)
            break;
        frames[n++] = (struct unw_frame){ .pc = from + 1, .is_return = true };
    }
    return n;
}
