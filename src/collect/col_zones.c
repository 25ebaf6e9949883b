/* col_zones.c - see col_zones.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_zones.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/named.h"

/* Those with a folder, if the process must end without release: no memory is left. */
static struct col_zones *open_zones;

static void remove_folder(struct col_zones *z)
{
    col_guard_close(&z->guard);
    open_zones = NULL;
}

static void remove_at_exit(void)
{
    if (open_zones)
        remove_folder(open_zones);
}

void col_zones_open(struct col_zones *z)
{
    static bool registered;

    col_guard_open(&z->guard, "fathom-zones-");
    if (!z->guard.folder[0])
        return; /* record everything except zones */
    open_zones = z;
    if (!registered)
        registered = atexit(remove_at_exit) == 0;
    setenv("FATHOM_RECORD_DIR", z->guard.folder, 1);
}

void col_zones_hide(struct col_zones *z)
{
    if (!z->guard.folder[0])
        return;
    unsetenv("FATHOM_RECORD_DIR");
    col_guard_start(&z->guard);
}

/* The program may still run and change the file: read a copy. */
static void take_file(struct col_zones *z, const char *name)
{
    int fd = named_open(z->guard.folder, name, NULL, NAMED_OWNED | NAMED_NO_LINK, NULL);
    struct map m = { 0 };

    if (fd < 0)
        return;
    if (map_copy(&m, fd, UINT64_MAX, NULL) == 0)
        region_import(&z->into, m.data, m.size, NULL);
    map_close(&m);
    close(fd);
}

static void take(void *with, uint64_t stop_ns)
{
    struct col_zones *z = with;
    DIR *d = z->guard.folder[0] ? opendir(z->guard.folder) : NULL;

    (void)stop_ns;
    for (struct dirent *it; d && (it = readdir(d));)
        if (it->d_name[0] != '.')
            take_file(z, it->d_name);
    if (d)
        closedir(d);
    remove_folder(z); /* now: naming may take long, and the user may end it */
}

static void quality(void *with, struct sink *out)
{
    const struct col_zones *z = with;

    if (z->into.regions)
        sink_meta_u64(out, "quality.dropped", z->into.dropped);
}

static void release(void *with)
{
    remove_folder(with);
}

struct col_source col_zones_source(struct col_zones *z)
{
    return (struct col_source){ .with = z, .finish = take, .quality = quality,
                                .release = release, .in_target = true };
}
