/* place.c - see place.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as in the kernel */

struct walk {
    struct place *place;
    char rest[PATH_MAX]; /* of the path */
    int links;
};

static int fail(int cause)
{
    errno = cause;
    return -1;
}

static void close_quietly(int fd)
{
    int cause = errno;

    close(fd);
    errno = cause;
}

static void enter(struct place *p, int folder)
{
    place_close(p);
    p->folder = folder;
}

static int start(struct walk *w)
{
    enter(w->place, open(*w->rest == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return w->place->folder < 0 ? -1 : 0;
}

/* Move the first name of the rest to the place.  *LAST: nothing follows it. */
static int next_name(struct walk *w, bool *last)
{
    size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");

    if (n == 0)
        return fail(*w->rest ? EISDIR : ENOENT);
    if (n > NAME_MAX)
        return fail(ENAMETOOLONG);
    memcpy(w->place->name, w->rest + skip, n);
    w->place->name[n] = 0;
    *last = !w->rest[skip + n];
    memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
    return 0;
}

/* Whether another user may have put the thing that ST describes into FOLDER as a trap. */
static bool is_foreign(int folder, const struct stat *st)
{
    struct stat in;

    if (fstat(folder, &in) < 0)
        return true;
    return (in.st_mode & S_ISVTX) && (in.st_mode & S_IWOTH) && st->st_uid != geteuid() &&
           st->st_uid != in.st_uid;
}

static bool is_in_proc(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Put the text of the link FD before the rest. */
static int follow(struct walk *w, int fd)
{
    char text[PATH_MAX];
    ssize_t n = readlinkat(fd, "", text, sizeof text);
    size_t left = strlen(w->rest);

    if (n < 0)
        return -1;
    if (++w->links > LINKS_MAX)
        return fail(ELOOP);
    if ((size_t)n + left + 1 > sizeof w->rest)
        return fail(ENAMETOOLONG);
    memmove(w->rest + n, w->rest, left + 1);
    memcpy(w->rest, text, (size_t)n);
    return *w->rest == '/' ? start(w) : 0;
}

/* FD is an O_PATH descriptor of the name in the place, and p->st describes it.  Returns 0 to
 * continue with the rest, 1 at its end. */
static int step(struct walk *w, int fd, bool last)
{
    struct place *p = w->place;
    bool is_link = S_ISLNK(p->st.st_mode);
    int rc;

    if ((is_link || (last && !S_ISREG(p->st.st_mode) && !S_ISDIR(p->st.st_mode))) &&
        is_foreign(p->folder, &p->st)) {
        p->foreign = true;
        rc = fail(EACCES);
    } else if (is_link && !is_in_proc(fd)) {
        rc = follow(w, fd);
    } else if (last) {
        p->by_kernel = is_link;
        rc = is_link && fstatat(p->folder, p->name, &p->st, 0) < 0 ? -1 : 1;
    } else {
        int in = openat(p->folder, p->name,
                        O_PATH | O_DIRECTORY | O_CLOEXEC | (is_link ? 0 : O_NOFOLLOW));

        rc = in < 0 ? -1 : 0;
        if (in >= 0)
            enter(p, in);
    }
    return rc;
}

int place_find(struct place *p, const char *path)
{
    struct walk w = { .place = p };
    bool last;
    int fd, rc = 0;

    *p = (struct place){ .folder = -1 };
    if (strlen(path) >= sizeof w.rest)
        return fail(ENAMETOOLONG);
    strcpy(w.rest, path);
    if (start(&w) < 0)
        return -1;
    while (rc == 0 && (rc = next_name(&w, &last)) == 0) {
        p->st = (struct stat){ 0 };
        fd = openat(p->folder, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return errno == ENOENT && last ? 0 : -1;
        rc = fstat(fd, &p->st) < 0 ? -1 : step(&w, fd, last);
        close_quietly(fd);
    }
    return rc < 0 ? -1 : 0;
}

void place_close(struct place *p)
{
    if (p->folder >= 0)
        close_quietly(p->folder);
    p->folder = -1;
}

bool place_is_replaced(const struct place *p)
{
    return !p->by_kernel && (!p->st.st_mode || S_ISREG(p->st.st_mode));
}

int place_open(const struct place *p, int flags)
{
    struct stat now;
    int fd = openat(p->folder, p->name,
                    flags | O_CLOEXEC | O_NOCTTY | (p->by_kernel ? 0 : O_NOFOLLOW));

    if (fd < 0)
        return -1;
    if (fstat(fd, &now) == 0 && now.st_dev == p->st.st_dev && now.st_ino == p->st.st_ino)
        return fd;
    close(fd); /* exchanged since place_find */
    return fail(EACCES);
}
