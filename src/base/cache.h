/* cache.h - store expensive results in the user's cache directory, and limit its size: the least
 * recently used files are removed first.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_CACHE_H
#define FATHOM_BASE_CACHE_H

#include <stddef.h>
#include <stdint.h>

/* The directory for NAME, e.g. ~/.cache/fathom/unwind; "" when there is none (no HOME).
 * FATHOM_CACHE overrides.  Does not create it. */
void cache_dir(char *path, size_t cap, const char *name);
/* Store DATA as PATH in that directory. A failure only costs time in the next run. */
void cache_store(const char *path, const void *data, size_t n);
/* Remove the least recently used files of FOLDER until at most MOST bytes remain.  Returns the
 * number of files removed. */
size_t cache_trim(const char *folder, uint64_t most);

#endif
