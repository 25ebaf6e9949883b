/* cache.h - what was costly to work out is kept in the user's cache folder, and the folder is
 * kept small: whatever was not used for longest goes first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_CACHE_H
#define FATHOM_BASE_CACHE_H

#include <stddef.h>
#include <stdint.h>

/* The folder for NAME, e.g. ~/.cache/fathom/unwind; "" when there is none (no HOME).
 * FATHOM_CACHE overrides.  Does not create it. */
void cache_dir(char *path, size_t cap, const char *name);
/* Keep DATA in the file PATH of such a folder.  A failure only costs the next run time. */
void cache_store(const char *path, const void *data, size_t n);
/* Remove the files of FOLDER that were not used for longest, until the rest is at most MOST
 * bytes.  Returns how many are gone. */
size_t cache_trim(const char *folder, uint64_t most);

#endif
