/* perf_lbr.c - see perf_lbr.h.
 *
 * In call-stack mode the CPU removes the record of a call when the call returns.  The remaining
 * records, newest first, are the open calls: from = the call instruction in the caller, to = the
 * start of the callee.  The CPU stores 8 to 32 of them.  A sample with fewer records is complete.
 * A full one lacks its outermost calls.  They are taken from the thread's last stack if that
 * contains the oldest calls of the sample.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_lbr.h"

#include <string.h>

enum { ALIKE = 2, MOST_CALLS = 1024 }; /* ALIKE: calls that must match to join two stacks */

/* Store the open calls of R, oldest first, in CALLS. */
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

/* Index in KNOWN of the oldest of CALLS, the innermost match; SIZE_MAX when none. */
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

static void store_calls(struct perf_lbr *known, size_t keep, const uint64_t *calls, size_t n)
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
        s.complete = at != SIZE_MAX && at + n <= MOST_CALLS;
    }
    s.joined = s.complete && at != SIZE_MAX ? at : 0;
    if (n)
        store_calls(known, s.joined, calls, n);
    /* A return address lies after the call: lookups subtract one. */
    for (size_t i = known->n; n && i-- > 0 && s.n < cap;)
        frames[s.n++] = (struct unw_frame){ .pc = known->v[i] + 1, .is_return = true };
    return s;
}
