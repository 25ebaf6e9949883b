/* named.h - open a file that somebody else named: a recorded program, its debug information, a
 * profile.
 *
 * Such a path may lead anywhere: to a file that only the recorder may read, a FIFO, a device, a
 * link out of a container.  So it is resolved inside the root directory of the process that named
 * it, with the permissions of that process's user, and only a regular file is opened.  Opening has
 * no side effects and never blocks.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_NAMED_H
#define FATHOM_BASE_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

struct named_user { /* for whom a file is opened */
    uint32_t uid, gid;
    uint32_t *group; /* supplementary groups */
    size_t n_groups;
    bool is_limited; /* root without the capabilities to read all files, as in a container */
};

/* A user who may read only what everybody may. */
extern const struct named_user named_nobody;

/* Read the real user of process PID, who started it if it is setuid.  False when it has ended. */
bool named_user_read(int64_t pid, struct named_user *u);
void named_user_release(struct named_user *u);
bool named_user_same(const struct named_user *a, const struct named_user *b);
/* The one who may read less, or named_nobody.  NULL is ourselves. */
const struct named_user *named_user_weaker(const struct named_user *a, const struct named_user *b);

enum {
    NAMED_OWNED = 1,     /* must belong to USER, to us or to root, and not be writable by all */
    NAMED_NO_LINK = 2,   /* the last part of the path must not be a symbolic link */
    NAMED_PROC_LINK = 4, /* the path is ours and a link of /proc, such as /proc/PID/exe */
};

/* Open PATH for reading as USER (NULL: as ourselves) inside the directory ROOT ("" or NULL: our
 * root).  Only root can take the identity of another user: others are refused.  Returns -1 and *E,
 * with the errno in e->sys, or 0 there. */
int named_open(const char *root, const char *path, const struct named_user *user, unsigned how,
               struct err *e);

/* Whether only we and root can change the file. */
bool named_is_ours(const struct stat *st);

#endif
