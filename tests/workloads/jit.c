/* jit.c - machine code generated at run time, listed in /tmp/perf-PID.map: 70 % in jit_hot, 30 %
 * in jit_cold.  The map stays for the recorder; the caller removes it.  With a second argument it
 * writes no map: it prints where the code is and waits for a line, so that the caller can.
 * build: jit gcc -O2 -g -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void (*count_down)(long n);

/* Counts its argument down to zero. */
static const unsigned char code[] = {
#if defined(__aarch64__)
    0x00, 0x04, 0x00, 0xf1, /* 1: subs x0, x0, #1 */
    0xe1, 0xff, 0xff, 0x54, /*    b.ne 1b */
    0xc0, 0x03, 0x5f, 0xd6, /*    ret */
#else
    0x48, 0xff, 0xcf, /* 1: dec %rdi */
    0x75, 0xfb,       /*    jne 1b */
    0xc3,             /*    ret */
#endif
};

static int write_map(const char *path, unsigned long page)
{
    FILE *map = fopen(path, "w");

    if (!map)
        return 1;
    fprintf(map, "%lx %zx jit_hot\n%lx %zx jit_cold\n", page, sizeof code, page + 4096, sizeof code);
    fclose(map);
    printf("%s\n", path);
    return 0;
}

static int wait_for_map(const char *path, unsigned long page)
{
    char line[80];

    printf("%s %lx\n", path, page);
    fflush(stdout);
    return fgets(line, sizeof line, stdin) ? 0 : 1;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100;
    unsigned char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];

    if (page == MAP_FAILED)
        return 1;
    memcpy(page, code, sizeof code);
    memcpy(page + 4096, code, sizeof code);
    if (mprotect(page, 8192, PROT_READ | PROT_EXEC) < 0)
        return 1;
    __builtin___clear_cache((char *)page, (char *)page + 8192);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    if (argc > 2 ? wait_for_map(path, (unsigned long)page) : write_map(path, (unsigned long)page))
        return 1;
    for (long i = 0; i < rounds; i++) {
        ((count_down)(void *)page)(7000000);
        ((count_down)(void *)(page + 4096))(3000000);
    }
    return 0;
}
