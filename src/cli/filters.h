/* filters.h - the filter options of all commands that read profiles.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_FILTERS_H
#define FATHOM_CLI_FILTERS_H

#include "analyze/an_filter.h"
#include "analyze/an_view.h"

struct filters {
    struct an_filter samples;
    const char *metric; /* NULL: the default of the profile */
};
/* Use it with the offset of the struct filters in the arguments of the command. */
extern const struct option filters_options[];

/* Drop what does not match, and open the view.  Release V with an_view_release(). */
int filters_apply(const struct filters *f, struct profile *p, enum an_view_way way,
                  struct an_view *v, struct err *e);

#endif
