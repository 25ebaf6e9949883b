/* col_probe.h - probe what the kernel permits.
 *
 * The privilege ladder is a table.  The recorder takes the first rung that works and reports which
 * one it is and why the one above failed; doctor prints all rungs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_PROBE_H
#define FATHOM_COLLECT_COL_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "collect/col_event.h"
#include "collect/col_refusal.h"
#include "collect/collect.h"

struct col_rung {
    const char *name;  /* the value of meta key quality.rung */
    const char *gives;
    bool no_kernel;
    bool in_process; /* by the agent, not by perf events */
    bool stops;      /* by brief stops, not by perf events */
};

/* Paced by col_pacer.c instead of the kernel. */
static inline bool col_rung_is_paced(const struct col_rung *r)
{
    return r->in_process || r->stops;
}

extern const struct col_rung col_rungs[]; /* best first; a NULL name ends the list */

struct col_probe {
    const struct col_rung *rung;
    struct col_reason reason; /* why the first rung failed; empty if it works */
    char instead[128]; /* replacement for a missing event, "" if none */
    bool build_ids;    /* the kernel puts build ids into mmap records */
};

/* Find the rung for EVENTS and the options.  Replaces a missing hardware clock in EVENTS by the
 * software clock.  Returns -1 with the remedy in *E when no rung works. */
int col_probe(struct col_events *events, const struct col_options *o, struct col_probe *p,
              struct err *e);

/* Change P to sample by stops, because WHAT cannot be sampled from inside: WHY. */
void col_probe_take_stops(struct col_probe *p, const char *what, const char *why);

/* Returns 0 when EV can be opened this way, else the errno. */
int col_probe_open(const struct col_event *ev, bool no_kernel, bool system_wide, bool lbr);
/* Say why col_probe_open returned ERRNUM. */
void col_probe_explain(int errnum, bool no_kernel, bool system_wide, struct col_reason *r);

#endif
