/* col_cgroup.h - find control groups: the folder that a user names, and that of a process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_CGROUP_H
#define FATHOM_COLLECT_COL_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* PATH is a folder, or relative to where cgroups are mounted.  Returns a descriptor of it. */
int col_cgroup_open(const char *path, struct err *e);

/* A cgroup by the folder in which we see it. */
struct col_cgroup {
    char folder[4096]; /* without a final slash */
    size_t top;        /* length of the mount point: it and the cgroups below it are visible */
    bool v2;
};
/* Find the cgroup of process PID in the hierarchy of version 1 that has CONTROLLER, or else in
 * that of version 2; CONTROLLER NULL: only version 2.  Returns false if we cannot see it. */
bool col_cgroup_of(int64_t pid, const char *controller, struct col_cgroup *c);
/* The cgroup of version 2 that FD is open on. */
bool col_cgroup_of_fd(int fd, struct col_cgroup *c);
/* Go to the cgroup above.  Returns false if there is none that we can see. */
bool col_cgroup_up(struct col_cgroup *c);
/* Read a file of the cgroup as text.  Returns its length, or -1 with "" in TEXT. */
long col_cgroup_read(const struct col_cgroup *c, const char *name, char *text, size_t cap);

/* --- parsers ---------------------------------------------------------------------------- */

/* Find the path of the hierarchy in TEXT, the contents of /proc/PID/cgroup. */
bool col_cgroup_path(const char *text, const char *controller, char *path, size_t cap);

struct col_cgroup_mount {
    char root[4096]; /* the cgroup that is mounted */
    char point[4096];
};
/* Parse one line of /proc/PID/mountinfo.  Returns false if it is not the mount of the hierarchy
 * with CONTROLLER, NULL for version 2. */
bool col_cgroup_mount(const char *line, const char *controller, struct col_cgroup_mount *m);
/* Set the folder of the cgroup PATH.  Returns false if M does not contain it. */
bool col_cgroup_join(const struct col_cgroup_mount *m, const char *path, struct col_cgroup *c);

#endif
