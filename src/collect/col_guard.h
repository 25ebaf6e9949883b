/* col_guard.h - remove a temporary folder when the recorder ends, even if it is killed.
 *
 * The folder is locked while the recorder lives.  A small process, the guard, waits for the end of
 * the recorder and removes it.  If both were killed, the next recorder of the same user removes
 * every folder that nobody has locked.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_GUARD_H
#define FATHOM_COLLECT_COL_GUARD_H

#include <stddef.h>
#include <sys/types.h>

struct col_guard { /* zeroed: no folder */
    char folder[256]; /* "": none */
    int error;        /* errno: why there is none */
    int fd;           /* of the folder, locked */
    pid_t pid;        /* of the guard, 0: none */
    int alive;        /* pipe to it: closed when we end */
};

/* Create a folder named PREFIX and a random suffix in $TMPDIR, and remove older ones without an
 * owner.  Leaves G->folder empty if that fails. */
void col_guard_open(struct col_guard *g, const char *prefix);
/* Create the symbolic link NAME to TARGET in the folder.  Returns 0, or -1 with errno. */
int col_guard_link(const struct col_guard *g, const char *name, const char *target);
void col_guard_start(struct col_guard *g); /* start the process */
/* Remove the folder and end the process. */
void col_guard_close(struct col_guard *g);

#endif
