/* sym_debuginfod.h - debug files from a debuginfod server, when DEBUGINFOD_URLS is set.
 *
 * What is in the client's cache is used at once.  What is not is fetched into that cache by a
 * process split off for it, which goes on when this one has ended: nobody waits for a network,
 * and the next recording has the names.  libdebuginfod is loaded there; without it only the
 * cache is used.  Callable from one thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_DEBUGINFOD_H
#define FATHOM_SYMBOL_SYM_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sym_debuginfod_enabled(void);
/* Path of the debug file in the client's cache, valid until the next call; NULL when absent. */
const char *sym_debuginfod_cached(const uint8_t *build_id, size_t n);
/* Put it on the list to fetch; a build id is asked for once. */
void sym_debuginfod_want(const uint8_t *build_id, size_t n);
/* Begin to fetch what is on the list.  Returns at once. */
void sym_debuginfod_start(void);
/* Wait at most MS milliseconds; true when nothing is under way any more. */
bool sym_debuginfod_wait(uint32_t ms);

#endif
