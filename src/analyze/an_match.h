/* an_match.h - match the functions of two profiles: two builds or two runs of a program.
 *
 * Names must be equal.  Among functions with equal names, prefer the same module (build id, or
 * name of its file), then the same source file, then the same line.  An unknown value is neither a
 * match nor a mismatch.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_MATCH_H
#define FATHOM_ANALYZE_AN_MATCH_H

#include "profile/profile.h"

/* Return, by function id of A ([0] unused), the best match in B, 0 when B has no function of that
 * name.  The caller frees the array. */
uint32_t *an_match_functions(const struct profile *a, const struct profile *b);

#endif
