/* execs.c - one process runs several programs.  Works for ROUNDS in before() and executes the next
 * program as HOW says:
 *
 *     execs exec ROUNDS PROGRAM ARGUMENT...     in the first thread
 *     execs thread ROUNDS PROGRAM ARGUMENT...   in a second thread
 *     execs fork ROUNDS PROGRAM ARGUMENT...     in a child, which works for ROUNDS too
 *     execs name ROUNDS NAME ROUNDS             no program: take another name and work again
 *     execs end ROUNDS                          work only
 *
 * Each program prints its name and the CPU time in milliseconds that it used.
 * build: execs gcc -O2 -g -pthread -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t keep;
static char **next;
static double said_ms;

__attribute__((noinline)) static void work(const char *rounds)
{
    uint64_t x = 88172645463325252u;

    for (long i = atol(rounds); i > 0; i--) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep += x;
}

/* The clock continues over exec. */
static double used_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void say(void)
{
    char name[16] = "";
    double now = used_ms();

    prctl(PR_GET_NAME, name);
    printf("%s %.3f\n", name, now - said_ms);
    fflush(stdout);
    said_ms = now;
}

static void *execute(void *unused)
{
    (void)unused;
    execv("/nonexistent/program", next); /* fails and changes nothing */
    execv(next[0], next);
    perror(next[0]);
    exit(127);
}

int main(int argc, char **argv)
{
    const char *how;

    said_ms = used_ms();
    if (argc > 1 && strchr(argv[1], '/')) { /* the interpreter of a script */
        argv++;
        argc--;
    }
    if (argc < 3)
        return 2;
    how = argv[1];
    next = argv + 3;
    work(argv[2]);
    say();
    if (strcmp(how, "exec") == 0)
        execute(NULL);
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, execute, NULL) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    if (strcmp(how, "fork") == 0) {
        int status = 0;
        pid_t pid = fork();

        if (pid == 0) {
            said_ms = used_ms();
            work(argv[2]);
            say();
            execute(NULL);
        }
        return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
    }
    if (strcmp(how, "name") == 0) {
        prctl(PR_SET_NAME, argv[3]);
        work(argv[4]);
        say();
    }
    return 0;
}
