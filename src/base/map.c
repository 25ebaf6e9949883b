/* map.c - see map.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

/* Larger than any profile. /dev/zero or an endless pipe must not use all memory. */
static const size_t MOST_BYTES = (size_t)4 << 30;

static int read_all(struct map *m, int fd, struct err *e)
{
    struct buf b = { 0 };

    for (;;) {
        ssize_t got;

        buf_reserve(&b, 1 << 16);
        got = read(fd, b.data + b.n, b.cap - b.n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            buf_release(&b);
            return err_sys(e, "cannot read");
        }
        if (got == 0)
            break;
        b.n += (size_t)got;
        if (b.n > MOST_BYTES) {
            buf_release(&b);
            return err_set(e, ERR_LIMIT, "input from a pipe or device exceeds 4 GiB");
        }
    }
    m->data = b.data;
    m->size = b.n;
    m->mapped = false;
    return 0;
}

int map_fd(struct map *m, int fd, struct err *e)
{
    struct stat st;
    void *p;

    *m = (struct map){ 0 };
    if (fstat(fd, &st) < 0)
        return err_sys(e, "cannot stat the file");
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_FORMAT, "is a directory, not a file");
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return read_all(m, fd, e);
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return read_all(m, fd, e);
    m->data = p;
    m->size = (size_t)st.st_size;
    m->mapped = true;
    return 0;
}

int map_open(struct map *m, const char *path, struct err *e)
{
    int fd, rc;

    *m = (struct map){ 0 };
    if (strcmp(path, "-") == 0)
        return map_fd(m, STDIN_FILENO, e) < 0 ? err_wrap(e, "standard input") : 0;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, "%s", path);
    rc = map_fd(m, fd, e);
    close(fd);
    return rc < 0 ? err_wrap(e, "%s", path) : 0;
}

void map_close(struct map *m)
{
    if (m->mapped)
        munmap((void *)m->data, m->size);
    else
        free((void *)m->data);
    *m = (struct map){ 0 };
}

long map_read_text(const char *path, char *text, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ssize_t got = 0;

    text[0] = 0;
    if (fd < 0)
        return -1;
    while (n + 1 < cap && (got = read(fd, text + n, cap - 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    if (got < 0)
        n = 0;
    while (n && text[n - 1] == '\n')
        n--;
    text[n] = 0;
    return got < 0 ? -1 : (long)n;
}

int64_t map_read_int(const char *path, int64_t otherwise)
{
    char text[64], *end;
    long long x;

    if (map_read_text(path, text, sizeof text) <= 0)
        return otherwise;
    x = strtoll(text, &end, 10);
    return end == text ? otherwise : x;
}
