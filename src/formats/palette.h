/* palette.h - the color of a frame: its kind selects the family and its name the shade, so that a
 * function has the same color in every graph.  The viewer's web/src/palette.js computes the same.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_PALETTE_H
#define FATHOM_FORMATS_PALETTE_H

#include "analyze/an_symbols.h"

struct palette_color {
    unsigned char r, g, b;
};
struct palette_color palette_of(const struct an_symbol *y);

/* Families, for a legend: those of enum frame_kind, and inlined calls. */
enum { PALETTE_KINDS = FRAME_NOTE + 2 };
unsigned palette_kind(const struct an_symbol *y);
const char *palette_kind_name(unsigned kind);
struct palette_color palette_kind_color(unsigned kind);

#endif
