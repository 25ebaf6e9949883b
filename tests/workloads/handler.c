/* handler.c - work in a signal handler that interrupts busy(), so that the stack contains the
 * kernel's signal frame.  The handler runs until it has used 50 % of the CPU time.
 * build: handler gcc -O2 -g -fomit-frame-pointer -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t keep;

__attribute__((noinline)) static void spin(long n)
{
    uint64_t x = 88172645463325252u;

    for (long i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep = x;
}

static void on_signal(int number)
{
    (void)number;
    spin(1000000);
    keep++;
}

__attribute__((noinline)) static void busy(void)
{
    spin(1000000);
    raise(SIGUSR1);
    keep++;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 300;

    signal(SIGUSR1, on_signal);
    for (long i = 0; i < rounds; i++)
        busy();
    printf("%lu\n", (unsigned long)keep);
    return 0;
}
