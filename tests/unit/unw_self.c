/* unw_self.c - see unw_self.h.  SPDX-License-Identifier: Apache-2.0 */
#include "unw_self.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/elf_file.h"

static void map_one(struct unw_space *s, const char *line)
{
    char perms[8] = "", path[4096] = "";
    unsigned long start, end, offset;
    struct unw_table *t = NULL;
    struct elf_file elf;
    uint64_t bias;
    int fd;

    if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &end, perms, &offset, path) < 4 ||
        perms[2] != 'x')
        return;
    bias = start - offset;
    if (strcmp(path, "[vdso]") == 0) {
        t = cfi_table_build((const void *)start, end - start, NULL);
        bias = start;
    } else if (path[0] == '/' && (fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
        t = cfi_table_open(fd, NULL, 0, NULL);
        if (t && elf_file_read(&elf, fd))
            bias = start - elf_file_address(&elf, offset);
        close(fd);
    }
    cfi_space_map(s, start, end, bias, t, 0);
}

struct unw_space *unw_self_space(void)
{
#ifdef __aarch64__
    struct unw_space *s = cfi_space_new(UNW_AARCH64);
#else
    struct unw_space *s = cfi_space_new(UNW_X86_64);
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

const char *unw_self_workload(const char *name)
{
    static char path[8192];
    const char *dir = getenv("FATHOM_WORKLOADS");
    char exe[4096] = "", *slash;
    struct stat st;

    if (dir) {
        snprintf(path, sizeof path, "%s/%s", dir, name);
    } else {
        if (readlink("/proc/self/exe", exe, sizeof exe - 1) < 0 || !(slash = strrchr(exe, '/')))
            return NULL;
        *slash = 0;
        snprintf(path, sizeof path, "%s/../workloads/%s", exe, name);
    }
    return stat(path, &st) == 0 && st.st_size > 0 ? path : NULL;
}

struct buf unw_self_elf(int machine, const char *name, uint64_t flags, const struct buf *bytes)
{
    Elf64_Ehdr eh = { .e_ident = ELFMAG "\2\1\1", .e_machine = (Elf64_Half)machine,
                      .e_phoff = sizeof eh, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
                      .e_shoff = sizeof eh + sizeof(Elf64_Phdr), .e_shnum = 3,
                      .e_shentsize = sizeof(Elf64_Shdr), .e_shstrndx = 1 };
    Elf64_Phdr ph = { .p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x1000, .p_memsz = 0x1000 };
    Elf64_Shdr sh[3] = { { 0 } };
    struct buf b = { 0 };

    sh[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_size = strlen(name) + 2,
                          .sh_offset = eh.e_shoff + sizeof sh };
    sh[2] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = flags,
                          .sh_addr = 0x5000, .sh_offset = sh[1].sh_offset + sh[1].sh_size,
                          .sh_size = bytes->n };
    buf_add(&b, &eh, sizeof eh);
    buf_add(&b, &ph, sizeof ph);
    buf_add(&b, sh, sizeof sh);
    buf_u8(&b, 0);
    buf_add(&b, name, strlen(name) + 1);
    buf_add(&b, bytes->data, bytes->n);
    return b;
}
