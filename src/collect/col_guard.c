/* col_guard.c - see col_guard.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/trust.h"
#include "channel/agent_memory.h"

enum {
    TRIES = 10,   /* a program may add a file while we remove the others */
    STARTS_S = 3, /* in which programs load their libraries */
    ABOVE = 10,   /* descriptors that cannot collide with the first four */
};
static const int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/* Remove the folder FD, which is NAME in the folder AT. */
static void remove_folder(int fd, int at, const char *name)
{
    for (int i = 0; i < TRIES; i++) {
        int copy = openat(fd, ".", folder_flags);
        DIR *d = copy >= 0 ? fdopendir(copy) : NULL;

        for (struct dirent *it; d && (it = readdir(d));)
            if (strcmp(it->d_name, ".") != 0 && strcmp(it->d_name, "..") != 0)
                unlinkat(fd, it->d_name, 0);
        if (d)
            closedir(d);
        else if (copy >= 0)
            close(copy);
        if (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno != ENOTEMPTY)
            return;
    }
}

/* Open and lock NAME in AT if it is ours and nobody has locked it. */
static int open_orphan(int at, const char *name)
{
    int fd = openat(at, name, folder_flags);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    return -1;
}

static void remove_orphans(const char *parent, const char *prefix)
{
    DIR *d = opendir(parent);

    for (struct dirent *it; d && (it = readdir(d));) {
        int fd = strncmp(it->d_name, prefix, strlen(prefix)) == 0
                     ? open_orphan(dirfd(d), it->d_name)
                     : -1;

        if (fd < 0)
            continue;
        remove_folder(fd, dirfd(d), it->d_name);
        close(fd);
    }
    if (d)
        closedir(d);
}

/* Open and lock G->folder.  Returns 0 or an errno, ENOENT if another recorder removed it before we
 * had the lock. */
static int lock_folder(struct col_guard *g)
{
    struct stat st;

    g->fd = open(g->folder, folder_flags);
    if (g->fd < 0) {
        int error = errno;

        rmdir(g->folder);
        return error;
    }
    flock(g->fd, LOCK_EX);
    if (fstat(g->fd, &st) == 0 && st.st_nlink)
        return 0;
    close(g->fd);
    return ENOENT;
}

/* TMPDIR, but not where another user, whose environment su and sudo -E may keep, can exchange it,
 * and not that of somebody who lets nobody write to it.  REAL is room for its path. */
static const char *temporary(char real[PATH_MAX])
{
    const char *tmp = getenv("TMPDIR");

    return tmp && *tmp && trust_path(tmp, real) && eaccess(real, W_OK) == 0 ? real : "/tmp";
}

void col_guard_open(struct col_guard *g, const char *prefix)
{
    char real[PATH_MAX];
    const char *tmp = temporary(real);

    remove_orphans(tmp, prefix);
    for (int i = 0; i < TRIES; i++) {
        int n = snprintf(g->folder, sizeof g->folder, "%s/%sXXXXXX", tmp, prefix);

        g->error = n >= (int)sizeof g->folder ? ENAMETOOLONG
                   : mkdtemp(g->folder)       ? lock_folder(g)
                                              : errno;
        if (!g->error)
            return;
        if (g->error != ENOENT)
            break;
    }
    g->folder[0] = 0;
}

int col_guard_link(const struct col_guard *g, const char *name, const char *target)
{
    return symlinkat(target, g->fd, name);
}

/* The recorder was killed.  A program that is about to start with the agent prints an error if the
 * library is not there. */
static void linger(int fd)
{
    struct timespec start = { STARTS_S, 0 };

    if (faccessat(fd, AGENT_LIBRARY, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        nanosleep(&start, NULL);
}

/* Does not return.  Holds no file of the recorder except the folder: a reader of its output waits
 * for all writers. */
static void __attribute__((noreturn)) guard(const struct col_guard *g, int end)
{
    int null = open("/dev/null", O_RDWR), from[4];
    char byte;
    ssize_t n;

    prctl(PR_SET_NAME, "fathom-guard");
    setsid(); /* a signal to our group does not reach it; those of a terminal are blocked */
    from[0] = fcntl(end, F_DUPFD, ABOVE);
    from[1] = from[2] = fcntl(null, F_DUPFD, ABOVE);
    from[3] = fcntl(g->fd, F_DUPFD, ABOVE);
    for (int i = 0; i < 4; i++)
        if (dup2(from[i], i) < 0)
            _exit(1);
    close_range(4, ~0u, 0);
    do
        n = read(0, &byte, 1);
    while (n < 0 && errno == EINTR);
    linger(3);
    remove_folder(3, AT_FDCWD, g->folder);
    _exit(0);
}

void col_guard_start(struct col_guard *g)
{
    int end[2];

    if (!g->folder[0] || pipe2(end, O_CLOEXEC) < 0)
        return;
    g->pid = fork();
    if (g->pid == 0) {
        close(end[1]);
        guard(g, end[0]);
    }
    close(end[0]);
    g->alive = end[1];
    if (g->pid < 0) {
        close(g->alive);
        g->pid = 0;
    }
}

void col_guard_close(struct col_guard *g)
{
    if (g->folder[0]) {
        remove_folder(g->fd, AT_FDCWD, g->folder);
        close(g->fd);
    }
    if (g->pid) {
        close(g->alive);
        while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    *g = (struct col_guard){ 0 };
}
