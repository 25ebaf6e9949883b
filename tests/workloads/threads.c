/* threads.c - N threads (200) with equal work, all alive at the same time.
 * build: threads gcc -O2 -g -pthread -o @OUT@ @IN@
 * build: threads-static gcc -O2 -g -pthread -static -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long rounds;
static pthread_barrier_t all_here;
static volatile uint64_t keep;

__attribute__((noinline)) static void work(void)
{
    uint64_t x = 88172645463325252u;

    for (long i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep += x;
}

static void *body(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&all_here);
    work();
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 200;
    pthread_t *thread = calloc((size_t)n, sizeof *thread);

    rounds = argc > 2 ? atol(argv[2]) : 5000000;
    pthread_barrier_init(&all_here, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        if (pthread_create(&thread[i], NULL, body, NULL) != 0)
            return 1;
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    printf("%lu\n", (unsigned long)keep);
    return 0;
}
