/* col_zones.c - see col_zones.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_zones.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"

void col_zones_open(struct col_zones *z)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(z->folder, sizeof z->folder, "%s/fathom-zones-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(z->folder))
        z->folder[0] = 0; /* record everything except zones */
    else
        setenv("FATHOM_RECORD_DIR", z->folder, 1);
}

void col_zones_hide(struct col_zones *z)
{
    if (z->folder[0])
        unsetenv("FATHOM_RECORD_DIR");
}

static void take_file(struct col_zones *z, const char *path)
{
    struct map m = { 0 };
    struct err ignored = { 0 };

    if (map_open(&m, path, &ignored) == 0)
        region_import(&z->into, m.data, m.size, &ignored);
    map_close(&m);
}

static void take(void *with, uint64_t stop_ns)
{
    struct col_zones *z = with;
    DIR *d = z->folder[0] ? opendir(z->folder) : NULL;
    char path[600];

    for (struct dirent *it; d && (it = readdir(d));) {
        struct stat st;

        snprintf(path, sizeof path, "%s/%s", z->folder, it->d_name);
        if (it->d_name[0] != '.' && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
            take_file(z, path);
    }
    if (d)
        closedir(d);
}

static void quality(void *with, struct sink *out)
{
    const struct col_zones *z = with;

    if (z->into.regions)
        sink_meta_u64(out, "quality.dropped", z->into.dropped);
}

static void release(void *with)
{
    struct col_zones *z = with;
    DIR *d = z->folder[0] ? opendir(z->folder) : NULL;
    char path[600];

    for (struct dirent *it; d && (it = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", z->folder, it->d_name);
        if (it->d_name[0] != '.')
            unlink(path);
    }
    if (d)
        closedir(d);
    if (z->folder[0])
        rmdir(z->folder);
    z->folder[0] = 0;
}

struct col_source col_zones_source(struct col_zones *z)
{
    return (struct col_source){ .with = z, .finish = take, .quality = quality,
                                .release = release, .in_target = true };
}
