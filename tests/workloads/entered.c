/* entered.c - a running program that a recorder enters.  Its output and status must not show that.
 *     registers MS   use MS ms of CPU time, and check all registers, flags, the red zone and errno
 *     KIND           wait until standard input has a line; a call that fails with EINTR is fatal.
 *                    KIND: read poll ppoll select epoll futex timed sigwait sleep pause
 *     signals MS     work, raise SIGURG now and then, and count what its handler sees
 *     forks MS       wait for a line, then fork a child that works
 *     threads MS     two threads work, one three times as long as the other
 *     blocked M N    work for M ms, then for N ms in a thread that blocks all signals
 *     coroutine MS   work on a small stack of its own
 * build: entered gcc -O2 -g -pthread -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile uint64_t keep;

static long cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__attribute__((noinline)) static void work(long ms)
{
    uint64_t x = 88172645463325252u;
    long end = cpu_ms() + ms;

    do {
        for (int i = 0; i < 20000; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        keep += x;
    } while (cpu_ms() < end);
}

/* --- registers --- */

#if defined(__x86_64__)
struct state { /* in the order in which the code below stores it */
    uint64_t integer[8];
    uint64_t vector[32];
    uint64_t carry, below[2];
    uint32_t mxcsr, pad;
    double x87;
};

/* Set registers, spin, store them.  No instruction in the loop changes the carry flag.  rsp has a
 * red zone, as this function calls nothing. */
#define SPIN(set, store, save)                                                                 \
    __asm__ volatile(                                                                          \
        "movq $0x1111, %%r8\n movq $0x2222, %%r9\n movq $0x3333, %%r10\n movq $0x4444, %%r11\n" \
        "movq $0x5555, %%r12\n movq $0x6666, %%r13\n movq $0x7777, %%r14\n"                    \
        "movq $0x8888, %%r15\n"                                                                \
        "movq $0x9999, -16(%%rsp)\n movq $0xaaaa, -120(%%rsp)\n"                               \
        "fldpi\n ldmxcsr %[rounding]\n" set                                                    \
        "stc\n"                                                                                \
        "1: decl %%ecx\n jnz 1b\n"                                                             \
        "setc %%al\n movzbl %%al, %%eax\n"                                                     \
        "movq %%r8, 0(%%rdi)\n movq %%r9, 8(%%rdi)\n movq %%r10, 16(%%rdi)\n"                  \
        "movq %%r11, 24(%%rdi)\n movq %%r12, 32(%%rdi)\n movq %%r13, 40(%%rdi)\n"              \
        "movq %%r14, 48(%%rdi)\n movq %%r15, 56(%%rdi)\n" store                                \
        "movq %%rax, 320(%%rdi)\n"                                                             \
        "movq -16(%%rsp), %%rax\n movq %%rax, 328(%%rdi)\n"                                    \
        "movq -120(%%rsp), %%rax\n movq %%rax, 336(%%rdi)\n"                                   \
        "stmxcsr 344(%%rdi)\n fstpl 352(%%rdi)\n ldmxcsr %[normal]\n"                          \
        : "+c"(n)                                                                              \
        : "D"(save), [rounding] "m"(rounding), [normal] "m"(normal)                            \
        : "rax", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm7", \
          "xmm15", "cc", "memory")

__attribute__((noinline)) static void spin_sse(struct state *s, uint32_t n)
{
    static const uint32_t rounding = 0x7f80, normal = 0x1f80;

    SPIN("movq %%r8, %%xmm0\n movq %%r9, %%xmm7\n movq %%r10, %%xmm15\n"
         "punpcklqdq %%xmm15, %%xmm15\n",
         "movdqu %%xmm0, 64(%%rdi)\n movdqu %%xmm7, 80(%%rdi)\n movdqu %%xmm15, 96(%%rdi)\n", s);
}

__attribute__((noinline, target("avx2"))) static void spin_avx(struct state *s, uint32_t n)
{
    static const uint32_t rounding = 0x7f80, normal = 0x1f80;

    SPIN("vmovq %%r8, %%xmm0\n vbroadcastsd %%xmm0, %%ymm0\n vmovq %%r9, %%xmm7\n"
         "vbroadcastsd %%xmm7, %%ymm7\n vmovq %%r10, %%xmm15\n vbroadcastsd %%xmm15, %%ymm15\n",
         "vmovdqu %%ymm0, 64(%%rdi)\n vmovdqu %%ymm7, 96(%%rdi)\n vmovdqu %%ymm15, 128(%%rdi)\n"
         "vzeroupper\n", s);
}

static int check_registers(long ms)
{
    void (*spin)(struct state *, uint32_t) = __builtin_cpu_supports("avx2") ? spin_avx : spin_sse;
    struct state first, now;
    long end = cpu_ms() + ms;

    memset(&first, 0, sizeof first);
    spin(&first, 1);
    do {
        memset(&now, 0, sizeof now);
        errno = 77;
        spin(&now, 3000000);
        if (errno != 77 || !now.carry || memcmp(&now, &first, sizeof now) != 0) {
            printf("registers have changed\n");
            return 1;
        }
    } while (cpu_ms() < end);
    printf("registers are the same\n");
    return 0;
}
#else
static int check_registers(long ms)
{
    work(ms);
    printf("registers are the same\n");
    return 0;
}
#endif

/* --- waiting --- */

static sem_t semaphore;
static pthread_t main_thread;

/* Helper threads block all signals, so that those of the test reach the main thread. */
static void *post(void *with)
{
    sigset_t all;
    char line[16];

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    if (read(0, line, sizeof line) <= 0)
        exit(2);
    if (with)
        pthread_kill(main_thread, SIGUSR1);
    else
        sem_post(&semaphore);
    return NULL;
}

static void start_helper(void *with)
{
    pthread_t t;

    main_thread = pthread_self();
    pthread_create(&t, NULL, post, with);
}

static void on_signal(int sig)
{
    (void)sig;
    keep++;
}

static int must(const char *what, long rc)
{
    if (rc < 0)
        printf("%s: %s\n", what, strerror(errno));
    return rc < 0;
}

static int wait_epoll(void)
{
    struct epoll_event e = { .events = EPOLLIN };
    int fd = epoll_create1(0);

    epoll_ctl(fd, EPOLL_CTL_ADD, 0, &e);
    return must("epoll_wait", epoll_wait(fd, &e, 1, -1));
}

static int wait_select(void)
{
    fd_set set;

    FD_ZERO(&set);
    FD_SET(0, &set);
    return must("select", select(1, &set, NULL, NULL, &(struct timeval){ 600, 0 }));
}

static int wait_signal(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    start_helper("signal");
    return must("sigtimedwait", sigtimedwait(&set, NULL, &(struct timespec){ 600, 0 }));
}

/* A relative sleep that is interrupted continues with what is left. */
static int wait_sleep(void)
{
    struct timespec from, to, rest = { 0, 0 };
    double s;

    clock_gettime(CLOCK_MONOTONIC, &from);
    if (must("nanosleep", nanosleep(&(struct timespec){ 4, 0 }, &rest)))
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &to);
    s = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    if (s < 4)
        printf("slept %.6f s\n", s);
    return s < 4;
}

static int wait_pause(void)
{
    struct sigaction a = { .sa_handler = on_signal };

    sigaction(SIGUSR1, &a, NULL);
    start_helper("signal");
    pause();
    return keep != 1;
}

static int wait_for(const char *kind)
{
    struct pollfd p = { .fd = 0, .events = POLLIN };
    struct timespec long_time = { 600, 0 };
    char line[16];

    if (strcmp(kind, "read") == 0)
        return must("read", read(0, line, sizeof line));
    if (strcmp(kind, "poll") == 0)
        return must("poll", poll(&p, 1, 600000));
    if (strcmp(kind, "ppoll") == 0)
        return must("ppoll", ppoll(&p, 1, &long_time, NULL));
    if (strcmp(kind, "select") == 0)
        return wait_select();
    if (strcmp(kind, "epoll") == 0)
        return wait_epoll();
    if (strcmp(kind, "sleep") == 0)
        return wait_sleep();
    if (strcmp(kind, "sigwait") == 0)
        return wait_signal();
    if (strcmp(kind, "pause") == 0)
        return wait_pause();
    sem_init(&semaphore, 0, 0);
    start_helper(NULL);
    if (strcmp(kind, "futex") == 0)
        return must("sem_wait", sem_wait(&semaphore));
    clock_gettime(CLOCK_REALTIME, &long_time);
    long_time.tv_sec += 600;
    return must("sem_timedwait", sem_timedwait(&semaphore, &long_time));
}

/* --- others --- */

static int count_signals(long ms)
{
    struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, now;
    volatile uint64_t handled;

    sigaction(SIGURG, &a, NULL);
    keep = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t before = keep;

        raise(SIGURG);
        handled = keep - before;
        if (handled != 1)
            return 1;
        work(ms / 20);
        keep = 0;
    }
    sigaction(SIGURG, NULL, &now);
    printf("%s\n", now.sa_handler == on_signal ? "as before" : "another handler");
    return 0;
}

__attribute__((noinline)) static void work_in_child(long ms)
{
    work(ms);
    keep++;
}

static int fork_one(long ms)
{
    char line[16];
    int status;
    pid_t pid;

    if (must("read", read(0, line, sizeof line)))
        return 1;
    pid = fork();
    if (pid == 0) {
        work_in_child(ms);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    printf("%d\n", status);
    return 0;
}

__attribute__((noinline)) static void *work_three(void *with)
{
    work(3 * *(long *)with);
    keep++;
    return NULL;
}

__attribute__((noinline)) static void *work_one(void *with)
{
    work(*(long *)with);
    keep++;
    return NULL;
}

static int run_threads(long ms)
{
    pthread_t a, b;

    pthread_create(&a, NULL, work_three, &ms);
    pthread_create(&b, NULL, work_one, &ms);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("done\n");
    return 0;
}

static void *work_blocked(void *with)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    work(*(long *)with);
    pthread_sigmask(SIG_SETMASK, NULL, &all);
    keep = (uint64_t)sigismember(&all, SIGURG);
    return NULL;
}

static int run_blocked(long first, long ms)
{
    pthread_t t;

    work(first);
    pthread_create(&t, NULL, work_blocked, &ms);
    pthread_join(t, NULL);
    printf("%s\n", keep == 1 ? "blocked" : "not blocked");
    return 0;
}

static ucontext_t main_context, other;
static long coroutine_ms;

static void coroutine(void)
{
    work(coroutine_ms);
}

static int run_coroutine(long ms)
{
    static char stack[32 << 10];

    coroutine_ms = ms;
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = sizeof stack;
    other.uc_link = &main_context;
    makecontext(&other, coroutine, 0);
    swapcontext(&main_context, &other);
    printf("done\n");
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long ms = argc > 2 ? atol(argv[2]) : 0;
    int rc;

    if (strcmp(mode, "registers") == 0)
        return check_registers(ms);
    if (strcmp(mode, "signals") == 0)
        return count_signals(ms);
    if (strcmp(mode, "forks") == 0)
        return fork_one(ms);
    if (strcmp(mode, "threads") == 0)
        return run_threads(ms);
    if (strcmp(mode, "blocked") == 0)
        return run_blocked(ms, argc > 3 ? atol(argv[3]) : ms);
    if (strcmp(mode, "coroutine") == 0)
        return run_coroutine(ms);
    rc = wait_for(mode);
    printf("%s\n", rc ? "failed" : "done");
    return rc;
}
