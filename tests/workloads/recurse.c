/* recurse.c - a function that calls itself forty levels deep: 60 % of the cost is in the innermost
 * call, 40 % is spread over the others.
 * build: recurse gcc -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 40, STEP = 3000 };

__attribute__((noinline)) static uint64_t spin(uint64_t x, long n)
{
    for (long i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

__attribute__((noinline)) static uint64_t on_the_way(uint64_t x)
{
    return spin(x, STEP) + 1;
}

__attribute__((noinline)) static uint64_t at_the_bottom(uint64_t x)
{
    return spin(x, (long)STEP * DEPTH * 3 / 2) + 1;
}

__attribute__((noinline, noipa)) static uint64_t recurse(uint64_t x, int depth)
{
    if (depth == 0)
        return at_the_bottom(x) + 1;
    x = on_the_way(x);
    return recurse(x, depth - 1) + 1;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    uint64_t x = 88172645463325252u;

    for (long i = 0; i < rounds; i++)
        x = recurse(x, DEPTH);
    printf("%lu\n", (unsigned long)x);
    return 0;
}
