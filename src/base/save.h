/* save.h - write a file that gets its name only when it is complete, so that a failure leaves the
 * old file intact and no reader sees an incomplete one.
 *
 *     struct save s;
 *     if (save_open(&s, path, 0600) < 0)
 *         return -1;
 *     ... write to s.fd ...
 *     return save_close(&s, good);
 *
 * Until then the file has no name (O_TMPFILE), so that nothing remains if the process is killed.  A
 * file system without O_TMPFILE gets a name that cannot be predicted, created with O_EXCL.
 * Symlinks are followed and stay (base/place.h says when they are refused); devices and FIFOs are
 * written directly.  libc only, no allocation: safe in target code.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_SAVE_H
#define FATHOM_BASE_SAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/place.h"

enum {
    SAVE_PRIVATE = 0600, /* profiles and caches: they quote the program and its sources */
    SAVE_SHARED = 0666,  /* exports and reports: subject to the umask */
};

struct save {
    int fd;
    struct place at;
    bool direct;        /* writes what is there instead of replacing it */
    char temporary[32]; /* name of the file in the meantime; "": none */
};

/* 0, or -1 with errno set; then s->at.foreign says whether base/place.h refused the place. */
int save_open(struct save *s, const char *path, mode_t mode);
/* The same, but fail if PATH is a device, FIFO or directory. */
int save_open_new(struct save *s, const char *path, mode_t mode);
/* The same for a file NAME in the directory FOLDER, which remains the caller's. */
int save_open_in(struct save *s, int folder, const char *name, mode_t mode);
/* Close, and give the file its name; when not GOOD discard it.  0, or -1 with errno set if the file
 * does not have its name. */
int save_close(struct save *s, bool good);
/* Give the file its name now, before it is written.  Returns its descriptor, which is then the
 * caller's, or -1 with errno set; in both cases S is closed. */
int save_keep(struct save *s);
/* Write all N bytes: 0, or -1 with errno set (EFBIG at the limit of base/file_limit.h). */
int save_write(int fd, const void *data, size_t n);

#endif
