/* signals.c - work until SIGTERM, then print how many real-time signals have arrived.
 * build: signals gcc -O2 -g -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

static volatile uint64_t keep;
static volatile sig_atomic_t count, ended;

static void on_signal(int number)
{
    if (number == SIGTERM)
        ended = 1;
    else
        count++;
}

__attribute__((noinline)) static void work(void)
{
    uint64_t x = 88172645463325252u;

    for (int i = 0; i < 20000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep += x;
}

int main(void)
{
    struct sigaction a = { .sa_handler = on_signal };

    sigaddset(&a.sa_mask, SIGTERM);
    sigaction(SIGRTMIN, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    puts("ready");
    fflush(stdout);
    while (!ended)
        work();
    printf("%d\n", (int)count);
    return 0;
}
