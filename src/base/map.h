/* map.h - the contents of a file: mapped if it is a regular file, otherwise read (pipe, standard
 * input, /proc).  A file that other users can change is copied instead of mapped, so that what was
 * checked stays as it was; a mapped file whose owner truncates it ends in zeros (base/guard.h).
 * Start from {0}; map_close accepts a zeroed struct.  Call from one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_MAP_H
#define FATHOM_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct map {
    const unsigned char *data;
    size_t size;
    bool mapped; /* from the beginning of a page */
    size_t room; /* bytes allocated for a copy; 0: not a copy */
};

/* PATH "-" is standard input. */
int map_open(struct map *m, const char *path, struct err *e);
int map_fd(struct map *m, int fd, struct err *e); /* does not close FD */
/* The regular file FD; WRITABLE: changes in memory are permitted and stay there. */
int map_file(struct map *m, int fd, bool writable, struct err *e);
/* A copy of the regular file FD, of at most MOST bytes.  Other files are empty. */
int map_copy(struct map *m, int fd, uint64_t most, struct err *e);
bool map_was_truncated(const struct map *m); /* while it was mapped: part of it reads as zeros */
void map_close(struct map *m);

/* A small text file such as /proc/sys/...: its first CAP-1 bytes, NUL-terminated, without
 * the trailing newline.  Returns the length, or -1 with "" in TEXT. */
long map_read_text(const char *path, char *text, size_t cap);
int64_t map_read_int(const char *path, int64_t otherwise);

#endif
