/* col_cgroup.c - see col_cgroup.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/map.h"
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

/* --- the cgroup of a process ------------------------------------------------------------ */

/* WORD is an item of the comma-separated LIST of N bytes. */
static bool has_word(const char *list, size_t n, const char *word)
{
    size_t length = strlen(word);

    while (n >= length) {
        size_t item = 0;

        while (item < n && list[item] != ',')
            item++;
        if (item == length && memcmp(list, word, length) == 0)
            return true;
        if (item == n)
            return false;
        list += item + 1;
        n -= item + 1;
    }
    return false;
}

/* Each line is ID:CONTROLLERS:PATH; version 2 has no controllers here and the id 0. */
bool col_cgroup_path(const char *text, const char *controller, char *path, size_t cap)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        const char *list = memchr(text, ':', n);
        const char *end = list ? memchr(list + 1, ':', n - (size_t)(list + 1 - text)) : NULL;

        if (end) {
            size_t words = (size_t)(end - list - 1), length = n - (size_t)(end + 1 - text);

            if ((controller ? has_word(list + 1, words, controller) : !words) && length < cap) {
                memcpy(path, end + 1, length);
                path[length] = 0;
                return *path == '/';
            }
        }
        text += n + (text[n] == '\n');
    }
    return false;
}

/* Copy a word of mountinfo, in which "\040" is a space.  Returns false if it does not fit. */
static bool copy_word(const char *from, size_t n, char *to, size_t cap)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned c = (unsigned char)from[i];

        if (c == '\\' && n - i > 3 && sscanf(from + i + 1, "%3o", &c) == 1)
            i += 3;
        if (at + 1 >= cap)
            return false;
        to[at++] = (char)c;
    }
    to[at] = 0;
    return true;
}

/* "36 35 98:0 ROOT POINT OPTIONS ... - TYPE SOURCE SUPER-OPTIONS". */
bool col_cgroup_mount(const char *line, const char *controller, struct col_cgroup_mount *m)
{
    const char *type = strstr(line, " - "), *word = line, *options;
    const char *wanted = controller ? "cgroup " : "cgroup2 ";

    if (!type || strncmp(type + 3, wanted, strlen(wanted)) != 0)
        return false;
    options = strchr(type + 3 + strlen(wanted), ' ');
    if (controller && (!options || !has_word(options + 1, strcspn(options + 1, " \n"), controller)))
        return false;
    for (int i = 0; i < 3; i++) {
        word += strcspn(word, " ");
        word += *word == ' ';
    }
    if (!copy_word(word, strcspn(word, " "), m->root, sizeof m->root))
        return false;
    word += strcspn(word, " ");
    word += *word == ' ';
    return copy_word(word, strcspn(word, " "), m->point, sizeof m->point) && m->root[0] == '/' &&
           m->point[0] == '/';
}

/* A path with ".." leads out of the namespace or the mount. */
static bool leads_up(const char *path)
{
    for (const char *at = path; (at = strstr(at, "/..")); at += 3)
        if (!at[3] || at[3] == '/')
            return true;
    return false;
}

bool col_cgroup_join(const struct col_cgroup_mount *m, const char *path, struct col_cgroup *c)
{
    size_t root = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);
    size_t top = strcmp(m->point, "/") == 0 ? 0 : strlen(m->point);
    const char *below = path + root;

    if (leads_up(m->root) || leads_up(path) || strncmp(path, m->root, root) != 0 ||
        (*below && *below != '/'))
        return false;
    if (strcmp(below, "/") == 0)
        below++;
    if (top + strlen(below) >= sizeof c->folder)
        return false;
    memcpy(c->folder, m->point, top);
    strcpy(c->folder + top, below);
    c->top = top;
    return true;
}

/* Our mounts of the hierarchy may show only parts of it: use the first that contains the cgroup. */
static bool find_folder(const char *controller, const char *path, struct col_cgroup *c,
                        bool join(const struct col_cgroup_mount *m, const char *path,
                                  struct col_cgroup *c))
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    struct col_cgroup_mount m;
    char *line = NULL;
    size_t cap = 0;
    bool found = false;

    while (f && !found && getline(&line, &cap, f) > 0)
        found = col_cgroup_mount(line, controller, &m) && join(&m, path, c);
    free(line);
    if (f)
        fclose(f);
    return found;
}

bool col_cgroup_of(int64_t pid, const char *controller, struct col_cgroup *c)
{
    char file[64], text[16384], path[sizeof c->folder];
    long n;

    *c = (struct col_cgroup){ 0 };
    snprintf(file, sizeof file, "/proc/%" PRId64 "/cgroup", pid);
    n = map_read_text(file, text, sizeof text);
    if (n < 0 || (size_t)n + 1 >= sizeof text) /* the last path may be cut */
        return false;
    if (controller && !col_cgroup_path(text, controller, path, sizeof path))
        controller = NULL;
    if (!controller && !col_cgroup_path(text, NULL, path, sizeof path))
        return false;
    c->v2 = !controller;
    return find_folder(controller, path, c, col_cgroup_join);
}

/* FOLDER is M or below it. */
static bool take_folder(const struct col_cgroup_mount *m, const char *folder, struct col_cgroup *c)
{
    size_t top = strlen(m->point);

    if (strncmp(folder, m->point, top) != 0 || (folder[top] && folder[top] != '/'))
        return false;
    strcpy(c->folder, folder);
    c->top = top;
    return true;
}

bool col_cgroup_of_fd(int fd, struct col_cgroup *c)
{
    char link[64], folder[sizeof c->folder];
    ssize_t n;

    *c = (struct col_cgroup){ .v2 = true };
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, folder, sizeof folder);
    if (n <= 0 || (size_t)n >= sizeof folder)
        return false;
    folder[n] = 0;
    return find_folder(NULL, folder, c, take_folder);
}

bool col_cgroup_up(struct col_cgroup *c)
{
    char *slash = strrchr(c->folder, '/');

    if (!slash || (size_t)(slash - c->folder) < c->top)
        return false;
    *slash = 0;
    return true;
}

long col_cgroup_read(const struct col_cgroup *c, const char *name, char *text, size_t cap)
{
    struct buf path = { 0 };
    long n;

    buf_printf(&path, "%s/%s", c->folder, name);
    n = map_read_text(buf_text(&path), text, cap);
    buf_release(&path);
    return n;
}
