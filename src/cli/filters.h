/* filters.h - the options that every reading command shares.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_FILTERS_H
#define FATHOM_CLI_FILTERS_H

#include "analyze/an_filter.h"

struct filters {
    struct an_filter samples;
    const char *metric; /* NULL: the first with samples */
    double min_pct;     /* hide what is below; the command's default says how much */
};
/* A table whose base is the offset of a struct filters in the command's arguments. */
extern const struct option filters_options[];

/* Drop the samples that were not asked for and find the metric. */
int filters_apply(const struct filters *f, struct profile *p, uint32_t *metric, struct err *e);

#endif
