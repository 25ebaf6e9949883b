/* col_host.c - see col_host.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_host.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/col_proc.h"

static bool same_file(int fd, const struct perf_mapping *w)
{
    struct stat st;

    return !w->inode || (fstat(fd, &st) == 0 && st.st_ino == w->inode &&
                         (!w->device || st.st_dev == w->device));
}

static int open_regular(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool has_build_id(int fd, const struct perf_mapping *w)
{
    struct elf_file elf;

    return w->build_id_size && elf_file_read(&elf, fd) && elf.build_id_size == w->build_id_size &&
           memcmp(elf.build_id, w->build_id, w->build_id_size) == 0;
}

/* Try to open the file that W mapped, by the most reliable path first. */
static int open_file(const struct perf_mapping *w)
{
    char tries[4][4096 + 64];

    snprintf(tries[0], sizeof tries[0], "/proc/%" PRId64 "/root%s", w->pid, w->path);
    snprintf(tries[1], sizeof tries[1], "/proc/%" PRId64 "/map_files/%" PRIx64 "-%" PRIx64, w->pid,
             w->start, w->end);
    if (w->root_fd >= 0)
        snprintf(tries[2], sizeof tries[2], "/proc/self/fd/%d%s", w->root_fd, w->path);
    else
        snprintf(tries[2], sizeof tries[2], "%s", w->path);
    snprintf(tries[3], sizeof tries[3], "/proc/%" PRId64 "/exe", w->pid);
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        int fd = open_regular(tries[i]);
        /* /proc/PID/exe may be another file than the mapped one: compare. */
        bool right = fd >= 0 && (i == 3 && !w->inode ? has_build_id(fd, w) : same_file(fd, w));

        if (right)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

static int open_jit(int64_t pid, const char *path)
{
    char whole[4096 + 64];

    snprintf(whole, sizeof whole, "/proc/%" PRId64 "/root%s", pid, path);
    return open_regular(whole);
}

const struct perf_host col_host = {
    .comm = col_proc_comm,
    .command = col_proc_command,
    .parent = col_proc_parent,
    .inner_pid = col_proc_inner_pid,
    .root = col_proc_root,
    .maps = col_proc_maps,
    .open = open_file,
    .open_jit = open_jit,
};
