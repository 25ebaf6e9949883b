/* pool.c - a pool of N threads (20) that wait for work that never arrives, while the main thread
 * computes for MS milliseconds (700) of CPU time and sleeps 10 ms ten times.
 * build: pool gcc -O2 -g -pthread -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static volatile uint64_t keep;

static void *wait_for_work(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&work, &lock);
    return unused;
}

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

__attribute__((noinline)) static void compute(double ms)
{
    double until = cpu_ms() + ms;

    while (cpu_ms() < until)
        for (int i = 0; i < 100000; i++)
            keep += (uint64_t)i;
}

__attribute__((noinline)) static void take_a_nap(void)
{
    usleep(10000);
    keep++;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 20;
    double ms = argc > 2 ? atof(argv[2]) : 700;
    pthread_t thread;

    for (int i = 0; i < n; i++)
        if (pthread_create(&thread, NULL, wait_for_work, NULL) != 0)
            return 1;
    for (int i = 0; i < 10; i++) {
        compute(ms / 10);
        take_a_nap();
    }
    return 0;
}
