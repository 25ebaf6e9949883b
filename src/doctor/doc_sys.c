/* doc_sys.c - the cost of system calls, page faults, context switches, and thread and process
 * starts.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "doctor/doc_measure.h"
#include "doctor/doc_pingpong.h"

extern char **environ;

double doc_sys_call(char *note)
{
    enum { N = 100000 };
    uint64_t start = clock_mono_ns();

    for (int i = 0; i < N; i++)
        syscall(SYS_getppid);
    snprintf(note, DOC_NOTE, "getppid");
    return (double)(clock_mono_ns() - start) / N;
}

double doc_sys_clock(char *note)
{
    enum { N = 200000 };
    uint64_t start = clock_mono_ns();

    for (int i = 0; i < N; i++)
        clock_mono_ns();
    snprintf(note, DOC_NOTE, "clock_gettime");
    return (double)(clock_mono_ns() - start) / N;
}

double doc_sys_fault(char *note)
{
    enum { PAGES = 8192, PAGE = 4096 };
    size_t bytes = (size_t)PAGES * PAGE;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t start;
    double ns;

    if (p == MAP_FAILED)
        return NAN;
    madvise(p, bytes, MADV_NOHUGEPAGE);
    start = clock_mono_ns();
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)p)[i * PAGE] = 1;
    ns = (double)(clock_mono_ns() - start) / PAGES;
    munmap(p, bytes);
    snprintf(note, DOC_NOTE, "first touch of a page");
    return ns;
}

/* One word of memory: whose turn it is. */
struct turns {
    uint32_t turn;
    int rounds;
};

static void futex_wait(struct turns *t, uint32_t mine)
{
    while (__atomic_load_n(&t->turn, __ATOMIC_ACQUIRE) != mine)
        syscall(SYS_futex, &t->turn, FUTEX_WAIT_PRIVATE, !mine, NULL, NULL, 0);
}

static void futex_pass(struct turns *t, uint32_t mine)
{
    __atomic_store_n(&t->turn, !mine, __ATOMIC_RELEASE);
    syscall(SYS_futex, &t->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *futex_partner(void *arg)
{
    struct turns *t = arg;

    for (int i = 0; i < t->rounds; i++) {
        futex_wait(t, 1);
        futex_pass(t, 1);
    }
    return NULL;
}

double doc_sys_futex(char *note)
{
    struct turns t = { 0, 3000 };
    pthread_t partner;
    uint64_t start;

    if (pthread_create(&partner, NULL, futex_partner, &t) != 0)
        return NAN;
    start = clock_mono_ns();
    for (int i = 0; i < t.rounds; i++) {
        futex_wait(&t, 0);
        futex_pass(&t, 0);
    }
    pthread_join(partner, NULL);
    snprintf(note, DOC_NOTE, "from waking a thread until it runs, half a round trip");
    return (double)(clock_mono_ns() - start) / (2.0 * t.rounds);
}

double doc_sys_switch(char *note)
{
    double ns = doc_pingpong_pipes(5000, true);

    snprintf(note, DOC_NOTE, "two threads on one CPU, including the pipe between them");
    return ns / 2;
}

static void *nothing(void *arg)
{
    return arg;
}

double doc_sys_thread(char *note)
{
    enum { N = 300 };
    uint64_t start = clock_mono_ns();

    for (int i = 0; i < N; i++) {
        pthread_t t;

        if (pthread_create(&t, NULL, nothing, NULL) != 0)
            return NAN;
        pthread_join(t, NULL);
    }
    return (double)(clock_mono_ns() - start) / N;
}

double doc_sys_process(char *note)
{
    enum { N = 30 };
    char *argv[] = { (char[]){ "true" }, NULL };
    uint64_t start = clock_mono_ns();

    snprintf(note, DOC_NOTE, "posix_spawn of true");
    for (int i = 0; i < N; i++) {
        int status;
        pid_t pid;

        if (posix_spawnp(&pid, "true", NULL, NULL, argv, environ) != 0) {
            snprintf(note, DOC_NOTE, "program \"true\" not found");
            return NAN;
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    return (double)(clock_mono_ns() - start) / N;
}
