/* sym_dwarf_path.c - see sym_dwarf_path.h.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_dwarf_path.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096 };

void sym_dwarf_paths_release(struct sym_dwarf_paths *p)
{
    umap_release(&p->seen);
    vec_release(&p->path);
}

/* Start of the last component of PATH before TO. */
static char *last_part(char *path, char *to)
{
    char *s = to;

    while (s > path && s[-1] != '/')
        s--;
    return s;
}

void sym_dwarf_path_clean(char *path)
{
    char *from = path, *floor = path, *to;

    if (*from == '/')
        floor = ++from;
    to = floor;
    while (*from) {
        size_t n = strcspn(from, "/");
        bool more = from[n] == '/';
        char *part = to > floor ? last_part(floor, to - 1) : to;

        if (n == 0 || (n == 1 && from[0] == '.')) {
            ;
        } else if (n == 2 && memcmp(from, "..", 2) == 0 && to > floor &&
                   memcmp(part, "../", 3) != 0) {
            to = part;
        } else {
            memmove(to, from, n);
            to += n;
            if (more)
                *to++ = '/';
        }
        from += n + more;
    }
    *to = 0;
}

static const char *absolute(struct arena *a, Dwarf_Die *cu, const char *file)
{
    Dwarf_Attribute at;
    const char *folder = dwarf_formstring(dwarf_attr(cu, DW_AT_comp_dir, &at));
    size_t n = strlen(file), m = folder ? strlen(folder) : 0;
    char *path;

    if (file[0] == '/' || m == 0 || folder[0] != '/')
        folder = "", m = 0;
    if (n + m > LONGEST)
        return file;
    path = arena_alloc(a, n + m + 2);
    memcpy(path, folder, m);
    if (m)
        path[m++] = '/';
    memcpy(path + m, file, n + 1);
    if (path[0] == '/')
        sym_dwarf_path_clean(path);
    return path;
}

const char *sym_dwarf_path(struct sym_dwarf_paths *p, struct arena *a, Dwarf_Die *cu,
                           const char *file)
{
    uint32_t id;

    if (!file)
        return NULL;
    id = umap_find(&p->seen, (uintptr_t)file);
    if (!id) {
        vec_push(&p->path, absolute(a, cu, file));
        umap_put(&p->seen, (uintptr_t)file, id = (uint32_t)p->path.n);
    }
    return p->path.v[id - 1];
}
