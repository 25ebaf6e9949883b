/* abbreviate.h - shorten a function's name to fit a box of a flame graph.  web/src/format.js does
 * the same for the page.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_ABBREVIATE_H
#define FATHOM_FORMATS_ABBREVIATE_H

#include "base/buf.h"

/* Shorten NAME to ROOM characters into OUT (cleared first): keep the whole name, drop template
 * and call arguments, drop the outer scopes, or truncate it with an ellipsis. */
void abbreviate(struct buf *out, const char *name, size_t room);

#endif
