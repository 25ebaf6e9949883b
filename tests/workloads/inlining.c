/* inlining.c - two functions that are always inlined into outer(): 70 % in inner_a, 30 % in
 * inner_b, which is itself inlined through a second level.
 * build: inlining gcc -O2 -g -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define STEP(x) (x ^= x << 13, x ^= x >> 7, x ^= x << 17)

__attribute__((always_inline)) static inline uint64_t inner_a(uint64_t x, long n)
{
    for (long i = 0; i < n; i++)
        STEP(x);
    return x;
}

__attribute__((always_inline)) static inline uint64_t inner_b(uint64_t x, long n)
{
    for (long i = 0; i < n; i++)
        STEP(x);
    return x;
}

__attribute__((always_inline)) static inline uint64_t middle(uint64_t x, long n)
{
    return inner_b(x, n) + 1;
}

__attribute__((noinline)) static uint64_t outer(uint64_t x)
{
    x = inner_a(x, 700000);
    return middle(x, 300000);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100;
    uint64_t x = 88172645463325252u;

    for (long i = 0; i < rounds; i++)
        x = outer(x);
    printf("%lu\n", (unsigned long)x);
    return 0;
}
