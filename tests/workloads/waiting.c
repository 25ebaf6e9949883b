/* waiting.c - waits of known kinds.  Prints the nanoseconds of each, by its own clock.
 *
 *     waiting kinds N    N rounds of one wait each: sleep_here (12 ms), sleep_there (4 ms), a read
 *                        from a pipe and a poll of it (8 ms each), a child (16 ms)
 *     waiting places N   N rounds of sleep_here (10 ms) and sleep_there (10 ms)
 *     waiting busy N MS  N threads that compute for MS milliseconds of CPU time each: their lives
 *                        and their CPU time
 *     waiting brief N    N threads, one after the other, that sleep for 5 ms: how long
 * build: waiting gcc -O2 -g -pthread -o @OUT@ @IN@
 * build: waiting-fp gcc -O2 -g -fno-omit-frame-pointer -pthread -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t keep;
static sem_t please;
static int ends[2];

static uint64_t now_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ms(long ms)
{
    struct timespec t = { 0, ms * 1000000 };

    nanosleep(&t, NULL);
}

NOINLINE static void sleep_here(long ms)
{
    sleep_ms(ms);
    keep++;
}

NOINLINE static void sleep_there(long ms)
{
    sleep_ms(ms);
    keep += 2; /* not the same code as above, which the compiler would merge */
}

/* Writes a byte 8 ms after each request. */
static void *writer(void *unused)
{
    for (;;) {
        sem_wait(&please);
        sleep_ms(8);
        if (write(ends[1], "x", 1) != 1)
            exit(1);
    }
    return unused;
}

NOINLINE static void read_pipe(void)
{
    char byte;

    keep += (uint64_t)read(ends[0], &byte, 1);
}

NOINLINE static void poll_pipe(void)
{
    struct pollfd p = { .fd = ends[0], .events = POLLIN };

    keep += (uint64_t)poll(&p, 1, -1);
}

NOINLINE static void wait_for_child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        sleep_ms(16);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    keep++;
}

static uint64_t since(uint64_t *start)
{
    uint64_t before = *start;

    *start = now_ns(CLOCK_MONOTONIC);
    return *start - before;
}

static void print(const uint64_t *ns, int n)
{
    for (int i = 0; i < n; i++)
        printf("%lu%c", (unsigned long)ns[i], i < n - 1 ? ' ' : '\n');
}

static void kinds(long rounds)
{
    uint64_t ns[5] = { 0 }, start;
    pthread_t thread;

    if (pipe(ends) < 0 || pthread_create(&thread, NULL, writer, NULL) != 0)
        exit(1);
    for (long i = 0; i < rounds; i++) {
        start = now_ns(CLOCK_MONOTONIC);
        sleep_here(12);
        ns[0] += since(&start);
        sleep_there(4);
        ns[1] += since(&start);
        sem_post(&please);
        start = now_ns(CLOCK_MONOTONIC);
        read_pipe();
        ns[2] += since(&start);
        sem_post(&please);
        start = now_ns(CLOCK_MONOTONIC);
        poll_pipe();
        ns[3] += since(&start);
        read_pipe();
        start = now_ns(CLOCK_MONOTONIC);
        wait_for_child();
        ns[4] += since(&start);
    }
    print(ns, 5);
}

static void places(long rounds)
{
    uint64_t ns[2] = { 0 }, start = now_ns(CLOCK_MONOTONIC);

    for (long i = 0; i < rounds; i++) {
        sleep_here(10);
        ns[0] += since(&start);
        sleep_there(10);
        ns[1] += since(&start);
    }
    print(ns, 2);
}

struct busy {
    pthread_t thread;
    uint64_t until_ns;
    uint64_t lived_ns, cpu_ns;
};

static void *compute(void *with)
{
    struct busy *b = with;
    uint64_t start = now_ns(CLOCK_MONOTONIC);

    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < b->until_ns)
        for (int i = 0; i < 20000; i++)
            keep += (uint64_t)i;
    b->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    b->lived_ns = since(&start);
    return NULL;
}

static void busy(long n, long ms)
{
    struct busy *b = calloc((size_t)n, sizeof *b);
    uint64_t ns[2] = { 0 };

    for (long i = 0; i < n; i++) {
        b[i].until_ns = (uint64_t)ms * 1000000;
        if (pthread_create(&b[i].thread, NULL, compute, &b[i]) != 0)
            exit(1);
    }
    for (long i = 0; i < n; i++) {
        pthread_join(b[i].thread, NULL);
        ns[0] += b[i].lived_ns;
        ns[1] += b[i].cpu_ns;
    }
    print(ns, 2);
    free(b);
}

static void *nap(void *ns)
{
    uint64_t start = now_ns(CLOCK_MONOTONIC);

    sleep_here(5);
    *(uint64_t *)ns += since(&start);
    return NULL;
}

static void brief(long n)
{
    uint64_t ns = 0;
    pthread_t thread;

    for (long i = 0; i < n; i++) {
        if (pthread_create(&thread, NULL, nap, &ns) != 0)
            exit(1);
        pthread_join(thread, NULL);
    }
    print(&ns, 1);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "kinds";
    long n = argc > 2 ? atol(argv[2]) : 10, ms = argc > 3 ? atol(argv[3]) : 100;

    sem_init(&please, 0, 0);
    if (strcmp(what, "kinds") == 0)
        kinds(n);
    else if (strcmp(what, "places") == 0)
        places(n);
    else if (strcmp(what, "busy") == 0)
        busy(n, ms);
    else
        brief(n);
    return 0;
}
