/* perfdata_host.c - find the files and the kernel of a perf.data on this machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/elf_file.h"
#include "base/named.h"
#include "formats/perfdata.h"

static int open_checked(const char *path, const uint8_t *build_id, size_t size)
{
    int fd = named_open("", path, NULL, 0, NULL);
    struct elf_file elf;

    if (fd < 0)
        return -1;
    if (elf_file_read(&elf, fd) &&
        (!size || (elf.build_id_size >= size && memcmp(elf.build_id, build_id, size) == 0)))
        return fd;
    close(fd);
    return -1;
}

static int find(const char *path, const uint8_t *build_id, size_t size)
{
    const char *home = getenv("HOME"), *cache = getenv("PERF_BUILDID_DIR");
    char hex[41], at[PATH_MAX];
    int fd = path[0] == '/' ? open_checked(path, build_id, size) : -1;

    if (fd >= 0 || !size)
        return fd;
    for (size_t i = 0; i < size; i++)
        snprintf(hex + 2 * i, 3, "%02x", build_id[i]);
    snprintf(at, sizeof at, "%s%s/.build-id/%.2s/%s/elf", cache ? cache : home ? home : "",
             cache ? "" : "/.debug", hex, hex + 2);
    fd = open_checked(at, build_id, size);
    if (fd >= 0)
        return fd;
    snprintf(at, sizeof at, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
    return open_checked(at, build_id, size);
}

const struct perf_host perfdata_host = { .find = find, .is_past = true };

/* --- the kernel --- */

static bool is_this_kernel(const struct perf_file *f)
{
    struct utsname u;

    if (f->engine->modules.host->no_files)
        return false;
    return !*f->release || (uname(&u) == 0 && strcmp(u.release, f->release) == 0);
}

void perfdata_host_kernel(const struct perf_file *f)
{
    struct perf_stacks *s = &f->engine->stacks;

    if (!is_this_kernel(f)) /* its names are not available here */
        snprintf(s->kernel_path, sizeof s->kernel_path, "[kernel %.100s]", f->release);
}

/* perf records the address of the first of these that exists. */
static const char *const references[] = { "_text", "_stext" };

static void read_kernel(struct perf_file *f)
{
    char line[512], symbol[256], kind;
    unsigned long long address;
    FILE *list = fopen("/proc/kallsyms", "re");
    size_t found = 0;

    while (list && found < ARRAY_LEN(references) && fgets(line, sizeof line, list)) {
        if (sscanf(line, "%llx %c %255s", &address, &kind, symbol) != 3)
            continue;
        for (size_t i = 0; i < ARRAY_LEN(references); i++)
            if (strcmp(symbol, references[i]) == 0) {
                f->kernel_now[i] = address;
                found++;
            }
    }
    if (list)
        fclose(list);
}

/* The kernel's load address changes with each boot; perf records the address of one symbol. */
void perfdata_host_map_kernel(struct perf_file *f, const struct perf_record *r)
{
    static const char prefix[] = "[kernel.kallsyms]";
    const char *symbol = r->text + sizeof prefix - 1;

    if (strncmp(r->text, prefix, sizeof prefix - 1) != 0 || !*symbol || !is_this_kernel(f))
        return;
    if (!f->has_kernel)
        read_kernel(f);
    f->has_kernel = true;
    for (size_t i = 0; i < ARRAY_LEN(references); i++)
        if (strcmp(symbol, references[i]) == 0 && f->kernel_now[i] && r->file_offset)
            f->engine->stacks.kernel_shift = f->kernel_now[i] - r->file_offset;
}
