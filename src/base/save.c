/* save.c - see save.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPTS = 100 };

static bool is_special(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static bool temporary_path(char *to, size_t cap, const char *path, const struct save *s)
{
    if ((size_t)snprintf(to, cap, "%s%s", path, s->suffix) < cap)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* Nanoseconds are hard to guess, and with O_EXCL a correct guess only causes another attempt. */
static void new_suffix(struct save *s)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(s->suffix, sizeof s->suffix, ".%07x%05x.tmp", (unsigned)now.tv_nsec & 0xfffffff,
             (unsigned)(now.tv_sec * 31 + getpid()) & 0xfffff);
}

int save_open(struct save *s, const char *path, mode_t mode)
{
    char temporary[PATH_MAX];

    *s = (struct save){ .fd = -1 };
    if (is_special(path)) {
        s->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
        return s->fd < 0 ? -1 : 0;
    }
    for (int i = 0; i < ATTEMPTS; i++) {
        new_suffix(s);
        if (!temporary_path(temporary, sizeof temporary, path, s))
            return -1;
        s->fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (s->fd >= 0 || errno != EEXIST)
            break;
    }
    return s->fd < 0 ? -1 : 0;
}

int save_close(struct save *s, const char *path, bool good)
{
    char temporary[PATH_MAX];
    int rc = close(s->fd), cause;

    s->fd = -1;
    if (!s->suffix[0])
        return good ? rc : 0;
    if (!temporary_path(temporary, sizeof temporary, path, s))
        return -1;
    if (good && rc == 0 && rename(temporary, path) == 0)
        return 0;
    cause = errno;
    unlink(temporary);
    errno = cause;
    return good ? -1 : 0;
}

int save_write(int fd, const void *data, size_t n)
{
    const char *p = data;

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
