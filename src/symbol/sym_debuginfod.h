/* sym_debuginfod.h - debug files from a debuginfod server, when DEBUGINFOD_URLS is set.
 * What is in the client's cache is used at once; what is not is fetched by a thread of its
 * own, so that nobody waits for a network.  libdebuginfod is loaded when first needed; without
 * it only the cache is used.  Callable from one thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_DEBUGINFOD_H
#define FATHOM_SYMBOL_SYM_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sym_debuginfod_enabled(void);
/* Path of the debug file in the client's cache, valid until the next call; NULL when absent. */
const char *sym_debuginfod_cached(const uint8_t *build_id, size_t n);
/* Ask for it in the background; a build id is asked for once. */
void sym_debuginfod_fetch(const uint8_t *build_id, size_t n);
/* Wait at most MS milliseconds for what was asked; returns how many are still under way. */
size_t sym_debuginfod_wait(uint32_t ms);

#endif
