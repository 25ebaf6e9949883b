/* col_schedstat.c - see col_schedstat.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_schedstat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int col_schedstat_open(int64_t pid, int64_t tid)
{
    char path[96];

    snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%" PRId64 "/schedstat", pid, tid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool col_schedstat_get(int fd, struct col_schedstat *s)
{
    char text[128], *at = text;
    ssize_t n = pread(fd, text, sizeof text - 1, 0);

    if (n <= 0)
        return false;
    text[n] = 0;
    s->cpu_ns = strtoull(at, &at, 10);
    s->queue_ns = strtoull(at, &at, 10);
    s->turns = strtoull(at, &at, 10);
    return true;
}

bool col_schedstat_read(int64_t pid, int64_t tid, struct col_schedstat *s)
{
    int fd = col_schedstat_open(pid, tid);
    bool found = fd >= 0 && col_schedstat_get(fd, s);

    if (fd >= 0)
        close(fd);
    return found;
}

bool col_schedstat_works(void)
{
    struct col_schedstat own;

    return col_schedstat_read(getpid(), getpid(), &own) && own.turns > 0;
}
