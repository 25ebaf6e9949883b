/* sym_debuginfod.c - see sym_debuginfod.h.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

enum { ASKED_MAX = 1024, ID_MAX = 64 };

struct client_api {
    void *(*begin)(void);
    int (*find)(void *client, const unsigned char *id, int n, char **path);
    void (*end)(void *client);
};

/* One queue for the whole process: the thread outlives the modules that asked.  Never freed,
 * because the thread may still be in the library when the process ends. */
static struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct asked {
        uint8_t id[ID_MAX];
        size_t n;
    } asked[ASKED_MAX];
    size_t n, done; /* asked[done .. n) are under way */
    bool started;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

bool sym_debuginfod_enabled(void)
{
    const char *urls = getenv("DEBUGINFOD_URLS");

    return urls && *urls;
}

/* The folder rules of debuginfod_find_debuginfo(3). */
static bool cache_folder(char *path, size_t cap)
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

const char *sym_debuginfod_cached(const uint8_t *id, size_t n)
{
    static char path[PATH_MAX];
    struct stat st;
    size_t at;

    if (!sym_debuginfod_enabled() || n > ID_MAX ||
        !cache_folder(path, sizeof path - 2 * ID_MAX - 16))
        return NULL;
    at = strlen(path);
    path[at++] = '/';
    for (size_t i = 0; i < n; i++, at += 2)
        snprintf(path + at, 3, "%02x", id[i]);
    strcpy(path + at, "/debuginfo");
    /* An empty file remembers that no server had it. */
    return stat(path, &st) == 0 && st.st_size > 0 ? path : NULL;
}

static bool load_library(struct client_api *api)
{
    void *lib = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!lib)
        return false;
    api->begin = (void *(*)(void))dlsym(lib, "debuginfod_begin");
    api->find = (int (*)(void *, const unsigned char *, int, char **))dlsym(
        lib, "debuginfod_find_debuginfo");
    api->end = (void (*)(void *))dlsym(lib, "debuginfod_end");
    return api->begin && api->find && api->end;
}

static bool next_asked(struct asked *a)
{
    bool any;

    pthread_mutex_lock(&queue.lock);
    any = queue.done < queue.n;
    if (any)
        *a = queue.asked[queue.done];
    else
        queue.started = false;
    pthread_mutex_unlock(&queue.lock);
    return any;
}

static void one_done(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.done++;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

static void *fetch_all(void *unused)
{
    struct client_api api = { 0 };
    void *client = load_library(&api) ? api.begin() : NULL;
    struct asked a;

    while (next_asked(&a)) {
        char *path = NULL;
        int fd = client ? api.find(client, a.id, (int)a.n, &path) : -1;

        if (fd >= 0)
            close(fd);
        free(path);
        one_done();
    }
    if (client)
        api.end(client);
    return unused;
}

static void start_thread(void)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    queue.started = pthread_create(&thread, &attr, fetch_all, NULL) == 0;
    if (!queue.started)
        queue.done = queue.n;
    pthread_attr_destroy(&attr);
}

void sym_debuginfod_fetch(const uint8_t *id, size_t n)
{
    bool known = false;

    if (!sym_debuginfod_enabled() || n > ID_MAX)
        return;
    pthread_mutex_lock(&queue.lock);
    for (size_t i = 0; i < queue.n && !known; i++)
        known = queue.asked[i].n == n && memcmp(queue.asked[i].id, id, n) == 0;
    if (!known && queue.n < ASKED_MAX) {
        struct asked *a = &queue.asked[queue.n++];

        memcpy(a->id, id, n);
        a->n = n;
        if (!queue.started)
            start_thread();
    }
    pthread_mutex_unlock(&queue.lock);
}

size_t sym_debuginfod_wait(uint32_t ms)
{
    struct timespec until;
    size_t left;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&queue.lock);
    while (queue.done < queue.n &&
           pthread_cond_timedwait(&queue.changed, &queue.lock, &until) != ETIMEDOUT)
        ;
    left = queue.n - queue.done;
    pthread_mutex_unlock(&queue.lock);
    return left;
}
