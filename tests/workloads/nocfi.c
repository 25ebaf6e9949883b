/* nocfi.c - functions of every shape, in a program without call-frame information.  The argument is
 * the number of rounds; each function calls burn for its share of a round, in percent:
 *
 *     main -> rounds -> by_array 20, by_large 10, by_switch -> case_0..case_7 20, by_tail 10,
 *             by_pointer -> called 10, by_stack 10, recursive (12 deep) 10
 *          -> last -> finish 10, which does not return
 *
 * build: nocfi-O0 gcc -O0 -fno-asynchronous-unwind-tables -fno-unwind-tables -o @OUT@ @IN@
 * build: nocfi-O2 gcc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer -o @OUT@ @IN@
 * build: nocfi-fp gcc -O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-omit-frame-pointer -o @OUT@ @IN@
 * build: nocfi-static gcc -O2 -static -o @OUT@ @IN@ && objcopy --remove-section .eh_frame @OUT@
 * build: nocfi-Os gcc -Os -static -o @OUT@ @IN@ && objcopy --remove-section .eh_frame @OUT@
 * build: nocfi-Os-stripped gcc -Os -static -o @OUT@ @IN@ && strip --remove-section .eh_frame @OUT@
 * build: nocfi-stripped gcc -O2 -static -o @OUT@ @IN@ && strip --remove-section .eh_frame @OUT@
 * (Where musl-gcc is not installed, the build creates empty files.)
 * build: nocfi-musl musl-gcc -O2 -static -fno-asynchronous-unwind-tables -o @OUT@ @IN@ 2>/dev/null || : > @OUT@
 * build: nocfi-musl-stripped musl-gcc -O2 -static -fno-asynchronous-unwind-tables -s -o @OUT@ @IN@ 2>/dev/null || : > @OUT@
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNIT = 40000 };

#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t keep;
static long wanted;

NOINLINE static int burn(long units)
{
    uint64_t x = 88172645463325252u;

    for (long i = 0; i < units * UNIT; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep = x;
    return (int)x & 1;
}

NOINLINE static int by_array(int n)
{
    volatile char array[n];

    array[n - 1] = 1;
    return burn(20) + array[n - 1];
}

NOINLINE static int by_large(void)
{
    volatile char large[3000];

    large[2999] = 1;
    return burn(10) + large[2999];
}

#define CASE(n, units)                  \
    NOINLINE static int case_##n(int x) \
    {                                   \
        return burn(units) + x + n;     \
    }
CASE(0, 1) CASE(1, 2) CASE(2, 3) CASE(3, 4) CASE(4, 1) CASE(5, 2) CASE(6, 3) CASE(7, 4)

NOINLINE static int by_switch(unsigned which, int x)
{
    switch (which) {
    case 0: return case_0(x) * 3;
    case 1: return case_1(x) - 5;
    case 2: return case_2(x) ^ 7;
    case 3: return case_3(x) | 9;
    case 4: return case_4(x) * 11;
    case 5: return case_5(x) - 13;
    case 6: return case_6(x) ^ 15;
    case 7: return case_7(x) | 17;
    default: abort();
    }
}

NOINLINE static int by_tail(void)
{
    return burn(10);
}

NOINLINE static int called(int x)
{
    return burn(10) + x;
}

static int (*volatile pointer)(int) = called;

NOINLINE static int by_pointer(int x)
{
    return pointer(x) + 1;
}

NOINLINE static int by_stack(int a, int b, int c, int d, int e, int f, int g, int h, long i)
{
    return burn(10) + a + b + c + d + e + f + g + h + (int)i;
}

NOINLINE static int recursive(int depth)
{
    return depth ? recursive(depth - 1) + 1 : burn(10) + 1;
}

NOINLINE static int rounds(long n)
{
    int sum = 0;

    for (long i = 0; i < n; i++) {
        sum += by_array(64 + (int)(i & 63));
        sum += by_large();
        for (unsigned which = 0; which < 8; which++)
            sum += by_switch(which, sum);
        sum += by_tail();
        sum += by_pointer(sum);
        sum += by_stack(1, 2, 3, 4, 5, 6, 7, 8, i);
        sum += recursive(12);
    }
    return sum;
}

__attribute__((noreturn)) NOINLINE static void finish(int status)
{
    for (long i = 0; i < wanted; i++)
        burn(10);
    _exit(status & 0);
}

/* Its last instruction is a call: the return address is that of another function. */
__attribute__((noreturn)) NOINLINE static void last(int status)
{
    keep++;
    finish(status);
}

static void *in_thread(void *arg)
{
    return (void *)(intptr_t)rounds(*(long *)arg);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    long half;

    wanted = argc > 1 ? atol(argv[1]) : 20;
    half = wanted / 2;
    if (pthread_create(&thread, NULL, in_thread, &half) != 0)
        return 1;
    pthread_join(thread, NULL);
    last(rounds(wanted - half));
}
