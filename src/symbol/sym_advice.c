/* sym_advice.c - advice on how to get better names, for reports.
 *
 * Debian names a debug package after the package that owns the file.  Searching all file lists
 * would take longer than a short recording, so only the lists of packages whose name starts like
 * that of the file are read.  This finds nearly every library.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "symbol/sym_debuginfod.h"
#include "symbol/sym_jitmap.h"
#include "symbol/symbolizer.h"

#define LISTS "/var/lib/dpkg/info"
enum { LISTS_MAX = 64, STEM_MIN = 4 };

/* Whether a file list has PATH as a line, as it is or as before the /usr merge. */
static bool list_has(const char *list, const char *path)
{
    struct map m = { 0 };
    char line[PATH_MAX + 2];
    bool found = false;

    if (map_open(&m, list, NULL) < 0)
        return false;
    for (int merged = 0; !found && merged < 2; merged++) {
        const char *p = path + (merged && strncmp(path, "/usr/", 5) == 0 ? 4 : 0);
        int n = snprintf(line, sizeof line, "\n%s\n", p);

        found = n < (int)sizeof line && m.size && memmem(m.data, m.size, line, (size_t)n);
    }
    map_close(&m);
    return found;
}

/* The prefix of the file name that its package is likely to share: "libLLVM" of libLLVM-14.so.1. */
static size_t stem_of(const char *base)
{
    size_t n = strcspn(base, "-._+");

    return n < STEM_MIN ? strlen(base) : n;
}

/* "libllvm14" of "libllvm14:amd64.list"; false when ENTRY is not a file list. */
static bool package_of(const char *entry, char *package, size_t cap)
{
    size_t n = strlen(entry), name = strcspn(entry, ":");

    if (n < 6 || strcmp(entry + n - 5, ".list") != 0)
        return false;
    if (name > n - 5)
        name = n - 5;
    return snprintf(package, cap, "%.*s", (int)name, entry) < (int)cap;
}

static bool find_package(const struct sym_module *m, char *package, size_t cap)
{
    DIR *d = opendir(LISTS);
    size_t stem = stem_of(m->base);
    bool found = false;
    int lists = 0;

    for (struct dirent *it; d && !found && lists < LISTS_MAX && (it = readdir(d));) {
        char list[PATH_MAX];

        if (strncasecmp(it->d_name, m->base, stem) != 0 || !package_of(it->d_name, package, cap))
            continue;
        lists++;
        snprintf(list, sizeof list, LISTS "/%s", it->d_name);
        found = list_has(list, m->req.path);
    }
    if (d)
        closedir(d);
    return found;
}

static bool is_installed(const char *path)
{
    return strncmp(path, "/usr/", 5) == 0 ? strncmp(path, "/usr/local/", 11) != 0
                                          : strncmp(path, "/lib", 4) == 0 ||
                                                strncmp(path, "/bin/", 5) == 0 ||
                                                strncmp(path, "/sbin/", 6) == 0;
}

/* The suffix of PATH that matches Debian's lists with and without the /usr merge; NULL when there
 * are no lists. */
static const char *path_for_dpkg(const char *path)
{
    const char *end = strrchr(path, '/');

    while (end > path && end[-1] != '/')
        end--;
    return access(LISTS, X_OK) == 0 ? end : NULL;
}

/* Advice that depends on what debuginfod did; false without debuginfod. */
static bool advise_debuginfod(struct sym_module *m)
{
    static const char *const says[] = {
        [SYM_DEBUGINFOD_WANTED] = "libdebuginfod is fetching it in the background; once it has "
                                  "arrived, new recordings have its names",
        [SYM_DEBUGINFOD_ABSENT] = "no server in DEBUGINFOD_URLS has it",
        [SYM_DEBUGINFOD_CACHED] = "the file from debuginfod does not match it or is damaged",
    };
    enum sym_debuginfod state = sym_debuginfod_state(m->file->build_id, m->file->build_id_size);

    if (m->file->build_id_size < 2 || !says[state])
        return false;
    snprintf(m->advice, sizeof m->advice, "%s", says[state]);
    return true;
}

static void advise_file(struct sym_module *m)
{
    const char *dpkg = path_for_dpkg(m->req.path);
    char *out = m->advice, package[160];
    size_t cap = sizeof m->advice;
    const char *urls = "DEBUGINFOD_URLS=https://debuginfod.elfutils.org";

    if (advise_debuginfod(m))
        return;
    if (!is_installed(m->req.path))
        snprintf(out, cap, "build it with -g and do not strip it");
    else if (*m->req.root) /* our lists do not describe the files of a container */
        snprintf(out, cap, "install the debug symbols of its package in its container, or set %s",
                 urls);
    else if (find_package(m, package, sizeof package))
        snprintf(out, cap, "install %s%s, or set DEBUGINFOD_URLS=https://debuginfod.debian.net",
                 package, strcmp(package, "libc6") == 0 ? "-dbg" : "-dbgsym");
    else
        snprintf(out, cap, "install the debug symbols of its package%s%s%s, or set %s",
                 dpkg ? " (dpkg -S " : "", dpkg ? dpkg : "", dpkg ? " names it)" : "", urls);
}

static void advise(struct sym_module *m)
{
    enum sym_source source = sym_module_source(m);

    if (sym_jitmap_is_jit(m)) {
        if (source == SYM_NONE && m->ignored)
            snprintf(m->advice, sizeof m->advice, "%s", m->problem);
        else if (source == SYM_NONE)
            snprintf(m->advice, sizeof m->advice,
                     "enable its perf map: node --perf-basic-prof, "
                     "java -XX:+DumpPerfMapAtExit, python -X perf, DOTNET_PerfMapEnabled=1");
    } else if (!sym_module_is_file(m)) {
        if (source == SYM_NONE && *m->problem)
            snprintf(m->advice, sizeof m->advice,
                     "record as root, or set kernel.kptr_restrict=0 with sysctl");
    } else if (source < SYM_SYMTAB && sym_module_file(m) && m->req.path[0] == '/') {
        advise_file(m);
    }
}

const char *sym_module_advice(struct sym_module *m)
{
    if (!m->advised)
        advise(m);
    m->advised = true;
    return m->advice;
}
