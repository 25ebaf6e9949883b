/* col_session.h - the state of a recording while it runs.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_SESSION_H
#define FATHOM_COLLECT_COL_SESSION_H

#include "collect/col_agent.h"
#include "collect/col_look.h"
#include "collect/col_perf.h"
#include "collect/col_probe.h"
#include "collect/col_rings.h"
#include "collect/col_surroundings.h"
#include "collect/col_target.h"
#include "collect/col_zones.h"
#include "collect/collect.h"
#include "perf/perf_engine.h"
#include "profile/intern.h"

struct col_session {
    const struct col_options *options;
    struct intern in;
    struct col_events events;
    struct col_probe probe;
    struct col_plan plan;
    struct perf_host host;
    struct perf_engine engine;
    struct col_perf perf;
    struct col_look look;
    struct col_target target;
    struct col_rings rings;
    struct col_agent agent; /* instead of perf and rings */
    char *not_entered[COL_MAX_PIDS]; /* why the agent is not in a running process; NULL: it is */
    struct col_zones zones; /* of programs with libfathom */
    struct col_sources sources;
    struct col_surroundings around;
    struct col_summary sum;
    uint64_t start_ns, stop_ns;
    uint64_t counted_ns;   /* CPU time of the recorded threads, if a clock is the first event */
    uint64_t cpu_ns;       /* the same, including their start and end; 0 when unknown */
    uint64_t unsampled_ns; /* part of it without samples of the first event */
    bool knows_unsampled;
};

/* Write facts about machine, command and quality as meta keys (col_quality.c). */
void col_quality_start(struct col_session *s);
void col_quality_end(struct col_session *s);
/* Compute cpu_ns and unsampled_ns when the events have stopped. */
void col_quality_cpu(struct col_session *s);
void col_quality_summary(struct col_session *s); /* update the summary */

#endif
