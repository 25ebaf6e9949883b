/* abbreviate.h - shorten a function's name to fit a box of a flame graph.  web/src/format.js does
 * the same for the page.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_ABBREVIATE_H
#define FATHOM_FORMATS_ABBREVIATE_H

#include "base/buf.h"

/* Put into OUT (cleared first) what of NAME fits into ROOM characters: all of it; without template
 * and call arguments; without the outer scopes; or cut, with an ellipsis. */
void abbreviate(struct buf *out, const char *name, size_t room);

#endif
