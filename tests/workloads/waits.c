/* waits.c - the main thread sleeps 40 %, waits for a lock 30 % and computes 30 % of its time, by
 * the clock.  A second thread holds the lock meanwhile.  Prints the nanoseconds that each took,
 * because threads wake up late on a busy machine.
 * build: waits gcc -O2 -g -pthread -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t please, have_it;
static volatile uint64_t keep;
static long unit_ms;
static uint64_t slept, locked, computed;

static uint64_t now_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
    struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

    nanosleep(&t, NULL);
}

__attribute__((noinline)) static void do_sleep(void)
{
    sleep_ns((uint64_t)unit_ms * 4000000u);
    keep++;
}

__attribute__((noinline)) static void do_lock(void)
{
    sem_post(&please);
    sem_wait(&have_it);
    pthread_mutex_lock(&lock);
    keep++;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void do_compute(void)
{
    uint64_t until = now_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)unit_ms * 3000000u;
    uint64_t x = 88172645463325252u;

    do
        for (long i = 0; i < 20000; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until);
    keep = x;
}

static void *holder(void *unused)
{
    for (;;) {
        sem_wait(&please);
        pthread_mutex_lock(&lock);
        sem_post(&have_it);
        sleep_ns((uint64_t)unit_ms * 3000000u);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 20;
    pthread_t thread;

    unit_ms = argc > 2 ? atol(argv[2]) : 10;
    sem_init(&please, 0, 0);
    sem_init(&have_it, 0, 0);
    if (pthread_create(&thread, NULL, holder, NULL) != 0)
        return 1;
    for (long i = 0; i < rounds; i++) {
        uint64_t a = now_ns(CLOCK_MONOTONIC), b, c, d;

        do_sleep();
        b = now_ns(CLOCK_MONOTONIC);
        do_lock();
        c = now_ns(CLOCK_MONOTONIC);
        d = now_ns(CLOCK_THREAD_CPUTIME_ID);
        do_compute();
        computed += now_ns(CLOCK_THREAD_CPUTIME_ID) - d;
        slept += b - a;
        locked += c - b;
    }
    printf("%lu %lu %lu\n", (unsigned long)slept, (unsigned long)locked, (unsigned long)computed);
    return 0;
}
