/* sym_debuginfod.h - debug files from a debuginfod server, when DEBUGINFOD_URLS is set.
 *
 * A file in the client's cache is used at once.  Other files are fetched into that cache by a
 * background process, which continues after the tool has exited, so that the tool never waits for
 * the network; the next recording has the names.  Only the background process loads libdebuginfod;
 * without it, only the cache is used.  Call from one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_DEBUGINFOD_H
#define FATHOM_SYMBOL_SYM_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sym_debuginfod_enabled(void);
enum sym_debuginfod {
    SYM_DEBUGINFOD_OFF,    /* not enabled, or its cache belongs to another user */
    SYM_DEBUGINFOD_WANTED, /* not in the cache */
    SYM_DEBUGINFOD_ABSENT, /* no server had it when asked last */
    SYM_DEBUGINFOD_CACHED,
};
enum sym_debuginfod sym_debuginfod_state(const uint8_t *build_id, size_t n);
/* Path of the debug file in the client's cache, valid until the next call; NULL when absent. */
const char *sym_debuginfod_cached(const uint8_t *build_id, size_t n);
/* Add it to the list to fetch; each build id is requested once. */
void sym_debuginfod_want(const uint8_t *build_id, size_t n);
/* Start fetching the list. Returns at once. */
void sym_debuginfod_start(void);
/* Wait at most MS milliseconds; true when all fetches have finished. */
bool sym_debuginfod_wait(uint32_t ms);

#endif
