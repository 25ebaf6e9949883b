/* an_jumps.h - draw the jumps among instructions as lines in a gutter.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_JUMPS_H
#define FATHOM_ANALYZE_AN_JUMPS_H

#include <stddef.h>

#include "analyze/an_source.h"

enum { AN_JUMPS_COLUMNS = 6 };

/* Draw the jumps among INSTR[0..N), which are sorted by address.  Return the gutters of all rows
 * in one block, which the caller frees: gutter i is the NUL-terminated UTF-8 string at byte
 * i * AN_JUMPS_BYTES, COLUMNS cells wide. */
enum { AN_JUMPS_BYTES = AN_JUMPS_COLUMNS * 3 + 4 };
char (*an_jumps_draw(const struct an_instr *instr, size_t n))[AN_JUMPS_BYTES];

#endif
