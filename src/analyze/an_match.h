/* an_match.h - the same function in two profiles: two builds or two runs of a program.
 *
 * Names must be equal.  Among functions of one name the module (build id, or the name of its
 * file) counts most, then the source file, then the line; what a profile does not know neither
 * joins nor parts.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_MATCH_H
#define FATHOM_ANALYZE_AN_MATCH_H

#include "profile/profile.h"

/* By function id of A ([0] unused): the function of B that is most likely the same, 0 when B has
 * none of that name.  For free(). */
uint32_t *an_match_functions(const struct profile *a, const struct profile *b);

#endif
