/* place.h - the folder and the name that a path leads to, for writing there.
 *
 * Symlinks are followed as the kernel does, with one exception, whatever fs.protected_symlinks and
 * fs.protected_fifos say: in a folder such as /tmp, where all users can create files (sticky and
 * writable by others), the link, FIFO or device of another user is refused.  Otherwise any user
 * could redirect what root writes to /tmp/x.  The owner of the folder is trusted.
 *
 * The folder is held open, so nobody can exchange it between the check and the use.  libc only, no
 * allocation: safe in target code.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_PLACE_H
#define FATHOM_BASE_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct place {
    int folder; /* for openat and others; -1: none */
    char name[NAME_MAX + 1];
    struct stat st; /* of what has this name; st_mode is 0 if nothing has */
    bool by_kernel; /* a link such as /proc/self/fd/1, which only the kernel can follow */
    bool foreign;   /* place_find refused what another user has put there */
};

/* 0, or -1 with errno set.  End with place_close, also after a failure. */
int place_find(struct place *p, const char *path);
void place_close(struct place *p);
/* Whether the file at this place is replaced as a whole; others, such as FIFOs, are written as
 * they are. */
bool place_is_replaced(const struct place *p);
/* Open what is there without creating, replacing or truncating it.  A descriptor, or -1. */
int place_open(const struct place *p, int flags);

#endif
