/* trace.h - convert a profile to a trace: tracks with calls on them.  Shared by the writers of
 * Chrome's and Perfetto's formats, whose callbacks write a call, a counter and a track.
 *
 * Zones (spans) are written unchanged.  Samples become calls on the track of their thread, or on a
 * second track if the thread has zones; samples of a metric derived from zones are omitted.  If
 * running and waiting were recorded and no metric is selected, the track of a thread has both: the
 * innermost call of a wait is a note with the wait kind.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_TRACE_H
#define FATHOM_FORMATS_TRACE_H

#include "formats/formats.h"
#include "profile/profile.h"

struct trace_call {
    const char *name, *detail; /* detail "" when none */
    uint64_t start_ns, duration_ns;
    uint32_t depth; /* number of callers on the same track; 0 for spans */
    uint32_t tags;  /* of the span or of the samples whose innermost call it is */
    const int64_t *flow; /* number (TAG_FLOW) if work is passed to another thread, else NULL */
};

struct trace_track {
    int64_t pid, tid;
    const char *process, *name; /* "" when unknown */
};

struct trace_writer {
    /* Start a track; its calls follow. */
    void (*track)(struct trace_writer *w, const struct trace_track *t);
    /* Write a call on the last track; callers come before callees. */
    void (*call)(struct trace_writer *w, const struct trace_call *c);
    void (*counter)(struct trace_writer *w, int64_t pid, const struct counter *c);
    const struct profile *p;
    const struct out *out; /* stop when it has failed */
};

/* First tid of the second tracks, which contain the samples of threads with zones. */
#define TRACE_SAMPLES_TID 1000000000

/* Fails if the stacks have too many functions. */
int trace_write(struct trace_writer *w, const struct an_view *v, struct err *e);

#endif
