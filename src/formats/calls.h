/* calls.h - for importers of traces: convert calls with a start and a duration, per thread, to
 * spans and to stacks with their self time (metric "time", exact).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_CALLS_H
#define FATHOM_FORMATS_CALLS_H

#include "profile/intern.h"

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

void calls_add(struct calls *c, uint32_t thread, const struct call *call);

/* Sort and nest the calls and write everything to IN's sink.  Of calls with equal times, the first
 * is the caller.  For the sums, a call that outlasts its caller ends with the caller. */
void calls_write(struct calls *c, struct intern *in);
void calls_release(struct calls *c);

#endif
