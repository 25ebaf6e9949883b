/* col_session.h - everything one recording needs while it runs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_SESSION_H
#define FATHOM_COLLECT_COL_SESSION_H

#include "base/buf.h"
#include "collect/col_look.h"
#include "collect/col_perf.h"
#include "collect/col_probe.h"
#include "collect/col_target.h"
#include "collect/col_zones.h"
#include "collect/collect.h"
#include "perf/perf_process.h"
#include "perf/perf_stack.h"
#include "perf/perf_wait.h"
#include "profile/intern.h"

struct col_side_record { /* of a side ring, kept until its time has come */
    uint64_t time_ns;
    size_t at, n; /* its bytes in side_bytes */
};

struct col_session {
    const struct col_options *options;
    struct intern in;
    struct col_events events;
    struct col_probe probe;
    struct col_plan plan;
    struct col_perf perf;
    struct col_target target;
    struct perf_modules modules;
    struct perf_processes processes;
    struct perf_stacks stacks;
    struct perf_waits waits;
    struct col_look look;
    struct col_summary sum;
    struct col_zones zones; /* of programs with libfathom */
    uint32_t *metric; /* sink id by event number */
    VEC(uint64_t) self; /* by frame id - 1: weight of the first metric with it as leaf */

    /* col_drain.c */
    VEC(struct col_side_record) side;
    size_t side_done; /* of these, applied */
    struct buf side_bytes;
    struct perf_record *head; /* by CPU: the sample ring's next record */
    size_t *head_size;       /* 0: none */

    uint64_t start_ns, stop_ns;
    uint64_t side_lost, broken_records, last_check_ns;
    uint64_t first_samples, sampled_ns; /* of the first event: how many, and their weight as time */
    struct perf_stack_counts last_counts;
    /* col_record.c: how fast threads switch, and when one last did */
    uint64_t window_ns, window_switches, switched_ns, seen_switches;
};

/* Read what the rings hold and turn it into samples.  FINAL: nothing more will come. */
void col_drain(struct col_session *s, bool final);
void col_drain_release(struct col_session *s);

/* Names, lines and inlined calls of every frame (col_names.c). */
void col_names(struct col_session *s);
/* Facts about machine, command and quality as meta keys (col_quality.c). */
void col_quality_start(struct col_session *s);
void col_quality_end(struct col_session *s);
void col_quality_summary(struct col_session *s); /* bring sum up to date */

#endif
