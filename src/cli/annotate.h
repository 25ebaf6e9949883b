/* annotate.h - print the listings of `fathom annotate` as text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_ANNOTATE_H
#define FATHOM_CLI_ANNOTATE_H

#include "analyze/an_annotate.h"
#include "text/out.h"

void annotate_text(const struct an_annotate *a, struct out *o, int fd);

#endif
