/* guard.h - survive that somebody truncates a file while it is mapped: its missing pages become
 * zeros, instead of SIGBUS ending the process.  Installs a handler for SIGBUS: for the tool only.
 * It does not help against changed contents: map only files whose owner is trusted (map.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_GUARD_H
#define FATHOM_BASE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Guard the mapping [START, START + SIZE); false when there is no room for another one. */
bool guard_add(const void *start, size_t size);
/* Whether pages of the mapping at START were missing. */
bool guard_was_hit(const void *start);
/* Call before the mapping is removed; does nothing for one that is not guarded. */
void guard_remove(const void *start);

#endif
