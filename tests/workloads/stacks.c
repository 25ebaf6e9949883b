/* stacks.c - stacks on which an unexpected signal handler might not fit.
 *     view           print what sigaltstack answers
 *     alternate MS   work with an alternate stack of 2 KB
 *     threads N      N threads with the smallest stacks, which they use almost completely
 *     contexts N     N switches between coroutines with stacks of 8 KB
 *     overflow       overflow the stack; a handler on the alternate stack jumps out of it
 *     overflows      without an alternate stack: SIGSEGV ends the program
 * build: stacks gcc -O2 -g -fno-stack-protector -pthread -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { SMALL = 2048, LARGE = 64 << 10, COROUTINE = 8 << 10, COROUTINES = 4, PAGE = 4096 };

static volatile uint64_t keep;
static sigjmp_buf out;

__attribute__((noinline)) static void stack_work(long ms)
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

static void show(const char *what, const void *mine)
{
    stack_t s;

    if (sigaltstack(NULL, &s) < 0)
        printf("%s: %s\n", what, strerror(errno));
    else
        printf("%s: flags %x, size %zu, %s\n", what, (unsigned)s.ss_flags, s.ss_size,
               s.ss_sp == mine ? "mine" : "other");
}

static void try(const char *what, void *sp, size_t size, int flags)
{
    stack_t s = { .ss_sp = sp, .ss_size = size, .ss_flags = flags }, old;

    errno = 0;
    if (sigaltstack(&s, &old) == 0)
        printf("%s: before %x\n", what, (unsigned)old.ss_flags);
    else
        printf("%s: %s\n", what, strerror(errno));
    show("  now", sp);
}

static char alternate[LARGE];

static void *view_of_thread(void *unused)
{
    char *mine = malloc(LARGE);

    show("thread", NULL);
    try("small", mine, SMALL, 0);
    stack_work(10);
    try("large", mine, LARGE, 0);
    stack_work(10);
    try("none", NULL, 0, SS_DISABLE);
    free(mine);
    return unused;
}

static void on_user(int sig)
{
    stack_t none = { .ss_flags = SS_DISABLE };
    int on;

    (void)sig;
    show("in handler", alternate);
    on = sigaltstack(&none, NULL);
    printf("change: %d %s\n", on, on < 0 ? strerror(errno) : "");
}

static int view(void)
{
    struct sigaction a = { .sa_handler = on_user, .sa_flags = SA_ONSTACK };
    pthread_attr_t attributes;
    pthread_t thread;

    show("start", NULL);
    try("too small", alternate, 1000, 0);
    try("bad flags", alternate, LARGE, 12345);
    try("bad flags, small", alternate, SMALL, 12345);
    try("small", alternate, SMALL, 0);
    stack_work(20);
    try("none", NULL, 0, SS_DISABLE);
    try("large", alternate, LARGE, SS_ONSTACK);
    sigaction(SIGUSR1, &a, NULL);
    raise(SIGUSR1);
    try("none", NULL, 0, SS_DISABLE);
    pthread_attr_init(&attributes);
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&thread, &attributes, view_of_thread, NULL) != 0)
            return 1;
        pthread_join(thread, NULL);
        pthread_attr_setstacksize(&attributes, 48 << 10);
    }
    return 0;
}

/* Fill the stack below this frame up to ROOM bytes above its end. */
__attribute__((noinline)) static void *use_stack(void *room)
{
    pthread_attr_t a;
    char here;
    void *low;
    size_t size;

    pthread_getattr_np(pthread_self(), &a);
    pthread_attr_getstack(&a, &low, &size);
    pthread_attr_destroy(&a);
    {
        size_t n = (size_t)(&here - (char *)low) - (size_t)room;
        volatile char *all = __builtin_alloca(n);

        for (size_t i = 0; i < n; i += 64)
            all[i] = (char)i;
        for (int i = 0; i < 2000000; i++)
            keep += (uint64_t)i;
    }
    return NULL;
}

static int threads(long n)
{
    pthread_attr_t a;
    pthread_t thread;

    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, (size_t)sysconf(_SC_THREAD_STACK_MIN));
    for (long i = 0; i < n; i++) {
        int rc = pthread_create(&thread, &a, use_stack, (void *)(uintptr_t)1024);

        if (rc != 0) {
            printf("pthread_create: %s\n", strerror(rc));
            return 1;
        }
        pthread_join(thread, NULL);
    }
    printf("%ld threads\n", n);
    return 0;
}

static ucontext_t back, coroutine[COROUTINES];
static long turns[COROUTINES];

static void run_coroutine(int i)
{
    for (;;) {
        volatile char used[2048];

        for (size_t k = 0; k < sizeof used; k += 64)
            used[k] = (char)k;
        for (int k = 0; k < 200000; k++)
            keep += (uint64_t)k;
        turns[i]++;
        swapcontext(&coroutine[i], &back);
    }
}

static int contexts(long n)
{
    for (int i = 0; i < COROUTINES; i++) {
        char *p = mmap(NULL, PAGE + COROUTINE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);

        mprotect(p, PAGE, PROT_NONE);
        /* Only 3 KB of it: not enough for the kernel's part of a handler. */
        getcontext(&coroutine[i]);
        coroutine[i].uc_stack.ss_sp = p + PAGE;
        coroutine[i].uc_stack.ss_size = 4000;
        coroutine[i].uc_link = NULL;
        makecontext(&coroutine[i], (void (*)(void))(uintptr_t)run_coroutine, 1, i);
    }
    for (long k = 0; k < n; k++)
        swapcontext(&back, &coroutine[k % COROUTINES]);
    for (int i = 0; i < COROUTINES; i++)
        printf("%ld turns\n", turns[i]);
    show("now", NULL);
    return 0;
}

__attribute__((noinline)) static int deeper(int n)
{
    volatile char frame[4096];

    frame[0] = (char)n;
    return n > 1 << 30 ? 0 : deeper(n + 1) + frame[0];
}

static void on_fault(int sig)
{
    siglongjmp(out, sig);
}

static int overflow(bool has_stack, int times)
{
    stack_t s = { .ss_sp = alternate, .ss_size = sizeof alternate };
    struct sigaction a = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };
    static int n;

    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    if (has_stack)
        sigaltstack(&s, NULL);
    sigaction(SIGSEGV, &a, NULL);
    while (n++ < times) {
        int sig = sigsetjmp(out, 1);

        if (sig == 0)
            keep += (uint64_t)deeper(0);
        else
            printf("signal %d\n", sig);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long n = argc > 2 ? atol(argv[2]) : 10;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(mode, "view") == 0)
        return view();
    if (strcmp(mode, "threads") == 0)
        return threads(n);
    if (strcmp(mode, "contexts") == 0)
        return contexts(n);
    if (strcmp(mode, "overflow") == 0)
        return overflow(true, 5);
    if (strcmp(mode, "overflows") == 0)
        return overflow(false, 1);
    try("small", alternate, SMALL, 0);
    stack_work(n);
    return 0;
}
