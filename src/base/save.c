/* save.c - see save.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/save.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/file_limit.h"

enum { ATTEMPTS = 100 };

/* A name that nobody can predict.  While the kernel has no random numbers yet, nanoseconds must do;
 * the names are used exclusively in any case. */
static void choose_name(struct save *s)
{
    uint64_t random;

    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        random = ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec) + (uint64_t)getpid();
    }
    snprintf(s->temporary, sizeof s->temporary, ".fathom-%016llx", (unsigned long long)random);
}

/* The file of FD, which may have no name, as a path. */
static void path_of(char path[32], int fd)
{
    snprintf(path, 32, "/proc/self/fd/%d", fd);
}

/* A file without a name, or -1 where it could not get one later. */
static int open_unnamed(const struct save *s, mode_t mode)
{
    int fd = openat(s->at.folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    char path[32];
    struct stat st;

    path_of(path, fd);
    if (fd < 0 || stat(path, &st) == 0)
        return fd;
    close(fd);
    return -1;
}

static int create(struct save *s, mode_t mode)
{
    s->fd = open_unnamed(s, mode);
    for (int i = 0; s->fd < 0 && i < ATTEMPTS; i++) {
        choose_name(s);
        s->fd = openat(s->at.folder, s->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (s->fd < 0 && errno != EEXIST)
            break;
    }
    if (s->fd < 0)
        place_close(&s->at);
    return s->fd < 0 ? -1 : 0;
}

static int find(struct save *s, const char *path)
{
    *s = (struct save){ .fd = -1 };
    if (place_find(&s->at, path) == 0)
        return 0;
    place_close(&s->at);
    return -1;
}

int save_open_new(struct save *s, const char *path, mode_t mode)
{
    if (find(s, path) < 0)
        return -1;
    if (place_is_replaced(&s->at))
        return create(s, mode);
    place_close(&s->at);
    errno = EEXIST;
    return -1;
}

int save_open(struct save *s, const char *path, mode_t mode)
{
    if (find(s, path) < 0)
        return -1;
    s->direct = !place_is_replaced(&s->at);
    if (!s->direct)
        return create(s, mode);
    s->fd = place_open(&s->at, O_WRONLY | (s->at.by_kernel ? O_TRUNC : 0));
    place_close(&s->at);
    return s->fd < 0 ? -1 : 0;
}

int save_open_in(struct save *s, int folder, const char *name, mode_t mode)
{
    *s = (struct save){ .fd = -1 };
    s->at.folder = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    if (s->at.folder < 0)
        return -1;
    if ((size_t)snprintf(s->at.name, sizeof s->at.name, "%s", name) < sizeof s->at.name)
        return create(s, mode);
    place_close(&s->at);
    errno = ENAMETOOLONG;
    return -1;
}

static void discard(struct save *s)
{
    int cause = errno;

    if (s->temporary[0])
        unlinkat(s->at.folder, s->temporary, 0);
    s->temporary[0] = 0;
    errno = cause;
}

/* Give an unnamed file a temporary name, because linkat cannot replace a file and renameat can. */
static int add_name(struct save *s)
{
    char path[32];

    path_of(path, s->fd);
    for (int i = 0; i < ATTEMPTS; i++) {
        choose_name(s);
        if (linkat(AT_FDCWD, path, s->at.folder, s->temporary, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    s->temporary[0] = 0;
    return -1;
}

/* No signal may end the process while the file has its temporary name. */
static int finish(struct save *s)
{
    sigset_t all, old;
    int rc, cause;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    rc = s->temporary[0] ? 0 : add_name(s);
    if (rc == 0)
        rc = renameat(s->at.folder, s->temporary, s->at.folder, s->at.name);
    if (rc < 0)
        discard(s);
    s->temporary[0] = 0;
    cause = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = cause;
    return rc;
}

int save_close(struct save *s, bool good)
{
    bool named = s->temporary[0], replace = good && !s->direct;
    int rc = replace && !named ? finish(s) : 0;

    if (close(s->fd) < 0 && good)
        rc = -1;
    if (replace && named && rc == 0) /* after close, which may report that a file server is full */
        rc = finish(s);
    else
        discard(s);
    s->fd = -1;
    place_close(&s->at);
    return rc;
}

int save_keep(struct save *s)
{
    int fd = s->fd;

    if (!s->direct && finish(s) < 0) {
        save_close(s, false);
        return -1;
    }
    s->fd = -1;
    place_close(&s->at);
    return fd;
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t put = write(fd, p, n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put == 0)
            errno = EIO;
        if (put <= 0)
            return -1;
        p += put;
        n -= (size_t)put;
    }
    return 0;
}

int save_write(int fd, const void *data, size_t n)
{
    struct file_limit l = file_limit_begin();
    int rc = write_all(fd, data, n);

    file_limit_end(&l);
    return rc;
}
