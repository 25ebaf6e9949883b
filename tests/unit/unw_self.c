/* unw_self.c - see unw_self.h.  SPDX-License-Identifier: Apache-2.0 */
#include "unw_self.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void map_one(struct unw_space *s, const char *line)
{
    char perms[8] = "", path[4096] = "";
    unsigned long start, end, offset;
    struct unw_table *t = NULL;
    uint64_t bias;
    int fd;

    if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &end, perms, &offset, path) < 4 ||
        perms[2] != 'x')
        return;
    bias = start - offset;
    if (strcmp(path, "[vdso]") == 0) {
        t = unw_table_build((const void *)start, end - start, NULL);
        bias = start;
    } else if (path[0] == '/' && (fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
        t = unw_table_open(fd, NULL, 0, NULL);
        close(fd);
        if (t)
            unw_table_bias(t, start, offset, &bias);
    }
    unw_space_map(s, start, end, bias, t, 0);
}

struct unw_space *unw_self_space(void)
{
#ifdef __aarch64__
    struct unw_space *s = unw_space_new(UNW_AARCH64);
#else
    struct unw_space *s = unw_space_new(UNW_X86_64);
#endif
    FILE *f = fopen("/proc/self/maps", "r");
    char line[4400];

    while (f && fgets(line, sizeof line, f))
        map_one(s, line);
    if (f)
        fclose(f);
    return s;
}

uint64_t unw_self_stack_top(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[4400];
    unsigned long start, end = 0;

    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "[stack]") && sscanf(line, "%lx-%lx", &start, &end) == 2)
            break;
    if (f)
        fclose(f);
    return end;
}
