/* named.c - see named.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/named.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"

enum { GROUPS_MAX = 4096, NOBODY = 65534 };

const struct named_user named_nobody = { .uid = NOBODY, .gid = NOBODY };

/* --- who ---------------------------------------------------------------------------------- */

static const uint64_t cap_reads = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;

static bool read_ids(const char *text, const char *key, uint32_t *id)
{
    const char *p = strstr(text, key);

    return p && sscanf(p + strlen(key), "%" SCNu32, id) == 1;
}

/* Too many groups to read, which no system has, are none: the user may then read less. */
static void read_groups(const char *text, struct named_user *u)
{
    static const char key[] = "\nGroups:";
    const char *p = strstr(text, key);
    char *end;

    if (!p || !strchr(p + 1, '\n'))
        return;
    u->group = mem_alloc(GROUPS_MAX * sizeof *u->group);
    for (p += sizeof key - 1; u->n_groups < GROUPS_MAX; p = end) {
        while (*p == ' ' || *p == '\t')
            p++;
        if (*p < '0' || *p > '9')
            return;
        u->group[u->n_groups++] = (uint32_t)strtoul(p, &end, 10);
    }
}

static bool may_read_all(const char *text)
{
    static const char key[] = "\nCapPrm:";
    const char *p = strstr(text, key);

    return p && strtoull(p + sizeof key - 1, NULL, 16) & cap_reads;
}

bool named_user_read(int64_t pid, struct named_user *u)
{
    enum { TEXT = 64 << 10 };
    char path[64], *text = mem_alloc(TEXT);
    bool found;

    *u = (struct named_user){ 0 };
    snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
    found = map_read_text(path, text, TEXT) > 0 && read_ids(text, "\nUid:", &u->uid) &&
            read_ids(text, "\nGid:", &u->gid);
    if (found) {
        u->is_limited = u->uid == 0 && !may_read_all(text);
        read_groups(text, u);
    }
    free(text);
    return found;
}

void named_user_release(struct named_user *u)
{
    free(u->group);
    *u = (struct named_user){ 0 };
}

bool named_user_same(const struct named_user *a, const struct named_user *b)
{
    return a->uid == b->uid && a->gid == b->gid && a->is_limited == b->is_limited &&
           a->n_groups == b->n_groups &&
           (!a->n_groups || memcmp(a->group, b->group, a->n_groups * sizeof *a->group) == 0);
}

static bool reads_all(const struct named_user *u)
{
    return u->uid == 0 && !u->is_limited;
}

const struct named_user *named_user_weaker(const struct named_user *a, const struct named_user *b)
{
    if (!a || !b || a == b)
        return a ? a : b;
    if (reads_all(a) || reads_all(b))
        return reads_all(a) ? b : a;
    return named_user_same(a, b) ? a : &named_nobody;
}

/* --- as whom ------------------------------------------------------------------------------ */

/* The C library would change the groups and capabilities of all threads. */
typedef struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

static bool get_caps(caps c)
{
    struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };

    return syscall(SYS_capget, &h, c) == 0;
}

static bool set_caps(caps c)
{
    struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };

    return syscall(SYS_capset, &h, c) == 0;
}

struct self { /* what to return to */
    uint32_t *group;
    int n_groups;
    uid_t uid;
    gid_t gid;
    caps had;
    bool changed_ids, changed_caps;
};

static void leave(struct self *s)
{
    bool done = !s->changed_caps || set_caps(s->had);

    if (s->changed_ids) {
        setfsuid(s->uid); /* also returns the capabilities that root has for files */
        setfsgid(s->gid);
        done &= syscall(SYS_setgroups, (size_t)s->n_groups, s->group) == 0 &&
                (uid_t)setfsuid((uid_t)-1) == s->uid && (gid_t)setfsgid((gid_t)-1) == s->gid;
    }
    free(s->group);
    if (!done)
        abort(); /* everything from here on would run as somebody else */
}

static bool change_ids(struct self *s, const struct named_user *u)
{
    s->uid = (uid_t)setfsuid((uid_t)-1);
    s->gid = (gid_t)setfsgid((gid_t)-1);
    s->n_groups = getgroups(0, NULL);
    if (s->n_groups < 0)
        return false;
    s->group = mem_alloc(((size_t)s->n_groups + 1) * sizeof *s->group);
    s->n_groups = getgroups(s->n_groups, s->group);
    if (s->n_groups < 0 || syscall(SYS_setgroups, u->n_groups, u->group) < 0)
        return false;
    s->changed_ids = true;
    setfsgid(u->gid);
    setfsuid(u->uid);
    return (uid_t)setfsuid((uid_t)-1) == u->uid && (gid_t)setfsgid((gid_t)-1) == u->gid;
}

/* Take the identity of U for opening files; the caller then calls leave, also after a failure. */
static bool enter(struct self *s, const struct named_user *u)
{
    caps now;

    *s = (struct self){ .n_groups = 0 };
    if (!u || (reads_all(u) && geteuid() == 0))
        return true;
    if (u->uid != geteuid() && (geteuid() != 0 || !change_ids(s, u)))
        return false;
    if (!get_caps(s->had))
        return false;
    /* Some file systems ask for others, such as CAP_SYS_ADMIN. */
    memcpy(now, s->had, sizeof now);
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        now[i].effective = 0;
    s->changed_caps = true;
    return set_caps(now);
}

/* --- what --------------------------------------------------------------------------------- */

bool named_is_ours(const struct stat *st)
{
    return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & S_IWOTH) &&
           (!(st->st_mode & S_IWGRP) || st->st_gid == 0 || st->st_gid == getegid());
}

static int check_owner(const struct stat *st, const struct named_user *u, struct err *e)
{
    if (st->st_uid != 0 && st->st_uid != geteuid() && (!u || st->st_uid != u->uid))
        return err_set(e, ERR_REFUSED, "it belongs to user %u", (unsigned)st->st_uid);
    if (st->st_mode & S_IWOTH)
        return err_set(e, ERR_REFUSED, "every user can write to it");
    return 0;
}

static int check(int fd, const struct named_user *u, unsigned how, struct err *e)
{
    struct statfs fs;
    struct stat st;

    if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
        return err_sys(e, "cannot stat it");
    if (S_ISLNK(st.st_mode))
        return err_set(e, ERR_REFUSED, "it is a symbolic link");
    /* Files of /proc describe the process that reads them, or wait for events. */
    if (!S_ISREG(st.st_mode) || fs.f_type == PROC_SUPER_MAGIC)
        return err_set(e, ERR_REFUSED, "it is not a regular file");
    return how & NAMED_OWNED ? check_owner(&st, u, e) : 0;
}

/* A descriptor for the place only, without reading the file: O_PATH. */
static int find(int root, const char *path, unsigned how)
{
    struct open_how o = { .flags = O_PATH | O_CLOEXEC };
    int fd;

    if (how & NAMED_NO_LINK)
        o.flags |= O_NOFOLLOW;
    if (how & NAMED_PROC_LINK)
        return open(path, (int)o.flags);
    o.resolve = RESOLVE_NO_MAGICLINKS | (root >= 0 ? RESOLVE_IN_ROOT : 0);
    fd = (int)syscall(SYS_openat2, root >= 0 ? root : AT_FDCWD, path, &o, sizeof o);
    /* Without openat2 (Linux before 5.6, a sandbox) a link could lead out of another root. */
    if (fd < 0 && (errno == ENOSYS || errno == EPERM) && root < 0)
        fd = open(path, (int)o.flags);
    return fd;
}

static int open_found(int root, const char *path, const struct named_user *u, unsigned how,
                      struct err *e)
{
    char link[40];
    int at = find(root, path, how), fd;

    if (at < 0)
        return err_sys(e, "cannot be opened");
    if (check(at, u, how, e) < 0) {
        close(at);
        return -1;
    }
    /* O_NONBLOCK: a lease of its owner must not delay us. */
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        err_sys(e, "cannot be opened");
    close(at);
    return fd;
}

int named_open(const char *root, const char *path, const struct named_user *user, unsigned how,
               struct err *e)
{
    int in = -1, fd = -1;
    struct self self;

    if (root && *root) {
        in = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (in < 0)
            return err_sys(e, "its root directory cannot be opened");
    }
    if (enter(&self, user))
        fd = open_found(in, path, user, how, e);
    else
        err_set(e, ERR_REFUSED, "only root can open it for user %u", (unsigned)user->uid);
    leave(&self);
    if (in >= 0)
        close(in);
    return fd;
}
