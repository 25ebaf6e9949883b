/* map.h - the contents of a file: mapped if it is a regular file, otherwise read (pipe, standard
 * input, /proc).  Start from {0}; map_close accepts a zeroed struct.
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
    bool mapped;
};

/* PATH "-" is standard input. */
int map_open(struct map *m, const char *path, struct err *e);
int map_fd(struct map *m, int fd, struct err *e); /* does not close FD */
void map_close(struct map *m);

/* A small text file such as /proc/sys/...: its first CAP-1 bytes, NUL-terminated, without
 * the trailing newline.  Returns the length, or -1 with "" in TEXT. */
long map_read_text(const char *path, char *text, size_t cap);
int64_t map_read_int(const char *path, int64_t otherwise);

#endif
