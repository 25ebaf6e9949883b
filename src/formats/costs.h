/* costs.h - the text that callgrind and cachegrind write: costs by function and line, with
 * names and positions abbreviated.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_COSTS_H
#define FATHOM_FORMATS_COSTS_H

#include "formats/formats.h"

/* Both formats: calls are only in callgrind's.  PRODUCER is said in the meta. */
int costs_import(const struct import_input *in, const char *producer, struct sink *out,
                 struct err *e);

#endif
