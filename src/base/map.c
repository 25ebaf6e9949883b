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
#include "base/guard.h"
#include "base/named.h"

/* Larger than any profile. /dev/zero or an endless pipe must not use all memory. */
static const size_t MOST_BYTES = (size_t)4 << 30;
/* All copies of other users' files together: a sparse file must not use all memory. */
static const size_t MOST_COPIED = (size_t)2 << 30;
static size_t copied;

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

static bool read_part(int fd, unsigned char *to, size_t end, size_t *at)
{
    while (*at < end) {
        ssize_t n = pread(fd, to + *at, end - *at, (off_t)*at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        *at += (size_t)n;
    }
    return true;
}

/* Read SIZE bytes, or fewer if the file was truncated.  Holes may be large: leave them alone. */
static bool fill(int fd, unsigned char *to, size_t size, size_t *got)
{
    struct stat st;

    for (*got = 0; *got < size;) {
        off_t data = lseek(fd, (off_t)*got, SEEK_DATA);
        off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
        size_t end = hole < 0 || (size_t)hole > size ? size : (size_t)hole;

        if (data < 0 && errno == ENXIO) { /* a hole up to the end */
            *got = fstat(fd, &st) < 0 || st.st_size > (off_t)size ? size : (size_t)st.st_size;
            return true;
        }
        if (data > (off_t)*got)
            *got = (size_t)data < size ? (size_t)data : size;
        if (!read_part(fd, to, end, got))
            return false;
        if (*got < end)
            return true;
    }
    return true;
}

int map_copy(struct map *m, int fd, uint64_t most, struct err *e)
{
    struct stat st;
    size_t size;
    void *p;

    *m = (struct map){ 0 };
    if (fstat(fd, &st) < 0)
        return err_sys(e, "cannot stat the file");
    size = (size_t)st.st_size;
    if (!S_ISREG(st.st_mode) || size == 0)
        return 0;
    if (size > most || size > MOST_COPIED - copied)
        return err_set(e, ERR_LIMIT, "is too large for a file that other users can change");
    p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return err_sys(e, "no memory for it");
    copied += size;
    *m = (struct map){ .data = p, .size = size, .mapped = true, .room = size };
    if (fill(fd, p, size, &m->size))
        return 0;
    err_sys(e, "cannot read");
    map_close(m);
    return -1;
}

int map_file(struct map *m, int fd, bool writable, struct err *e)
{
    int prot = PROT_READ | (writable ? PROT_WRITE : 0);
    struct stat st;
    void *p;

    *m = (struct map){ 0 };
    if (fstat(fd, &st) < 0)
        return err_sys(e, "cannot stat the file");
    if (!S_ISREG(st.st_mode) || st.st_size == 0 || !named_is_ours(&st))
        return map_copy(m, fd, UINT64_MAX, e);
    p = mmap(NULL, (size_t)st.st_size, prot, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return map_copy(m, fd, UINT64_MAX, e);
    *m = (struct map){ .data = p, .size = (size_t)st.st_size, .mapped = true };
    if (guard_add(p, m->size))
        return 0;
    map_close(m);
    return map_copy(m, fd, UINT64_MAX, e);
}

int map_fd(struct map *m, int fd, struct err *e)
{
    struct stat st;

    *m = (struct map){ 0 };
    if (fstat(fd, &st) < 0)
        return err_sys(e, "cannot stat the file");
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_FORMAT, "is a directory, not a file");
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return read_all(m, fd, e);
    return map_file(m, fd, false, e);
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
    if (m->mapped) {
        guard_remove(m->data);
        munmap((void *)m->data, m->room ? m->room : m->size);
        copied -= m->room;
    } else {
        free((void *)m->data);
    }
    *m = (struct map){ 0 };
}

bool map_was_truncated(const struct map *m)
{
    return m->mapped && guard_was_hit(m->data);
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
