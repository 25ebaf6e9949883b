/* an_surroundings.h - print what slowed a program from outside: a limit of its cgroup, pressure, a
 * hypervisor.  The figures are the meta keys limit.* and stall.* (profile/meta.def).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_SURROUNDINGS_H
#define FATHOM_ANALYZE_AN_SURROUNDINGS_H

#include "profile/profile.h"
#include "text/out.h"

/* Print a line for each figure that matters; the thresholds are in an_surroundings.c. */
void an_surroundings_lines(const struct profile *p, struct out *o);

#endif
