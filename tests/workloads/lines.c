/* lines.c - lines with a known cost: three quarters on the marked heavy line, a quarter on the
 * light one; heavy() is inlined into work().
 * build: lines gcc -O2 -g -fno-unroll-loops -o @OUT@ @IN@
 * build: lines-bare objcopy -S @DIR@/lines @OUT@
 * build: lines-stripped gcc -O2 -s -fno-unroll-loops -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t keep;

static inline __attribute__((always_inline)) uint64_t heavy(uint64_t x, long n)
{
    while (n--)
        x = x * 6364136223846793005u + 1442695040888963407u; /* HEAVY */
    return x;
}

__attribute__((noinline)) static void work(long n)
{
    uint64_t x = keep;

    x = heavy(x, n * 3); /* CALL */
    for (long i = 0; i < n; i++)
        x = x * 2862933555777941757u + 3037000493u; /* LIGHT */
    keep = x;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100;

    for (long i = 0; i < rounds; i++)
        work(1500000);
    printf("%llu\n", (unsigned long long)keep);
    return 0;
}
