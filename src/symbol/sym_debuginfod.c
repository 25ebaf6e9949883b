/* sym_debuginfod.c - see sym_debuginfod.h.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WANTED_MAX = 1024, ID_MAX = 64, LIFE_SECONDS = 900 };

struct client_api {
    void *(*begin)(void);
    int (*find)(void *client, const unsigned char *id, int n, char **path);
};

/* One list per process, because the environment variable that enables it is also per process. */
static struct list {
    struct wanted {
        uint8_t id[ID_MAX];
        size_t n;
    } wanted[WANTED_MAX];
    size_t n, started; /* wanted[started .. n) are not being fetched yet */
    int alive; /* pipe whose other end the fetching process holds; 0 none */
} list;

bool sym_debuginfod_enabled(void)
{
    const char *urls = getenv("DEBUGINFOD_URLS");

    return urls && *urls;
}

/* The directory, by the rules of debuginfod_find_debuginfo(3). */
static bool cache_path(char *path, size_t cap)
{
    const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    struct stat st;

    if (own && *own)
        return snprintf(path, cap, "%s", own) < (int)cap;
    if (!home)
        home = "/";
    snprintf(path, cap, "%s/.debuginfod_client_cache", home);
    if (stat(path, &st) == 0)
        return true;
    if (xdg && *xdg)
        return snprintf(path, cap, "%s/debuginfod_client", xdg) < (int)cap;
    return snprintf(path, cap, "%s/.cache/debuginfod_client", home) < (int)cap;
}

/* As for our own cache (base/cache.h): not one that belongs to another user, which HOME may name
 * under sudo.  The library creates it in the nearest directory above that exists. */
static bool cache_folder(char *path, size_t cap)
{
    char above[PATH_MAX];
    struct stat st;

    if (!cache_path(path, cap))
        return false;
    snprintf(above, sizeof above, "%s", path);
    while (stat(above, &st) < 0) {
        char *slash = strrchr(above, '/');

        if (!slash || slash == above || errno != ENOENT)
            return slash == above && geteuid() == 0;
        *slash = 0;
    }
    return st.st_uid == geteuid() || (strcmp(above, path) != 0 && st.st_uid == 0);
}

/* Whether PATH can hold the path of the file, in the cache or not yet. */
static bool path_of(char *path, size_t cap, const uint8_t *id, size_t n)
{
    size_t at;

    if (!sym_debuginfod_enabled() || n > ID_MAX || !cache_folder(path, cap - 2 * ID_MAX - 16))
        return false;
    at = strlen(path);
    path[at++] = '/';
    for (size_t i = 0; i < n; i++, at += 2)
        snprintf(path + at, 3, "%02x", id[i]);
    strcpy(path + at, "/debuginfo");
    return true;
}

enum sym_debuginfod sym_debuginfod_state(const uint8_t *id, size_t n)
{
    char path[PATH_MAX];
    struct stat st;

    if (!path_of(path, sizeof path, id, n))
        return SYM_DEBUGINFOD_OFF;
    if (lstat(path, &st) < 0)
        return SYM_DEBUGINFOD_WANTED;
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return SYM_DEBUGINFOD_OFF;
    return st.st_size > 0 ? SYM_DEBUGINFOD_CACHED : SYM_DEBUGINFOD_ABSENT;
}

const char *sym_debuginfod_cached(const uint8_t *id, size_t n)
{
    static char path[PATH_MAX];

    if (sym_debuginfod_state(id, n) != SYM_DEBUGINFOD_CACHED)
        return NULL;
    return path_of(path, sizeof path, id, n) ? path : NULL;
}

static bool load_library(struct client_api *api)
{
    void *lib = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!lib)
        return false;
    api->begin = (void *(*)(void))dlsym(lib, "debuginfod_begin");
    api->find = (int (*)(void *, const unsigned char *, int, char **))dlsym(
        lib, "debuginfod_find_debuginfo");
    return api->begin && api->find;
}

/* Close all descriptors inherited from the tool: an open pipe would keep its reader waiting. */
static void close_inherited(int keep)
{
    int null = open("/dev/null", O_RDWR);

    setsid();
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    dup2(keep, 3);
    close_range(4, ~0u, 0);
    if (nice(10) < 0)
        errno = 0;
    alarm(LIFE_SECONDS);
}

static void fetch_all(void)
{
    struct client_api api = { 0 };
    void *client = load_library(&api) ? api.begin() : NULL;

    for (size_t i = list.started; client && i < list.n; i++)
        api.find(client, list.wanted[i].id, (int)list.wanted[i].n, NULL);
}

/* Fork twice, so that the tool has no child to wait for. */
static void fetch_in_background(int keep)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (fork() == 0) {
            close_inherited(keep);
            fetch_all();
        }
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

void sym_debuginfod_want(const uint8_t *id, size_t n)
{
    if (!sym_debuginfod_enabled() || n > ID_MAX || list.n == WANTED_MAX)
        return;
    for (size_t i = 0; i < list.n; i++)
        if (list.wanted[i].n == n && memcmp(list.wanted[i].id, id, n) == 0)
            return;
    memcpy(list.wanted[list.n].id, id, n);
    list.wanted[list.n++].n = n;
}

void sym_debuginfod_start(void)
{
    char path[PATH_MAX];
    int ends[2];

    if (list.started == list.n || !cache_folder(path, sizeof path) || pipe2(ends, O_CLOEXEC) < 0)
        return;
    fetch_in_background(ends[1]);
    close(ends[1]);
    if (list.alive)
        close(ends[0]); /* wait for the earlier one; both fetch into the same cache */
    else
        list.alive = ends[0];
    list.started = list.n;
}

bool sym_debuginfod_wait(uint32_t ms)
{
    struct pollfd p = { list.alive, POLLIN, 0 };

    if (!list.alive)
        return true;
    if (poll(&p, 1, (int)ms) <= 0)
        return false;
    close(list.alive);
    list.alive = 0;
    return true;
}
