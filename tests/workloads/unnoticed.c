/* unnoticed.c - print what a program can see of itself, and use what a recorder inside it might
 * disturb.  Its output and status must be the same with and without one.
 *     state          environment, signals, files, threads
 *     calls N        N waits of each kind between short work; none may fail
 *     handler        handle SIGURG and SIGWINCH and count them
 *     blocked        work with all signals blocked, and print the mask
 *     ignored        ignore SIGURG, block it, and execute `state`
 *     signalfd       receive SIGURG through a descriptor
 *     commands       system, popen and an exec with an empty environment
 *     edge           copy with code in front of which no memory is mapped
 *     fiber [filter] work on a stack of its own, in front of which no memory is mapped, also with a
 *                    filter of system calls, and in threads
 *     work MS        use MS ms of CPU time
 *     run CMD ARG... start CMD and wait for it
 * build: unnoticed gcc -O2 -g -pthread -o @OUT@ @IN@
 * build: unnoticed-static gcc -O2 -g -pthread -static -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { GAP = 16384 };

extern char **environ;
static volatile uint64_t keep;
static volatile int handled[2];

__attribute__((noinline)) static void work(long ms)
{
    struct timespec t;
    uint64_t x = 88172645463325252u;
    long end;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    end = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
    do {
        for (int i = 0; i < 20000; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        keep += x;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < end);
}

static void print_mask(const char *what)
{
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    printf("%s:", what);
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&mask, i) == 1)
            printf(" %d", i);
    printf("\n");
}

static int state(void)
{
    struct sigaction a;
    stack_t stack;
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    for (char **e = environ; *e; e++)
        if (strncmp(*e, "FATHOM_", 7) != 0 && strncmp(*e, "_=", 2) != 0)
            puts(*e);
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &a) == 0 && (a.sa_handler != SIG_DFL || a.sa_flags))
            printf("signal %d: %s flags %x\n", i, a.sa_handler == SIG_IGN ? "ignored" : "handled",
                   (unsigned)a.sa_flags);
    print_mask("mask");
    sigaltstack(NULL, &stack);
    printf("alternate stack: %d\n", stack.ss_flags);
    for (struct dirent *it; d && (it = readdir(d));)
        if (it->d_name[0] != '.' && atoi(it->d_name) != dirfd(d)) {
            printf("descriptor %s\n", it->d_name);
            n++;
        }
    closedir(d);
    d = opendir("/proc/self/task");
    for (n = 0; readdir(d); n++)
        ;
    printf("threads: %d\n", n - 2);
    closedir(d);
    return 0;
}

static int failed(const char *call)
{
    printf("%s failed: %s\n", call, strerror(errno));
    return 1;
}

static int calls(long n)
{
    struct timespec brief = { 0, 20000 };
    int bad = 0, epoll = epoll_create1(0);

    for (long i = 0; i < n; i++) {
        struct timeval tv = { 0, 20 };
        sigset_t none;

        sigemptyset(&none);
        for (int k = 0; k < 20000; k++)
            keep += (uint64_t)k;
        if (nanosleep(&brief, NULL) < 0)
            bad += failed("nanosleep");
        if (clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL) != 0)
            bad += failed("clock_nanosleep");
        if (usleep(20) < 0)
            bad += failed("usleep");
        if (poll(NULL, 0, i % 50 == 0) < 0)
            bad += failed("poll");
        if (ppoll(NULL, 0, &brief, NULL) < 0)
            bad += failed("ppoll");
        if (select(0, NULL, NULL, NULL, &tv) < 0)
            bad += failed("select");
        if (pselect(0, NULL, NULL, NULL, &brief, NULL) < 0)
            bad += failed("pselect");
        if (epoll_wait(epoll, &(struct epoll_event){ 0 }, 1, i % 50 == 0) < 0)
            bad += failed("epoll_wait");
        if (sigtimedwait(&none, NULL, &brief) >= 0 || errno != EAGAIN)
            bad += failed("sigtimedwait");
    }
    printf("%d failed\n", bad);
    return bad != 0;
}

static void on_signal(int sig)
{
    handled[sig == SIGWINCH]++;
}

/* The program's own signals arrive, and no others. */
static int handler(void)
{
    struct sigaction a = { .sa_handler = on_signal }, old;

    work(30);
    for (int i = 0; i < 2; i++) {
        sigaction(i ? SIGWINCH : SIGURG, &a, &old);
        printf("before: %d\n", old.sa_handler == SIG_DFL);
    }
    for (int i = 0; i < 40; i++) {
        work(2);
        kill(getpid(), SIGURG);
        kill(getpid(), SIGWINCH);
    }
    work(30);
    printf("SIGURG %d, SIGWINCH %d\n", handled[0], handled[1]);
    sigaction(SIGWINCH, NULL, &old);
    printf("after: %d\n", old.sa_handler == on_signal);
    return 0;
}

static void *blocked_thread(void *unused)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    work(200);
    print_mask("mask of the thread");
    sigdelset(&all, SIGURG);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    print_mask("mask without SIGURG");
    return unused;
}

static int blocked(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, blocked_thread, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    print_mask("mask of the program");
    return 0;
}

static int ignored(const char *self)
{
    sigset_t one;

    signal(SIGURG, SIG_IGN);
    sigemptyset(&one);
    sigaddset(&one, SIGURG);
    sigprocmask(SIG_BLOCK, &one, NULL);
    work(30);
    fflush(stdout);
    execl(self, self, "state", (char *)NULL);
    return 1;
}

static int from_descriptor(void)
{
    struct signalfd_siginfo got;
    sigset_t one;
    int fd, n = 0;

    work(30);
    sigemptyset(&one);
    sigaddset(&one, SIGURG);
    sigprocmask(SIG_BLOCK, &one, NULL);
    fd = signalfd(-1, &one, SFD_NONBLOCK);
    for (int i = 0; i < 40; i++) {
        work(2);
        kill(getpid(), SIGURG);
        while (read(fd, &got, sizeof got) == (ssize_t)sizeof got)
            n += got.ssi_pid == (uint32_t)getpid();
    }
    printf("%d signals\n", n);
    return 0;
}

static int commands(const char *self)
{
    char command[4096], line[4096], *const argv[] = { (char *)self, "state", NULL };
    char *const nothing[] = { NULL };
    int status;
    FILE *f;
    pid_t pid;

    snprintf(command, sizeof command, "%s state; exit 3", self);
    fflush(stdout);
    status = system(command);
    printf("status %d\n", WEXITSTATUS(status));
    printf("shell: %d\n", system(NULL) != 0);
    fflush(stdout);
    f = popen(command, "r");
    while (f && fgets(line, sizeof line, f))
        printf("  %s", line);
    printf("status %d\n", f ? WEXITSTATUS(pclose(f)) : -1);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        execve(self, argv, nothing);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    printf("status %d\n", WEXITSTATUS(status));
    return 5;
}

/* SIZE bytes between inaccessible pages. */
static char *alone(size_t size)
{
    char *p = mmap(NULL, size + 2 * GAP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p + GAP, size, PROT_READ | PROT_WRITE) < 0)
        exit(1);
    return p + GAP;
}

static void set_filter(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = { 1, &allow };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
        exit(1);
}

#if defined(__x86_64__)
/* Samples hit the start of the code, while a register has the value of a system call that was
 * interrupted. */
static int edge(void)
{
    static char from[1 << 20], to[1 << 20];
    static const unsigned char copy[] = { 0xf3, 0xa4, 0xc3 }; /* rep movsb; ret */
    char *code = alone(GAP);
    struct timespec t;

    memcpy(code, copy, sizeof copy);
    if (mprotect(code, GAP, PROT_READ | PROT_EXEC) < 0)
        return 1;
    do {
        const char *s = from;
        char *d = to;
        long n = sizeof from;

        __asm__ volatile("call *%3"
                         : "+D"(d), "+S"(s), "+c"(n)
                         : "r"(code), "a"(-(long)EINTR)
                         : "memory");
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 200000000);
    puts("copied");
    return 0;
}
#else
static int edge(void)
{
    puts("copied");
    return 0;
}
#endif

static void on_fiber(void)
{
    work(100);
    keep++; /* no tail call */
}

static void *fiber_thread(void *unused)
{
    static __thread ucontext_t here, fiber;

    work(20);
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = alone(4 * GAP);
    fiber.uc_stack.ss_size = 4 * GAP;
    fiber.uc_link = &here;
    makecontext(&fiber, on_fiber, 0);
    swapcontext(&here, &fiber);
    return unused;
}

static int fibers(bool filter)
{
    pthread_t thread[2];

    work(30); /* the agent learns the id of this thread */
    if (filter)
        set_filter();
    fiber_thread(NULL);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, fiber_thread, NULL) != 0)
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    puts("worked");
    return 0;
}

static int start(char **command)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        execv(command[0], command);
        _exit(127);
    }
    return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long n = argc > 2 ? atol(argv[2]) : 0;

    if (strcmp(mode, "state") == 0)
        return state();
    if (strcmp(mode, "calls") == 0)
        return calls(n);
    if (strcmp(mode, "handler") == 0)
        return handler();
    if (strcmp(mode, "blocked") == 0)
        return blocked();
    if (strcmp(mode, "ignored") == 0)
        return ignored(argv[0]);
    if (strcmp(mode, "signalfd") == 0)
        return from_descriptor();
    if (strcmp(mode, "run") == 0)
        return start(argv + 2);
    if (strcmp(mode, "commands") == 0)
        return commands(argv[0]);
    if (strcmp(mode, "edge") == 0)
        return edge();
    if (strcmp(mode, "fiber") == 0)
        return fibers(argc > 2);
    work(n);
    return 0;
}
