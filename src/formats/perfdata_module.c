/* perfdata_module.c - the files a perf.data names, found on this machine: by path when the
 * build id agrees, else in perf's own cache and among the separate debug files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/perfdata.h"

static int open_checked(const char *path, const struct module *what, struct elf_file *elf)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return -1;
    if (elf_file_read(elf, fd) &&
        (!what->build_id_size || (elf->build_id_size >= what->build_id_size &&
                                  memcmp(elf->build_id, what->build_id,
                                         what->build_id_size) == 0)))
        return fd;
    close(fd);
    return -1;
}

static int find_file(const struct module *what, const char *path, struct elf_file *elf)
{
    const char *home = getenv("HOME"), *cache = getenv("PERF_BUILDID_DIR");
    char hex[41], at[PATH_MAX];
    int fd = path[0] == '/' ? open_checked(path, what, elf) : -1;

    if (fd >= 0 || !what->build_id_size)
        return fd;
    for (size_t i = 0; i < what->build_id_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", what->build_id[i]);
    snprintf(at, sizeof at, "%s%s/.build-id/%.2s/%s/elf", cache ? cache : home ? home : "",
             cache ? "" : "/.debug", hex, hex + 2);
    fd = open_checked(at, what, elf);
    if (fd >= 0)
        return fd;
    snprintf(at, sizeof at, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
    return open_checked(at, what, elf);
}

void perfdata_module_open(struct perf_module *m, const struct module *what, const char *path,
                          bool tables)
{
    struct err e = { 0 };
    int fd;

    memset(m, 0, sizeof *m);
    m->opened = true;
    if (what->kind == MODULE_VDSO && tables)
        m->table = cfi_table_vdso(); /* ours, when the recording is of this machine */
    if (what->kind != MODULE_FILE)
        return;
    fd = find_file(what, path, &m->elf);
    if (fd < 0)
        return;
    m->found = true;
    if (tables)
        m->table = cfi_table_open(fd, what->build_id, what->build_id_size, &e);
    close(fd);
}

void perfdata_module_close(struct perf_module *m)
{
    cfi_table_free(m->table);
}

uint64_t perfdata_module_bias(const struct perf_module *m, uint64_t start, uint64_t offset)
{
    return start - (m->found ? elf_file_address(&m->elf, offset) : offset);
}
