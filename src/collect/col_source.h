/* col_source.h - the interface of an event source: the kernel's rings, the regions of libfathom,
 * the agent, Python.  The recording loop owns a list of sources and uses only this interface.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_SOURCE_H
#define FATHOM_COLLECT_COL_SOURCE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/sink.h"

struct col_source {
    void *with; /* passed to each call; a NULL call is skipped */
    /* Return the number of file descriptors to poll.  Writes at most CAP of them to V. */
    size_t (*poll)(void *with, struct pollfd *v, size_t cap);
    /* Process events up to NOW_NS.  Returns the milliseconds until the next call at the latest. */
    int (*drain)(void *with, uint64_t now_ns);
    /* The recording ended at STOP_NS: process all remaining events. */
    void (*finish)(void *with, uint64_t stop_ns);
    /* Report losses and other quality facts as meta keys.  Called once, after finish. */
    void (*quality)(void *with, struct sink *out);
    bool in_target; /* finish after the target has ended: it writes until then */
};

#endif
