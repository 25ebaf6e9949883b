/* doctor.c - a program, built in the ways that `fathom doctor` must distinguish.
 * build: doctor-O0 gcc -O0 -g -o @OUT@ @IN@
 * build: doctor-O0-stripped gcc -O0 -s -o @OUT@ @IN@
 * build: doctor-fast gcc -O3 -march=x86-64-v2 -s -no-pie -Wl,--build-id=none -o @OUT@ @IN@
 * build: doctor-fast-debug gcc -O3 -march=x86-64-v2 -g -o @OUT@ @IN@
 * build: doctor-instrumented gcc -O2 -g -fno-omit-frame-pointer -o @OUT@ @IN@
 * build: doctor-lto gcc -O2 -g -flto -o @OUT@ @IN@
 * build: doctor-pg gcc -O2 -g -pg -o @OUT@ @IN@
 * build: doctor-asan gcc -O1 -g -fsanitize=address -o @OUT@ @IN@
 * build: doctor-static gcc -O2 -static -o @OUT@ @IN@
 * build: doctor-library gcc -O2 -g -shared -fPIC -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static long leaf(long n)
{
    long sum = 0;

    for (long i = 0; i < n; i++)
        sum += rand() % 7;
    return sum;
}

__attribute__((noinline)) static long middle(long n)
{
    long sum = leaf(n) + leaf(n / 2);

    printf("%ld\n", sum);
    return sum * 3;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1000;

    return middle(n) + leaf(n) == 42;
}
