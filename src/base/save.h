/* save.h - write a file under a temporary name and rename it into place, so that a failure leaves
 * the old file intact and no reader sees an incomplete one.
 *
 *     struct save s;
 *     if (save_open(&s, path, 0600) < 0)
 *         return -1;
 *     ... write to s.fd ...
 *     return save_close(&s, path, good);
 *
 * The temporary file is in the directory of PATH, has an unpredictable name, and is created with
 * O_EXCL, so an existing file or link is never opened.  Devices, FIFOs and symlinks at PATH are
 * written directly, and never removed or replaced. libc only, no allocation: safe in target code.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_SAVE_H
#define FATHOM_BASE_SAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    SAVE_PRIVATE = 0600, /* profiles and caches: they quote the program and its sources */
    SAVE_SHARED = 0666,  /* exports and reports: subject to the umask */
};

struct save {
    int fd;
    char suffix[24]; /* of the temporary name; "" when PATH itself is written */
};

/* 0, or -1 with errno set. */
int save_open(struct save *s, const char *path, mode_t mode);
/* Close and rename to PATH; when not GOOD remove the temporary file instead.  0, or -1 with errno
 * set when the file could not be renamed; PATH must be that of save_open. */
int save_close(struct save *s, const char *path, bool good);
/* Write all N bytes: 0, or -1 with errno set. */
int save_write(int fd, const void *data, size_t n);

#endif
