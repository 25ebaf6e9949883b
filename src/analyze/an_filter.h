/* an_filter.h - which samples a view is about.
 *
 * Every reading command takes the same filters and applies them once, here: samples that do not
 * pass leave the profile, and whatever is done with it afterwards needs to know nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_FILTER_H
#define FATHOM_ANALYZE_AN_FILTER_H

#include "profile/profile.h"
#include "text/opts.h"

struct an_filter { /* zeroed: everything passes.  Several values of one kind are alternatives. */
    struct opt_list process;  /* pid or part of the name or command line */
    struct opt_list thread;   /* tid or part of the name */
    struct opt_list module;   /* part of the path of the module the sample was taken in */
    struct opt_list function; /* extended regular expressions: one function of the stack matches */
    struct opt_list exclude;  /* the same: none matches */
    struct opt_list tag;      /* "KEY=VALUE", or "KEY": one value of each key named fits */
    const char *time;         /* "A-B" in seconds from the start; either may be missing */
};

/* Drop what does not pass from P->sample.  ERR_USAGE for a filter that cannot be understood,
 * ERR_MISSING when nothing is left. */
int an_filter_apply(struct profile *p, const struct an_filter *f, struct err *e);

#endif
