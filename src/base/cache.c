/* cache.c - see cache.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/save.h"

/* The tables of all libraries of a desktop take 100 MB; the symbols of a few kernels 10 MB. */
enum { FOLDER_MAX = 256 << 20 };

struct kept {
    int64_t used; /* seconds */
    uint64_t size;
    char *name;
};

/* --- where it is ------------------------------------------------------------------------ */

/* The value of VARIABLE if it names a directory of this user, or one that does not exist yet. */
static const char *own_directory(const char *variable)
{
    const char *path = getenv(variable);
    struct stat st;

    if (!path || !*path)
        return NULL;
    return stat(path, &st) < 0 || st.st_uid == geteuid() ? path : NULL;
}

static const char *home_of_account(void)
{
    const struct passwd *user = getpwuid(geteuid());

    return user && user->pw_dir && *user->pw_dir ? user->pw_dir : NULL;
}

void cache_dir(char *path, size_t cap, const char *folder)
{
    const char *own = getenv("FATHOM_CACHE"), *in = NULL, *below = "", *slash = *folder ? "/" : "";
    int n = -1;

    path[0] = 0;
    if (own && *own)
        in = own;
    else if ((in = own_directory("XDG_CACHE_HOME")))
        below = "/fathom";
    else if ((in = own_directory("HOME")) || (in = home_of_account()))
        below = "/.cache/fathom";
    if (in)
        n = snprintf(path, cap, "%s%s%s%s", in, below, slash, folder);
    if (n < 0 || (size_t)n >= cap)
        path[0] = 0;
}

/* --- whether it is ours ------------------------------------------------------------------ */

/* Whether FD, a folder or file of the cache, is this user's and nobody else can write to it. */
static int check_own(int fd, const char *path, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "%s", path);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_REFUSED, "%s belongs to user %u, not to user %u", path,
                       (unsigned)st.st_uid, (unsigned)geteuid());
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(e, ERR_REFUSED, "other users may write to %s", path);
    return 0;
}

/* What root creates in the directory of another user would be in that user's way. */
static int check_parent(int fd, const char *name, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "%s", name);
    if (st.st_uid == geteuid() || st.st_uid == 0)
        return 0;
    return err_set(e, ERR_REFUSED, "cannot create %s in a directory of user %u", name,
                   (unsigned)st.st_uid);
}

/* Open the directory NAME of IN.  IS_OWN: it must be ours, and no symlink. */
static int enter(int in, const char *name, bool is_own, bool create, struct err *e)
{
    int flags = O_DIRECTORY | O_CLOEXEC | (is_own ? O_RDONLY | O_NOFOLLOW : O_PATH);
    int fd = openat(in, name, flags);

    if (fd < 0 && errno == ENOENT) {
        if (check_parent(in, name, e) < 0)
            return -1;
        errno = ENOENT;
    }
    if (fd < 0 && errno == ENOENT && create) {
        if (mkdirat(in, name, 0700) < 0 && errno != EEXIST)
            return err_sys(e, "cannot create %s", name);
        fd = openat(in, name, flags | O_NOFOLLOW);
    }
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return err_set(e, ERR_REFUSED, "%s is not a directory", name);
    if (fd < 0)
        return err_sys(e, "%s", name);
    if (!is_own || check_own(fd, name, e) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Open FOLDER in the cache, or the cache itself for "". */
static int open_folder(const char *folder, bool create, struct err *e)
{
    char path[PATH_MAX], *next = path, *name;
    int fd, in;

    cache_dir(path, sizeof path, "");
    if (!*path)
        return err_set(e, ERR_MISSING, "no cache directory: HOME is not set");
    fd = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && (name = strsep(&next, "/"))) {
        if (!*name)
            continue;
        in = fd;
        fd = enter(in, name, !next, create, e);
        close(in);
    }
    if (fd >= 0 && *folder) {
        in = fd;
        fd = enter(in, folder, true, create, e);
        close(in);
    }
    return fd;
}

int cache_open(const char *folder, struct err *e)
{
    return open_folder(folder, true, e);
}

int cache_check(struct err *e)
{
    struct err found = { 0 };
    int fd = open_folder("", false, &found);

    if (fd >= 0)
        close(fd);
    if (fd >= 0 || found.sys == ENOENT)
        return 0;
    return err_set(e, found.code, "%s", found.msg);
}

/* --- what is in it ----------------------------------------------------------------------- */

bool cache_load(struct map *m, const char *folder, const char *name)
{
    int in = open_folder(folder, false, NULL), fd = -1;
    struct stat st;
    bool done = false;

    *m = (struct map){ 0 };
    if (in >= 0)
        fd = openat(in, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        done = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && check_own(fd, name, NULL) == 0 &&
               map_fd(m, fd, NULL) == 0;
    if (fd >= 0)
        close(fd);
    if (in >= 0)
        close(in);
    return done;
}

static int by_use(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;

    return x->used < y->used ? -1 : x->used > y->used;
}

/* Takes the descriptor FOLDER. */
static size_t trim(int folder, uint64_t most)
{
    DIR *d = folder < 0 ? NULL : fdopendir(folder);
    struct arena names = { 0 };
    VEC(struct kept) kept = { 0 };
    uint64_t sum = 0;
    size_t gone = 0;
    struct stat st;

    for (struct dirent *it; d && (it = readdir(d));) {
        if (fstatat(dirfd(d), it->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        sum += (uint64_t)st.st_size;
        vec_push(&kept, ((struct kept){
            /* If the file system stores no access times, age decides. */
            st.st_atime > st.st_mtime ? st.st_atime : st.st_mtime, (uint64_t)st.st_size,
            arena_strndup(&names, it->d_name, strlen(it->d_name)) }));
    }
    if (sum > most)
        qsort(kept.v, kept.n, sizeof *kept.v, by_use);
    for (; sum > most && gone < kept.n; gone++) {
        unlinkat(dirfd(d), kept.v[gone].name, 0);
        sum -= kept.v[gone].size;
    }
    if (d)
        closedir(d);
    vec_release(&kept);
    arena_release(&names);
    return gone;
}

size_t cache_trim(const char *folder, uint64_t most)
{
    return trim(open_folder(folder, false, NULL), most);
}

int cache_store(const char *folder, const char *name, const void *data, size_t n, struct err *e)
{
    int in = cache_open(folder, e);
    struct save s;
    bool good;

    if (in < 0)
        return -1;
    if (save_open_in(&s, in, name, SAVE_PRIVATE) < 0) {
        err_sys(e, "cannot write %s", name);
        close(in);
        return -1;
    }
    good = save_write(s.fd, data, n) == 0;
    if (!good)
        err_sys(e, "cannot write %s", name);
    if (save_close(&s, good) < 0)
        good = err_sys(e, "cannot write %s", name) == 0;
    trim(in, FOLDER_MAX);
    return good ? 0 : -1;
}
