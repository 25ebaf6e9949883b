/* col_proc.c - see col_proc.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/map.h"

int col_proc_cpus(const char *text, struct col_cpus *cpus)
{
    while (*text && *text != '\n') {
        char *end;
        long low = strtol(text, &end, 10), high = low;

        if (end != text && *end == '-') {
            text = end + 1;
            high = strtol(text, &end, 10);
        }
        if (end == text)
            return -1;
        if (low < 0 || high < low || high > 1 << 16 || (*end && *end != ',' && *end != '\n'))
            return -1;
        for (; low <= high; low++)
            vec_push(cpus, (int)low);
        text = end + (*end == ',');
    }
    return cpus->n ? 0 : -1;
}

long col_proc_comm(int64_t pid, int64_t tid, char *name, size_t cap)
{
    char path[96];

    snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%" PRId64 "/comm", pid, tid);
    return map_read_text(path, name, cap);
}

long col_proc_command(int64_t pid, char *text, size_t cap)
{
    char path[64];
    long n;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/cmdline", pid);
    n = map_read_text(path, text, cap);
    while (n > 0 && !text[n - 1])
        n--;
    for (long i = 0; i < n; i++)
        if ((unsigned char)text[i] < ' ')
            text[i] = ' ';
    return n;
}

/* The fields of stat from the third on, or NULL.  The name in field 2 may contain anything, so
 * search after its last ')'. */
static const char *after_name(const char *stat)
{
    const char *end = strrchr(stat, ')');

    return end && end[1] == ' ' ? end + 2 : NULL;
}

int64_t col_proc_parent(int64_t pid)
{
    char path[64], text[512];
    const char *state;
    int64_t parent = 0;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    if (map_read_text(path, text, sizeof text) < 0)
        return 0;
    state = after_name(text);
    if (!state || sscanf(state, "%*c %" SCNd64, &parent) != 1)
        return 0;
    return parent;
}

int64_t col_proc_of_thread(int64_t tid)
{
    char path[64], text[4096], *p;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/status", tid);
    if (map_read_text(path, text, sizeof text) < 0 || !(p = strstr(text, "\nTgid:")))
        return 0;
    return strtol(p + 6, NULL, 10);
}

int col_proc_open_stat(int64_t tid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", tid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool col_proc_stat_ended(int stat)
{
    char text[512];
    const char *state;
    ssize_t n = pread(stat, text, sizeof text - 1, 0);

    if (n <= 0)
        return true;
    text[n] = 0;
    state = after_name(text);
    return state && (*state == 'Z' || *state == 'X'); /* the first thread waits for the others */
}

bool col_proc_maps_line(char *line, struct perf_mapping *w)
{
    char prot[8];
    unsigned maj, min;
    int at = 0;

    *w = (struct perf_mapping){ .root_fd = -1 };
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &w->start,
               &w->end, prot, &w->file_offset, &maj, &min, &w->inode, &at) < 7 || !at)
        return false;
    line[strcspn(line, "\n")] = 0;
    if (prot[2] != 'x' || w->end <= w->start)
        return false;
    w->device = w->inode ? makedev(maj, min) : 0;
    w->path = line[at] ? line + at : "//anon";
    return strcmp(w->path, "[vsyscall]") != 0;
}

void col_proc_maps(int64_t pid, void (*each)(void *context, struct perf_mapping *w), void *context)
{
    char path[64], *line = NULL;
    size_t cap = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/maps", pid);
    f = fopen(path, "re");
    while (f && getline(&line, &cap, f) > 0) {
        struct perf_mapping w;

        if (col_proc_maps_line(line, &w))
            each(context, &w);
    }
    free(line);
    if (f)
        fclose(f);
}

int64_t col_proc_inner_pid(int64_t pid)
{
    char path[64], text[4096], *p, *end;
    int64_t inner = pid;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
    if (map_read_text(path, text, sizeof text) < 0 || !(p = strstr(text, "\nNSpid:")))
        return pid;
    for (p += 7;; p = end) {
        long x = strtol(p, &end, 10);

        if (end == p || x <= 0)
            return inner;
        inner = x;
        if (*end == '\n' || !*end)
            return inner;
    }
}

void col_proc_root(int64_t pid, uint64_t *mount_ns, int *root_fd)
{
    struct stat mine, theirs, my_root, their_root;
    char path[64];
    uint64_t key;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/ns/mnt", pid);
    if (stat(path, &theirs) < 0 || stat("/proc/self/ns/mnt", &mine) < 0)
        return;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/root", pid);
    if (stat(path, &their_root) < 0 || stat("/", &my_root) < 0)
        return;
    key = hash_pair(theirs.st_ino, their_root.st_ino) | 1;
    if (key == *mount_ns)
        return;
    *mount_ns = key;
    if (mine.st_ino == theirs.st_ino && my_root.st_ino == their_root.st_ino &&
        my_root.st_dev == their_root.st_dev) {
        *root_fd = -1;
        return;
    }
    *root_fd = open(path, O_PATH | O_CLOEXEC | O_DIRECTORY);
}

size_t col_proc_threads(int64_t pid, struct col_tids *tids)
{
    char path[64];
    DIR *d;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/task", pid);
    d = opendir(path);
    for (struct dirent *it; d && (it = readdir(d));)
        if (it->d_name[0] != '.')
            vec_push(tids, (int)strtol(it->d_name, NULL, 10));
    if (d)
        closedir(d);
    return tids->n;
}

struct family {
    int pid, parent;
    bool in; /* it is a descendant */
};
struct families {
    struct family *v;
    size_t n, cap;
};

void col_proc_all(struct col_tids *pids)
{
    DIR *d = opendir("/proc");

    for (struct dirent *it; d && (it = readdir(d));) {
        int pid = (int)strtol(it->d_name, NULL, 10);

        if (pid > 0)
            vec_push(pids, pid);
    }
    if (d)
        closedir(d);
}

static void read_families(struct families *all)
{
    struct col_tids pids = { 0 };

    col_proc_all(&pids);
    for (size_t i = 0; i < pids.n; i++) {
        int64_t parent = col_proc_parent(pids.v[i]);

        if (parent > 0)
            vec_push(all, ((struct family){ pids.v[i], (int)parent, false }));
    }
    vec_release(&pids);
}

void col_proc_descendants(int64_t pid, struct col_tids *below)
{
    struct families all = { 0 };
    struct umap in = { 0 };
    bool more = true;

    read_families(&all);
    umap_put(&in, (uint64_t)pid, 1);
    while (more) {
        more = false;
        for (size_t i = 0; i < all.n; i++) {
            struct family *f = &all.v[i];

            if (f->in || !umap_find(&in, (uint64_t)f->parent))
                continue;
            f->in = more = true;
            umap_put(&in, (uint64_t)f->pid, 1);
            vec_push(below, f->pid);
        }
    }
    umap_release(&in);
    vec_release(&all);
}

bool col_proc_wait_text(char *text, struct col_proc_wait *w)
{
    char *p, *end;

    w->call = strtol(text, &end, 10);
    if (end == text)
        return false;
    p = strrchr(text, ' ');
    if (!p)
        return false;
    w->pc = strtoull(p + 1, NULL, 16);
    *p = 0;
    p = strrchr(text, ' ');
    w->sp = p ? strtoull(p + 1, NULL, 16) : 0;
    return w->sp != 0;
}

bool col_proc_wait(int64_t pid, int64_t tid, struct col_proc_wait *w)
{
    char path[96], text[256];

    snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%" PRId64 "/syscall", pid, tid);
    return map_read_text(path, text, sizeof text) > 0 && col_proc_wait_text(text, w);
}
