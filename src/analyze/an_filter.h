/* an_filter.h - filter the samples of a profile.
 *
 * All commands that read profiles have the same filters and apply them here, once.  Samples that
 * do not match are removed from the profile, so later steps need not know about filters.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_FILTER_H
#define FATHOM_ANALYZE_AN_FILTER_H

#include "profile/profile.h"
#include "text/opts.h"

struct an_filter { /* zeroed: keep all samples.  Several values of one field are alternatives. */
    struct opt_list process;  /* pid or part of the name or command line */
    struct opt_list thread;   /* tid or part of the name */
    struct opt_list module;   /* part of the path of the module of the innermost frame */
    struct opt_list function; /* extended regular expressions: a function of the stack matches */
    struct opt_list exclude;  /* the same: no function of the stack matches */
    struct opt_list tag;      /* "KEY=VALUE" or "KEY"; every given key must match */
    const char *time;         /* "A-B" in seconds from the start; A or B may be missing */
};

/* Remove the samples of P that do not match.  ERR_USAGE for an invalid filter, ERR_MISSING when no
 * sample is left. */
int an_filter_apply(struct profile *p, const struct an_filter *f, struct err *e);

#endif
