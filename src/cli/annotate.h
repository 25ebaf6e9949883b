/* annotate.h - print the listings of `fathom annotate` as text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_ANNOTATE_H
#define FATHOM_CLI_ANNOTATE_H

#include "analyze/an_annotate.h"
#include "text/out.h"

/* Print no code below lines whose share is less than MIN_PCT.  ALL_CODE also prints instructions
 * without cost. */
void annotate_text(const struct an_annotate *a, double min_pct, bool all_code, struct out *o,
                   int fd);

#endif
