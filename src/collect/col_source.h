/* col_source.h - whatever a recording takes events from: the kernel's rings, the regions of
 * libfathom, the agent, Python.  The recording loop owns a list of sources and knows no more of
 * them than this.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_SOURCE_H
#define FATHOM_COLLECT_COL_SOURCE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/sink.h"

struct col_source {
    void *with; /* passed to each call; a NULL call is skipped */
    /* File descriptors that tell when there is something: how many there are.  At most CAP are
     * written to V. */
    size_t (*poll)(void *with, struct pollfd *v, size_t cap);
    /* Hand over what is not newer than NOW_NS.  Returns the milliseconds after which to come
     * again at the latest. */
    int (*drain)(void *with, uint64_t now_ns);
    /* The recording ended at STOP_NS: hand over all that is left. */
    void (*finish)(void *with, uint64_t stop_ns);
    /* Report what was lost, and the like, as meta keys; once, after finish. */
    void (*quality)(void *with, struct sink *out);
    bool in_target; /* finish after the target has ended, because it writes until then */
};

#endif
