/* col_cgroup.c - see col_cgroup.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

static bool is_cgroup(int fd)
{
    struct statfs s;

    return fstatfs(fd, &s) == 0 &&
           (s.f_type == CGROUP2_SUPER_MAGIC || s.f_type == CGROUP_SUPER_MAGIC);
}

/* Sampling needs a descriptor for reading: the kernel refuses one of O_PATH. */
static int open_in(const char *folder, const char *path)
{
    struct buf b = { 0 };
    int fd;

    buf_printf(&b, "%s%s", folder, path);
    fd = open(buf_text(&b), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    buf_release(&b);
    return fd;
}

int col_cgroup_open(const char *path, struct err *e)
{
    /* Where version 1 is mounted too, /sys/fs/cgroup has one folder for each hierarchy. */
    static const char *const folders[] = { "/sys/fs/cgroup/perf_event/",
                                           "/sys/fs/cgroup/unified/", "/sys/fs/cgroup/" };
    size_t first = *path == '/' ? ARRAY_LEN(folders) - 1 : 0;
    int fd = -1;

    for (size_t i = first; i < ARRAY_LEN(folders); i++) {
        fd = open_in(*path == '/' ? "" : folders[i], path);
        if (fd >= 0 && is_cgroup(fd))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    err_hint(e, "name a folder below /sys/fs/cgroup, such as system.slice/ssh.service");
    if (fd < 0)
        return err_sys(e, "cgroup %s", path);
    return err_set(e, ERR_USAGE, "%s is not a cgroup: it is on another file system", path);
}
