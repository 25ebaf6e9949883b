/* brief.c - CPU time that a sampling timer hardly sees.
 *
 *     brief threads N ROUNDS    N threads, one after another, each with ROUNDS of work
 *     brief forks N ROUNDS      the same with child processes
 *     brief outlive ROUNDS      a child works for ROUNDS; then the program ends before the child,
 *                               which still works for ROUNDS
 *
 * Prints the CPU time in milliseconds of the program and of the children it waited for.
 * build: brief gcc -O2 -g -pthread -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t keep;
static long rounds;

__attribute__((noinline)) static void *work(void *unused)
{
    uint64_t x = 88172645463325252u;

    (void)unused;
    for (long i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep += x;
    return NULL;
}

static double ms_of(int who)
{
    struct rusage u;

    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static int one(int forks)
{
    pthread_t thread;
    pid_t pid;

    if (!forks)
        return pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL);
    pid = fork();
    if (pid == 0) {
        work(NULL);
        _exit(0);
    }
    return pid < 0 || waitpid(pid, NULL, 0) != pid;
}

static int outlive(void)
{
    int fd[2];
    char byte;

    if (pipe(fd) < 0)
        return 1;
    if (fork() == 0) {
        work(NULL);
        if (write(fd[1], "", 1) != 1)
            _exit(1);
        work(NULL);
        _exit(0);
    }
    return read(fd[0], &byte, 1) != 1;
}

int main(int argc, char **argv)
{
    int failed = 0;

    if (argc < 3)
        return 2;
    rounds = atol(argv[argc - 1]);
    if (strcmp(argv[1], "outlive") == 0)
        failed = outlive();
    else
        for (int i = atoi(argv[2]); i > 0 && !failed; i--)
            failed = one(strcmp(argv[1], "forks") == 0);
    printf("%.3f\n", ms_of(RUSAGE_SELF) + ms_of(RUSAGE_CHILDREN));
    return failed;
}
