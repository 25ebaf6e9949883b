/* calls.h - for importers of traces: convert calls with a start and a duration, per thread, to
 * spans and to stacks with their self time (metric "time", exact).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_CALLS_H
#define FATHOM_FORMATS_CALLS_H

#include "profile/intern.h"

struct call {
    uint64_t start_ns, duration_ns;
    uint32_t thread, frame, name, detail, tags; /* ids; name and detail are strings */
    uint64_t serial; /* set by calls_give: equal calls stay in order, callers first */
};

struct calls {
    VEC(struct call) v;
};

/* Sort, nest and send everything to IN's sink.  A call that lasts longer than its caller is
 * cut there for the sums. */
void calls_give(struct calls *c, struct intern *in);
void calls_release(struct calls *c);

#endif
