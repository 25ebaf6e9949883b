/* cache.c - see cache.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"

/* The tables of all libraries of a desktop take 100 MB; the symbols of a few kernels 10 MB. */
enum { FOLDER_MAX = 256 << 20 };

struct kept {
    int64_t used; /* seconds */
    uint64_t size;
    char *name;
};

void cache_dir(char *path, size_t cap, const char *name)
{
    const char *own = getenv("FATHOM_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME"), *slash = *name ? "/" : "";
    int n = -1;

    path[0] = 0;
    if (own && *own)
        n = snprintf(path, cap, "%s%s%s", own, slash, name);
    else if (xdg && *xdg)
        n = snprintf(path, cap, "%s/fathom%s%s", xdg, slash, name);
    else if (home && *home)
        n = snprintf(path, cap, "%s/.cache/fathom%s%s", home, slash, name);
    if (n < 0 || (size_t)n >= cap)
        path[0] = 0;
}

static int by_use(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;

    return x->used < y->used ? -1 : x->used > y->used;
}

size_t cache_trim(const char *folder, uint64_t most)
{
    DIR *d = opendir(folder);
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

void cache_store(const char *path, const void *data, size_t n)
{
    const char *slash = strrchr(path, '/');
    char *folder;

    if (!slash || map_write_file(path, data, n, NULL) < 0)
        return;
    folder = mem_strndup(path, (size_t)(slash - path));
    cache_trim(folder, FOLDER_MAX);
    free(folder);
}
