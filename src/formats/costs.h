/* costs.h - parse the output of callgrind and cachegrind: costs by function and line, with
 * abbreviated names and positions.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_COSTS_H
#define FATHOM_FORMATS_COSTS_H

#include "formats/formats.h"

struct costs_kind {
    const char *producer; /* for the meta */
    bool has_summary;     /* always, in the end */
};
/* Both formats: calls are only in callgrind's. */
int costs_import(const struct import_input *in, const struct costs_kind *kind, struct sink *out,
                 struct err *e);

#endif
