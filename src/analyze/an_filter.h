/* an_filter.h - filter the samples, spans and counters of a profile.
 *
 * All commands that read profiles have the same filters and apply them here, once.  What does not
 * match is removed from the profile, so later steps need not know about filters.
 *
 * A span matches as a sample does; its name counts as a function of its stack.  A counter belongs
 * to a process: it matches by process, tag and time, and by thread if a thread of its process does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_FILTER_H
#define FATHOM_ANALYZE_AN_FILTER_H

#include "profile/profile.h"
#include "text/opts.h"

struct an_filter { /* zeroed: keep everything.  Several values of one field are alternatives. */
    struct opt_list process;  /* pid or part of the name or command line */
    struct opt_list command;  /* name of the process */
    struct opt_list thread;   /* tid or part of the name */
    struct opt_list module;   /* part of the path of the module of the innermost frame */
    struct opt_list function; /* extended regular expressions: a function of the stack matches */
    struct opt_list exclude;  /* the same: no function of the stack matches */
    struct opt_list tag;      /* "KEY=VALUE" or "KEY"; every given key must match */
    const char *time;         /* "A-B" in seconds from the start; A or B may be missing */
    bool is_trace;            /* the consumer shows spans: they need no samples beside them */
};

/* Remove from P what does not match.  Spans and measured samples are cut to the window of time.
 * ERR_USAGE for an invalid filter, ERR_MISSING when no sample (of a trace: and no span) is left. */
int an_filter_apply(struct profile *p, const struct an_filter *f, struct err *e);

#endif
