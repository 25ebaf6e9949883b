/* bench_unwind.c - measure unwinding: table size and build time for a large library, and
 * nanoseconds per frame of warm walks.  Prints `name value unit` lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/elf_file.h"
#include "cfi/cfi.h"

enum { DEPTH = 60, WALKS = 20000, ROUNDS = 5 };

/* The largest shared library in the usual directories. */
static const char *largest_library(void)
{
    static char best[4096];
    static const char *const patterns[] = {
        "/usr/lib/x86_64-linux-gnu/lib*.so*", "/usr/lib/aarch64-linux-gnu/lib*.so*",
        "/usr/lib/llvm-*/lib/lib*.so*", "/lib64/lib*.so*",
    };
    glob_t found;
    off_t most = 0;

    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        if (glob(patterns[i], 0, NULL, &found) != 0)
            continue;
        for (size_t j = 0; j < found.gl_pathc; j++) {
            struct stat st;

            if (stat(found.gl_pathv[j], &st) == 0 && S_ISREG(st.st_mode) && st.st_size > most) {
                most = st.st_size;
                snprintf(best, sizeof best, "%s", found.gl_pathv[j]);
            }
        }
        globfree(&found);
    }
    return best;
}

static void bench_build(const char *path)
{
    uint64_t best = UINT64_MAX;
    struct cfi_table_info info = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    for (int i = 0; i < ROUNDS && fd >= 0; i++) {
        uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID), took;
        struct unw_table *t = cfi_table_open(fd, NULL, 0, NULL);

        if (!t)
            break;
        info = cfi_table_info(t);
        took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
        best = took < best ? took : best;
        cfi_table_free(t);
    }
    close(fd);
    if (!info.rows)
        return;
    printf("# %s\n", path);
    printf("unwind_table_rows %llu rows\n", (unsigned long long)info.rows);
    printf("unwind_table_rules %llu rules\n", (unsigned long long)info.rules);
    printf("unwind_table_size %.2f bytes/row\n", (double)info.bytes / (double)info.rows);
    printf("unwind_table_build %.1f ns/row\n", (double)best / (double)info.rows);
}

/* Open through the cache as the recorder does: the first time, then again. */
static void bench_open(const char *path, const char *name)
{
    static const uint8_t build_id[20] = "bench";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct unw_table *t = cfi_table_open(fd, build_id, sizeof build_id, NULL);
    uint64_t opened = clock_ns(CLOCK_THREAD_CPUTIME_ID);

    if (t)
        cfi_table_prepare(t);
    printf("unwind_open_%s %.1f us\n", name, (double)(opened - start) / 1e3);
    printf("unwind_prepare_%s %.1f us\n", name,
           (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - opened) / 1e3);
    cfi_table_free(t);
    close(fd);
}

/* --- walking our own stack --- */

static struct unw_space *own_space(void)
{
    struct unw_space *s = cfi_space_new(UNW_X86_64);
    FILE *f = fopen("/proc/self/maps", "r");
    char line[4400], path[4096];
    unsigned long start, end, offset;

    while (f && fgets(line, sizeof line, f)) {
        struct elf_file elf;
        struct unw_table *t;
        int fd;

        if (sscanf(line, "%lx-%lx r-xp %lx %*s %*s %4095s", &start, &end, &offset, path) != 4 ||
            path[0] != '/' || (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
            continue;
        t = cfi_table_open(fd, NULL, 0, NULL);
        if (t && elf_file_read(&elf, fd))
            cfi_space_map(s, start, end, start - elf_file_address(&elf, offset), t, 0);
        close(fd);
    }
    if (f)
        fclose(f);
    return s;
}

static void time_walks(uint64_t stack_top)
{
    struct unw_space *s = own_space();
    struct unw_cache *cache = cfi_cache_new();
    struct unw_frame frames[256];
    struct unw_regs regs = { 0 };
    struct unw_stack stack;
    uint64_t best = UINT64_MAX;
    size_t n = 0;
    enum unw_end end = UNW_LOST;

#ifdef __x86_64__
    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                     : "=r"(regs.pc), "=r"(regs.sp), "=r"(regs.fp));
#endif
    stack = (struct unw_stack){ regs.sp, (const void *)regs.sp, stack_top - regs.sp };
    unw_walk(s, cache, regs, &stack, frames, 256, &n);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID), took;

        for (int i = 0; i < WALKS; i++)
            end = unw_walk(s, cache, regs, &stack, frames, 256, &n);
        took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
        best = took < best ? took : best;
    }
    printf("unwind_walk_frames %zu frames\n", n);
    printf("unwind_walk_complete %d yes\n", end == UNW_ROOT);
    printf("unwind_walk_warm %.1f ns/frame\n", (double)best / WALKS / (double)(n ? n : 1));
    best = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < WALKS / 10; i++)
        unw_walk(s, NULL, regs, &stack, frames, 256, &n);
    best = clock_ns(CLOCK_THREAD_CPUTIME_ID) - best;
    printf("unwind_walk_uncached %.1f ns/frame\n", (double)best * 10 / WALKS / (double)n);
}

static volatile int keep;

#define DOWN(name, next)                                                       \
    __attribute__((noinline)) static void name(int depth, uint64_t top)        \
    {                                                                          \
        char local[1 + (sizeof #name) * 8];                                    \
        memset(local, depth, sizeof local);                                    \
        __asm__ volatile("" : : "r"(local) : "memory");                        \
        if (depth == 0)                                                        \
            time_walks(top);                                                   \
        else                                                                   \
            next(depth - 1, top);                                              \
        keep++;                                                                \
    }
static void down_a(int depth, uint64_t top);
DOWN(down_ccc, down_a)
DOWN(down_bb, down_ccc)
DOWN(down_a, down_bb)

static uint64_t stack_top_of_self(void)
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

int main(void)
{
    char dir[] = "/tmp/fathom-bench-XXXXXX", remove[64];
    const char *big = largest_library();

    if (!mkdtemp(dir))
        return 1;
    setenv("FATHOM_CACHE", dir, 1);
    bench_build(big);
    bench_open(big, "first");
    bench_open(big, "again");
    down_a(DEPTH, stack_top_of_self());
    snprintf(remove, sizeof remove, "rm -rf %s", dir);
    return system(remove) != 0;
}
