/* col_source.h - the interface of an event source: the kernel's rings, the regions of libfathom,
 * the agent, Python.  The recording loop drives all sources through this interface.
 *
 * A source writes its events to the sink itself, or returns perf records.  The records of all
 * sources are merged by time and applied by one engine, whatever their source.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_SOURCE_H
#define FATHOM_COLLECT_COL_SOURCE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perf/perf_engine.h"
#include "profile/sink.h"

enum { COL_POLL_MS = 50 }; /* between drains, unless a source needs the next one sooner */

struct col_source {
    void *with; /* passed to each call; a NULL call is skipped */
    /* Return the number of file descriptors to poll.  Writes at most CAP of them to V.  Called
     * once; a source whose descriptors change returns an epoll descriptor. */
    size_t (*poll)(void *with, struct pollfd *v, size_t cap);
    /* Read events up to NOW_NS: write them to the sink, or provide them to next. */
    void (*drain)(void *with, uint64_t now_ns);
    /* Return the next record that drain or finish has read, in order of time; NULL: no more.  The
     * record is valid until the next call of the source. */
    const struct perf_record *(*next)(void *with);
    /* The engine has applied all records: release their memory.  Returns the milliseconds until
     * the next drain at the latest. */
    int (*settle)(void *with, uint64_t now_ns);
    /* The recording ended at STOP_NS: write no more events, and read all that remain. */
    void (*finish)(void *with, uint64_t stop_ns);
    /* Write losses and other quality facts as meta keys.  Called once, after finish. */
    void (*quality)(void *with, struct sink *out);
    void (*release)(void *with);
    /* Finish after the target has ended, because it writes until then.  Not for sources with
     * records: the engine has finished by then. */
    bool in_target;
};

struct col_sources {
    struct perf_engine *engine;
    VEC(struct col_source) v;
};

size_t col_sources_poll(const struct col_sources *s, struct pollfd *v, size_t cap);
/* Read and apply all events up to NOW_NS.  Returns the milliseconds until the next call. */
int col_sources_drain(struct col_sources *s, uint64_t now_ns);
/* Finish the sources that do not wait for the target, then the engine. */
void col_sources_finish(struct col_sources *s, uint64_t stop_ns);
/* Finish the others. */
void col_sources_finish_in_target(struct col_sources *s, uint64_t stop_ns);
/* Write the quality of engine and sources to OUT. */
void col_sources_quality(const struct col_sources *s, struct sink *out);
void col_sources_release(struct col_sources *s);

#endif
