/* trace.h - a profile as a trace: tracks with calls on them.  What the writers of Chrome's and
 * Perfetto's formats share; each fills in how a call, a counter and a track are spelled.
 *
 * Zones (spans) are written as they are.  Samples become calls on their thread's track, or on
 * one beside it when the thread has zones; not those of a metric that was made from zones.
 * Where running and waiting were recorded and no metric is asked for, a thread's track has both:
 * the innermost call of a wait is the note that says for what.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_TRACE_H
#define FATHOM_FORMATS_TRACE_H

#include "formats/formats.h"
#include "profile/profile.h"

struct trace_call {
    const char *name, *detail; /* detail "" when none */
    uint64_t start_ns, duration_ns;
    uint32_t depth; /* of calls below it on the same track; spans are 0 */
    uint32_t tags;  /* of a span */
    const int64_t *flow; /* NULL, or a point where work is handed over: its number (TAG_FLOW) */
};

struct trace_track {
    int64_t pid, tid;
    const char *process, *name; /* "" when unknown */
};

struct trace_writer {
    /* A track, before its calls. */
    void (*track)(struct trace_writer *w, const struct trace_track *t);
    /* A call on the last track; callers come before what they call. */
    void (*call)(struct trace_writer *w, const struct trace_call *c);
    void (*counter)(struct trace_writer *w, int64_t pid, const struct counter *c);
    const struct profile *p;
};

/* Tids of tracks for samples beside zones begin here. */
#define TRACE_SAMPLES_TID 1000000000

void trace_write(struct trace_writer *w, const struct an_view *v);

#endif
