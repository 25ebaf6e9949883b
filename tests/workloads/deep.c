/* deep.c - thirty frames, each with a little work.  Without frame pointers, only unwind tables
 * can recover the stack.  deep-big uses 3 KB per frame, so that the stack exceeds a stack copy.
 * build: deep gcc -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -o @OUT@ @IN@
 * build: deep-fp gcc -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o @OUT@ @IN@
 * build: deep-big gcc -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -DKEEP=3072 -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef KEEP
#define KEEP 64
#endif

static volatile uint64_t keep;

__attribute__((noinline)) static uint64_t leaf(uint64_t x)
{
    for (int i = 0; i < 4000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

/* Use the buffer after the call; otherwise the compiler would remove it. */
#define FRAME(name, next)                                          \
    __attribute__((noinline)) static uint64_t name(uint64_t x)     \
    {                                                              \
        volatile char buffer[KEEP];                                \
        buffer[x % KEEP] = (char)x;                                \
        for (int i = 0; i < 100; i++)                              \
            x = x * 6364136223846793005u + 1442695040888963407u;   \
        x = next(x);                                               \
        return x + (uint64_t)buffer[x % KEEP];                     \
    }
FRAME(f30, leaf) FRAME(f29, f30) FRAME(f28, f29) FRAME(f27, f28) FRAME(f26, f27)
FRAME(f25, f26) FRAME(f24, f25) FRAME(f23, f24) FRAME(f22, f23) FRAME(f21, f22)
FRAME(f20, f21) FRAME(f19, f20) FRAME(f18, f19) FRAME(f17, f18) FRAME(f16, f17)
FRAME(f15, f16) FRAME(f14, f15) FRAME(f13, f14) FRAME(f12, f13) FRAME(f11, f12)
FRAME(f10, f11) FRAME(f9, f10) FRAME(f8, f9) FRAME(f7, f8) FRAME(f6, f7)
FRAME(f5, f6) FRAME(f4, f5) FRAME(f3, f4) FRAME(f2, f3) FRAME(f1, f2)

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 20000;
    uint64_t x = 88172645463325252u;

    for (long i = 0; i < rounds; i++)
        x = f1(x);
    keep = x;
    printf("%lu\n", (unsigned long)keep);
    return 0;
}
