/* filters.h - the options that every reading command shares.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_FILTERS_H
#define FATHOM_CLI_FILTERS_H

#include "analyze/an_filter.h"
#include "analyze/an_view.h"

struct filters {
    struct an_filter samples;
    const char *metric; /* NULL: the one that suits the profile */
    double min_pct;     /* hide what is below; the command's default says how much */
};
/* A table whose base is the offset of a struct filters in the command's arguments. */
extern const struct option filters_options[];

/* Drop the samples that were not asked for and open the view, for an_view_release. */
int filters_apply(const struct filters *f, struct profile *p, enum an_view_way way,
                  struct an_view *v, struct err *e);

#endif
