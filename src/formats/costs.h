/* costs.h - parse the output of callgrind and cachegrind: costs by function and line, with
 * abbreviated names and positions.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_COSTS_H
#define FATHOM_FORMATS_COSTS_H

#include "formats/formats.h"

struct costs_kind {
    const char *producer; /* value of the meta key */
    bool has_summary;     /* a complete file ends with a summary */
};
/* Import either format; only callgrind has calls. */
int costs_import(const struct import_input *in, const struct costs_kind *kind, struct sink *out,
                 struct err *e);

#endif
