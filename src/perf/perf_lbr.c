/* perf_lbr.c - see perf_lbr.h.
 *
 * In call-stack mode the CPU drops a call's record when the call returns, so that the records
 * left, newest first, are the calls that are open: from = the call instruction in the caller,
 * to = the start of the callee.  It holds 8 to 32 of them.  A sample with fewer reaches the
 * root; a full one lacks its outermost calls, which are those of the thread's last stack when
 * the oldest calls of the one are found in the other.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_lbr.h"

#include <string.h>

enum { ALIKE = 2, MOST_CALLS = 1024 }; /* calls that must agree before two stacks are one */

/* The calls of R that are open, oldest first, into CALLS. */
static size_t open_calls(const struct perf_record *r, uint64_t *calls, size_t cap)
{
    size_t n = 0, all = r->branches.n / 3;

    while (n < all && n < cap && perf_word(&r->branches, n * 3) &&
           perf_word(&r->branches, n * 3 + 1))
        n++;
    for (size_t i = 0; i < n; i++)
        calls[i] = perf_word(&r->branches, (n - 1 - i) * 3);
    return n;
}

/* Place in KNOWN of the oldest of CALLS; the innermost one that fits.  SIZE_MAX when none. */
static size_t place_of(const struct perf_lbr *known, const uint64_t *calls, size_t n)
{
    for (size_t at = known->n; n >= ALIKE && at-- > 0;) {
        size_t alike = 0;

        while (alike < n && at + alike < known->n && known->v[at + alike] == calls[alike])
            alike++;
        if (alike >= ALIKE)
            return at;
    }
    return SIZE_MAX;
}

static void know(struct perf_lbr *known, size_t keep, const uint64_t *calls, size_t n)
{
    vec_reserve(known, keep + n);
    memcpy(known->v + keep, calls, n * sizeof *calls);
    known->n = keep + n;
}

struct perf_lbr_stack perf_lbr_walk(const struct perf_record *r, struct perf_lbr *known,
                                    size_t *depth, struct unw_frame *frames, size_t cap)
{
    uint64_t calls[64];
    size_t n = open_calls(r, calls, ARRAY_LEN(calls)), at = SIZE_MAX;
    struct perf_lbr_stack s = { 1, true, 0 };

    frames[0] = (struct unw_frame){ .pc = r->ip };
    if (n > *depth)
        *depth = n;
    if (n == *depth && n) {
        at = place_of(known, calls, n);
        s.whole = at != SIZE_MAX && at + n <= MOST_CALLS;
    }
    s.stitched = s.whole && at != SIZE_MAX ? at : 0;
    if (n)
        know(known, s.stitched, calls, n);
    /* A return address would lie behind the call: look-ups take one off again. */
    for (size_t i = known->n; n && i-- > 0 && s.n < cap;)
        frames[s.n++] = (struct unw_frame){ .pc = known->v[i] + 1, .is_return = true };
    return s;
}
