/* palette.h - the colour of a frame: its kind gives the family, its name the place in it, so
 * that a function keeps its colour from one picture to the next.  The viewer's web/src/palette.js
 * computes the same.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_PALETTE_H
#define FATHOM_FORMATS_PALETTE_H

#include "analyze/an_symbols.h"

struct palette_color {
    unsigned char r, g, b;
};
struct palette_color palette_of(const struct an_symbol *y);

#endif
