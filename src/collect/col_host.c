/* col_host.c - see col_host.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_host.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/col_proc.h"
#include "collect/col_words.h"

static bool same_file(int fd, const struct perf_mapping *w)
{
    struct stat st;

    return !w->inode || (fstat(fd, &st) == 0 && st.st_ino == w->inode &&
                         (!w->device || st.st_dev == w->device));
}

static bool has_build_id(int fd, const struct perf_mapping *w)
{
    struct elf_file elf;

    return w->build_id_size && elf_file_read(&elf, fd) && elf.build_id_size == w->build_id_size &&
           memcmp(elf.build_id, w->build_id, w->build_id_size) == 0;
}

/* Try to open the file that W mapped, by the most reliable path first.  As ourselves if it can be
 * compared with the mapped one: the user of the process may be permitted to run it, not to read it.
 * Otherwise the process may have put another file there. */
static int open_file(const struct perf_mapping *w)
{
    char root[64], ours[64] = "", area[128], exe[64];
    const struct named_user *user = w->inode ? NULL : w->user;
    const struct {
        const char *root, *path;
        unsigned how;
    } tries[] = { { root, w->path, 0 }, { NULL, area, NAMED_PROC_LINK }, { ours, w->path, 0 },
                  { NULL, exe, NAMED_PROC_LINK } };

    snprintf(root, sizeof root, "/proc/%" PRId64 "/root", w->pid);
    snprintf(area, sizeof area, "/proc/%" PRId64 "/map_files/%" PRIx64 "-%" PRIx64, w->pid,
             w->start, w->end);
    if (w->root_fd >= 0)
        snprintf(ours, sizeof ours, "/proc/self/fd/%d", w->root_fd);
    snprintf(exe, sizeof exe, "/proc/%" PRId64 "/exe", w->pid);
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        int fd = named_open(tries[i].root, tries[i].path, tries[i].how ? NULL : user, tries[i].how,
                            NULL);
        /* /proc/PID/exe may be another file than the mapped one: compare. */
        bool right = fd >= 0 && (tries[i].path == exe && !w->inode ? has_build_id(fd, w)
                                                                   : same_file(fd, w));

        if (right)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

static int open_jit(int64_t pid, const char *path, const struct named_user *user)
{
    char root[64];

    snprintf(root, sizeof root, "/proc/%" PRId64 "/root", pid);
    return named_open(root, path, user, NAMED_OWNED | NAMED_NO_LINK, NULL);
}

/* The owner of /proc/PID is the effective user, or root.  If that is us and we are not root, the
 * expensive question who the real one is has no consequence. */
static bool user_of(int64_t pid, struct named_user *u)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%" PRId64, pid);
    if (geteuid() == 0 || stat(path, &st) < 0 || st.st_uid != geteuid())
        return named_user_read(pid, u);
    *u = (struct named_user){ .uid = geteuid(), .gid = getegid() };
    return true;
}

const struct perf_host col_host = {
    .comm = col_proc_comm,
    .command = col_proc_command,
    .parent = col_proc_parent,
    .inner_pid = col_proc_inner_pid,
    .user = user_of,
    .root = col_proc_root,
    .maps = col_proc_maps,
    .open = open_file,
    .open_jit = open_jit,
    .words = col_words_read,
};
