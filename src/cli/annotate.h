/* annotate.h - how cmd_annotate prints listings for people.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_ANNOTATE_H
#define FATHOM_CLI_ANNOTATE_H

#include "analyze/an_annotate.h"
#include "text/out.h"

/* Lines below MIN_PCT get no code; ALL_CODE shows even instructions without cost. */
void annotate_text(const struct an_annotate *a, double min_pct, bool all_code, struct out *o,
                   int fd);

#endif
