/* trust.c - see trust.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/trust.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The owner of the root directory is root, who has another number in a user namespace. */
struct trusted {
    struct stat self, root;
    char program[PATH_MAX]; /* path of ours */
};

static bool look(struct trusted *t)
{
    ssize_t n = readlink("/proc/self/exe", t->program, sizeof t->program - 1);

    t->program[n > 0 ? n : 0] = 0;
    return n > 0 && stat("/proc/self/exe", &t->self) == 0 && stat("/", &t->root) == 0;
}

/* Who can exchange a directory above our program can exchange the program. */
static bool is_above_program(const struct trusted *t, const char *path)
{
    size_t n = strlen(path);

    return strncmp(t->program, path, n) == 0 && t->program[n] == '/';
}

static bool is_user(const struct trusted *t, uid_t uid)
{
    return uid == 0 || uid == geteuid() || uid == t->self.st_uid || uid == t->root.st_uid;
}

static bool is_group(const struct trusted *t, gid_t gid)
{
    return gid == 0 || gid == getegid() || gid == t->self.st_gid || gid == t->root.st_gid;
}

static bool is_ours(const struct trusted *t, const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0 || S_ISLNK(st.st_mode) || !is_user(t, st.st_uid))
        return false;
    if (S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX)
        return true;
    return !(st.st_mode & S_IWOTH) && (!(st.st_mode & S_IWGRP) || is_group(t, st.st_gid));
}

bool trust_path(const char *path, char real[PATH_MAX])
{
    struct trusted t;

    if (!realpath(path, real) || !look(&t))
        return false;
    for (char *at = real; (at = strchr(at + 1, '/'));) {
        bool ours;

        *at = 0;
        ours = is_above_program(&t, real) || is_ours(&t, real);
        *at = '/';
        if (!ours)
            return false;
    }
    return is_above_program(&t, real) || is_ours(&t, real);
}
