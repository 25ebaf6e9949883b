/* unwind_arm.c - an aarch64 program that prints its registers, its stack and its true callers,
 * to be unwound by a test.  Without a cross compiler, the build creates an empty file.
 * build: unwind-arm aarch64-linux-gnu-gcc -O2 -fomit-frame-pointer -static -o @OUT@ @IN@ 2>/dev/null || : > @OUT@
 * build: unwind-arm-fp aarch64-linux-gnu-gcc -O2 -fno-omit-frame-pointer -static -o @OUT@ @IN@ 2>/dev/null || : > @OUT@
 * SPDX-License-Identifier: Apache-2.0 */
#include <alloca.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int keep;
static uint64_t top;

NOINLINE static void dump(void)
{
    void *callers[200];
    int n = backtrace(callers, 200);
    uint64_t pc = 0, sp = 0, fp = 0, lr = 0;

#ifdef __aarch64__
    __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
                     : "=r"(pc), "=r"(sp), "=r"(fp), "=r"(lr));
#endif
    printf("regs %lx %lx %lx %lx\n", (long)pc, (long)sp, (long)fp, (long)lr);
    printf("callers %d\n", n - 1);
    for (int i = 1; i < n; i++)
        printf("%lx\n", (long)callers[i]);
    printf("stack %ld\n", (long)(top - sp));
    for (uint64_t at = sp; at < top; at++)
        printf("%02x%s", *(const volatile unsigned char *)at, at % 32 == 31 ? "\n" : "");
    printf("\n");
}

static int compare(const void *a, const void *b)
{
    if (keep++ == 0)
        dump();
    return *(const int *)a - *(const int *)b;
}

NOINLINE static int sort(void)
{
    int v[] = { 3, 1, 2 };

    qsort(v, 3, sizeof *v, compare);
    return v[0];
}

NOINLINE static int large(int n)
{
    volatile char local[9000];

    local[n] = (char)sort();
    return local[n];
}

NOINLINE static int variable(int n)
{
    char *p = alloca((size_t)n * 40);

    memset(p, n, (size_t)n * 40);
    return large(n) + p[n];
}

NOINLINE static int recurse(int n)
{
    return n ? recurse(n - 1) + keep : variable(7);
}

int main(int argc, char **argv)
{
    extern void *__libc_stack_end;

    top = ((uint64_t)__libc_stack_end + 64) & ~(uint64_t)31;
    return recurse(20) == 12345;
}
