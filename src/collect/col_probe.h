/* col_probe.h - what the kernel lets us do, found by asking it.
 *
 * The ladder is a table: the recorder takes the first rung that holds, and tells which one and
 * why not the one above; doctor prints all of them.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_PROBE_H
#define FATHOM_COLLECT_COL_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "collect/col_event.h"
#include "collect/collect.h"

struct col_rung {
    const char *name;  /* as in meta quality.rung */
    const char *gives;
    bool no_kernel;
};
extern const struct col_rung col_rungs[]; /* best first, ended by a NULL name */

struct col_probe {
    const struct col_rung *rung;
    char why[160];     /* why not the first rung, "" when it is */
    char remedy[160];  /* what would give it */
    char instead[128]; /* what stands in for an event that is not there, "" when none */
    bool build_ids;    /* the kernel puts build ids into mmap records */
};

/* Find the rung for EVENTS and LEVELS; a hardware clock that is not there is replaced by the
 * software one in EVENTS.  -1 with the remedy in *E when no rung holds. */
int col_probe(struct col_events *events, enum col_levels levels, bool system_wide, bool lbr,
              struct col_probe *p, struct err *e);

/* 0 when EV can be opened so, else the errno. */
int col_probe_open(const struct col_event *ev, bool no_kernel, bool system_wide, bool lbr);
/* What stands in the way of perf_event_open, into P->why, and what to do about it. */
void col_probe_explain(int errnum, bool system_wide, struct col_probe *p);

#endif
