/* an_jumps.h - jumps of a run of instructions drawn as lines in a gutter.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_JUMPS_H
#define FATHOM_ANALYZE_AN_JUMPS_H

#include <stddef.h>

#include "analyze/an_source.h"

enum { AN_JUMPS_COLUMNS = 6 };

/* Lay out the jumps among INSTR[0..N), which are in order of address.  Returns the gutter of
 * each row, N strings of COLUMNS cells each, UTF-8, in one block for free(); gutter i begins
 * at the i-th NUL-terminated string of AN_JUMPS_BYTES bytes. */
enum { AN_JUMPS_BYTES = AN_JUMPS_COLUMNS * 3 + 4 };
char (*an_jumps_draw(const struct an_instr *instr, size_t n))[AN_JUMPS_BYTES];

#endif
