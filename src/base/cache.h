/* cache.h - keep expensive results in the user's cache directory, and limit its size: the least
 * recently used files are removed first.
 *
 * Only what belongs to the effective user and nobody else can write is used: under sudo, which may
 * keep HOME, root must neither believe nor leave anything in the directory of another user.
 * FOLDER is a directory in the cache, NAME a file in it.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_CACHE_H
#define FATHOM_BASE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"

/* The path of FOLDER, e.g. ~/.cache/fathom/unwind; "" when there is none.  FATHOM_CACHE overrides,
 * then XDG_CACHE_HOME and HOME if they are the user's own, then the home directory of the account.
 * Neither creates nor checks it. */
void cache_dir(char *path, size_t cap, const char *folder);
/* 0 if the cache is or could be used; otherwise -1, and E says why not. */
int cache_check(struct err *e);
bool cache_load(struct map *m, const char *folder, const char *name);
/* Creates what is missing, accessible by the user only. */
int cache_store(const char *folder, const char *name, const void *data, size_t n, struct err *e);
/* Remove the least recently used files of FOLDER until at most MOST bytes remain.  Returns the
 * number of files removed. */
size_t cache_trim(const char *folder, uint64_t most);
/* A directory to be read or written with openat, created if missing; -1: none. */
int cache_open(const char *folder, struct err *e);

#endif
