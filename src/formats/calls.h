/* calls.h - for importers of traces: convert calls with a start and a duration, per thread, to
 * spans and to stacks with their self time (metric "time", exact).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_CALLS_H
#define FATHOM_FORMATS_CALLS_H

#include "profile/intern.h"

#define CALL_OPEN UINT64_MAX /* the duration of a call that has not ended */

struct call {
    uint64_t start_ns, duration_ns;
    uint32_t frame, name, detail, tags; /* ids; name and detail are strings */
};

struct calls {
    VEC(struct calls_of_thread {
        VEC(struct call) v;
        bool unsorted;
    }) thread; /* by id */
};

/* Returns the index of the call among those of its thread. */
size_t calls_add(struct calls *c, uint32_t thread, const struct call *call);
/* Set the duration of a call that was added as open; every one must end before calls_write(). */
void calls_end(struct calls *c, uint32_t thread, size_t call, uint64_t end_ns);

/* Sort and nest the calls and write everything to IN's sink.  Of calls with equal times, the first
 * is the caller.  For the sums, a call that outlasts its caller ends with the caller. */
void calls_write(struct calls *c, struct intern *in);
void calls_release(struct calls *c);

#endif
