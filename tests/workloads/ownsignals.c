/* ownsignals.c - a program that uses the signals of a recorder, and all functions that set handlers.
 *     shared HOW     handle SIGURG and SIGWINCH, both used by a recorder, and count them.  HOW:
 *         restart    with SA_RESTART
 *         plain      without: they interrupt all calls
 *         nothing    with SA_RESTART, and no room for queued signals (RLIMIT_SIGPENDING)
 *     functions      signal, sigaction and the like: what they return and do
 *     threads N      N signals to single threads, none of which may be lost
 *     ignored        SIG_IGN, and what programs see that it starts in three ways
 *     jumps N        leave N handlers by siglongjmp, and N by longjmp
 *     stop           stop itself and be continued by a child
 * build: ownsignals gcc -O2 -g -pthread -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern char **environ;
extern __sighandler_t __sysv_signal(int sig, __sighandler_t to);
static volatile uint64_t keep;
static volatile int count[NSIG];
static sigjmp_buf out;

__attribute__((noinline)) static void signal_work(long ms)
{
    struct timespec t;
    long end;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    end = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
    do {
        for (int i = 0; i < 20000; i++)
            keep += (uint64_t)i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < end);
}

static void on_signal(int sig)
{
    count[sig]++;
}

static void on_info(int sig, siginfo_t *info, void *context)
{
    count[sig] += info->si_signo == sig && context;
}

static void show(int sig)
{
    struct sigaction a;

    sigaction(sig, NULL, &a);
    printf("  %d: %s flags %lx mask", sig,
           a.sa_handler == SIG_DFL                     ? "default"
           : a.sa_handler == SIG_IGN                   ? "ignored"
           : a.sa_handler == on_signal                 ? "on_signal"
           : (void *)a.sa_sigaction == (void *)on_info ? "on_info"
                                                       : "other",
           (unsigned long)a.sa_flags & 0xfbffffff); /* without SA_RESTORER */
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&a.sa_mask, i) == 1)
            printf(" %d", i);
    printf("\n");
}

static int shared(const char *how)
{
    struct sigaction a = { .sa_handler = on_signal, .sa_flags = how[0] == 'p' ? 0 : SA_RESTART };

    if (how[0] == 'n')
        setrlimit(RLIMIT_SIGPENDING, &(struct rlimit){ 0, 0 });
    signal_work(20);
    sigaction(SIGURG, &a, NULL);
    sigaction(SIGWINCH, &a, NULL);
    for (int i = 0; i < 20; i++) {
        signal_work(3);
        kill(getpid(), SIGURG);
        signal_work(3);
        kill(getpid(), SIGWINCH);
    }
    signal_work(20);
    printf("SIGURG %d, SIGWINCH %d\n", count[SIGURG], count[SIGWINCH]);
    show(SIGURG);
    show(SIGWINCH);
    signal(SIGURG, SIG_DFL);
    signal(SIGWINCH, SIG_IGN);
    raise(SIGURG);
    raise(SIGWINCH);
    show(SIGURG);
    show(SIGWINCH);
    signal_work(20);
    return 0;
}

static void functions(void)
{
    static const int signals[] = { SIGUSR1, SIGURG, SIGWINCH, SIGALRM };

    for (int i = 0; i < 4; i++) {
        struct sigaction a = { .sa_sigaction = on_info,
                               .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND | SA_NODEFER) };
        int sig = signals[i];

        signal_work(4);
        printf("%d\n", signal(sig, on_signal) == SIG_DFL);
        show(sig);
        raise(sig);
        signal_work(4);
        printf("%d\n", siginterrupt(sig, 1));
        show(sig);
        printf("%d\n", signal(sig, SIG_IGN) == on_signal);
        show(sig);
        printf("%d\n", __sysv_signal(sig, on_signal) == SIG_IGN);
        show(sig);
        signal_work(4);
        raise(sig);
        show(sig);
        sigaddset(&a.sa_mask, SIGTERM);
        sigaction(sig, &a, NULL);
        show(sig);
        signal_work(4);
        raise(sig);
        show(sig);
        printf("%d\n", sigset(sig, on_signal) == SIG_DFL);
        show(sig);
        signal(sig, SIG_DFL);
        printf("count %d\n", count[sig]);
    }
    printf("%d", signal(SIGKILL, on_signal) == SIG_ERR);
    printf(" %s", strerror(errno));
    printf(" %d", signal(1000, on_signal) == SIG_ERR);
    printf(" %s", strerror(errno));
    printf(" %d", sigaction(-1, NULL, NULL));
    printf(" %s\n", strerror(errno));
}

static volatile int received, done;

static void on_directed(int sig)
{
    (void)sig;
    received++;
}

static void *receive(void *unused)
{
    while (!done)
        for (int i = 0; i < 1000; i++)
            keep += (uint64_t)i;
    return unused;
}

/* The handler runs once for each signal: the sender waits for it. */
static int threads(long n)
{
    struct sigaction a = { .sa_handler = on_directed, .sa_flags = SA_RESTART };
    pthread_t thread;

    sigaction(SIGURG, &a, NULL);
    sigaction(SIGWINCH, &a, NULL);
    pthread_create(&thread, NULL, receive, NULL);
    for (long i = 0; i < n; i++) {
        int before = received;

        pthread_kill(thread, i % 2 ? SIGURG : SIGWINCH);
        while (received == before)
            sched_yield();
    }
    done = 1;
    pthread_join(thread, NULL);
    printf("%d signals\n", received);
    return 0;
}

static int ignored(const char *self)
{
    char *const argv[] = { (char *)self, (char *)"show", NULL };
    int status;
    pid_t pid;

    signal_work(20);
    signal(SIGURG, SIG_IGN);
    signal(SIGWINCH, SIG_IGN);
    signal_work(20);
    fflush(stdout);
    for (int i = 0; i < 3; i++) {
        if (i == 0)
            posix_spawn(&pid, self, NULL, NULL, argv, environ);
        else if ((pid = i == 1 ? vfork() : fork()) == 0) {
            execv(self, argv);
            _exit(1);
        }
        waitpid(pid, &status, 0);
    }
    show(SIGURG);
    return 0;
}

static void on_jump(int sig)
{
    count[sig]++;
    siglongjmp(out, 1);
}

static int jumps(long n)
{
    struct sigaction a = { .sa_handler = on_jump, .sa_flags = SA_NODEFER };
    struct itimerval soon = { { 0, 1000 }, { 0, 1000 } };
    sigset_t mask;

    sigaction(SIGALRM, &a, NULL);
    sigaction(SIGURG, &a, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    for (volatile long i = 0; i < 2 * n; i++) {
        if (sigsetjmp(out, i < n) == 0)
            for (;;)
                nanosleep(&(struct timespec){ 0, 100000 }, NULL);
        if (i % 16 == 0 && sigsetjmp(out, 1) == 0)
            raise(SIGURG);
    }
    setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    printf("%s\n", sigisemptyset(&mask) ? "no signal is blocked" : "signals are blocked");
    return 0;
}

static int stop(void)
{
    for (int i = 0; i < 5; i++) {
        pid_t parent = getpid(), pid = fork();
        char line[64] = "";

        if (pid == 0) {
            char path[64];

            snprintf(path, sizeof path, "/proc/%d/stat", parent);
            for (;;) {
                FILE *f = fopen(path, "r");
                char state = 0;

                if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
                    _exit(1);
                fclose(f);
                if (state == 'T')
                    break;
                usleep(1000);
            }
            kill(parent, SIGCONT);
            _exit(0);
        }
        signal_work(20);
        raise(SIGSTOP);
        signal_work(20);
        waitpid(pid, NULL, 0);
        snprintf(line, sizeof line, "continued");
        puts(line);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long n = argc > 2 ? atol(argv[2]) : 10;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(mode, "shared") == 0)
        return shared(argc > 2 ? argv[2] : "restart");
    if (strcmp(mode, "threads") == 0)
        return threads(n);
    if (strcmp(mode, "ignored") == 0)
        return ignored(argv[0]);
    if (strcmp(mode, "jumps") == 0)
        return jumps(n);
    if (strcmp(mode, "stop") == 0)
        return stop();
    if (strcmp(mode, "show") == 0)
        for (int i = 1; i < 32; i++)
            show(i);
    else
        functions();
    return 0;
}
