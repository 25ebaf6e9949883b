/* test_unwind_step.c - single-step a child and unwind at each instruction.  Each walk must reach
 * the root, and one instruction may change the callers by at most one call or return.  x86_64
 * only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unw_self.h"
#if defined __x86_64__ && !defined UNW_SELF_SANITIZED
#include "test.h"

#include <alloca.h>
#include <errno.h>
#include <search.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

enum { MOST = 100, STACK = 1 << 16, STEPS = 60000 };

static volatile int keep;

#define NOINLINE __attribute__((noinline, noclone))

struct stepper {
    pid_t pid;
    struct unw_space *space;
    struct unw_cache *cache;
    uint64_t stack_top;
    struct unw_frame before[MOST], now[MOST];
    size_t n_before, n;
    unsigned long steps, failed;
};

/* --- code to step through --- */

NOINLINE static int recurse(int n)
{
    return n ? recurse(n - 1) + keep : keep++;
}

__attribute__((noinline, noclone, optimize("omit-frame-pointer"))) static int no_fp(int n)
{
    volatile char local[100];

    local[n] = (char)recurse(n);
    return local[n];
}

NOINLINE static int realigned(int n)
{
    __attribute__((aligned(64))) volatile char local[64];
    char *p = alloca((size_t)n * 24 + 16);

    local[n] = *p = (char)no_fp(n);
    return local[n] + *p;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void on_signal(int sig)
{
    recurse(2);
}

NOINLINE static void plain(void)
{
    for (int i = 1; i < 4; i++)
        realigned(i);
}

NOINLINE static void library(void)
{
    int v[] = { 5, 3, 1, 4, 9, 2 };
    char text[100];

    qsort(v, ARRAY_LEN(v), sizeof *v, compare_ints);
    keep += snprintf(text, sizeof text, "%g %s %d", 3.25 + keep, "word", keep);
    keep += (int)strlen(text) + (int)strtol("123", NULL, 10);
    free(malloc(100000 + (size_t)keep));
}

/* Functions that nothing else calls: the first call uses lazy binding, if enabled. */
NOINLINE static void lazy(void)
{
    unsigned long long key = 3, v[] = { 1, 2, 3 };
    size_t n = ARRAY_LEN(v);

    keep += lfind(&key, v, &n, sizeof *v, compare_ints) != NULL;
    keep += (int)((char *)memfrob(&key, sizeof key))[0];
}

NOINLINE static void with_signal(void)
{
    raise(SIGUSR1);
    keep++;
}

/* --- stepping --- */

static bool is_suffix(const struct unw_frame *a, size_t n, const struct unw_frame *b, size_t m)
{
    if (n != m)
        return false;
    for (size_t i = 0; i < n; i++)
        if (a[i].pc != b[i].pc || a[i].sp != b[i].sp)
            return false;
    return true;
}

/* Callers (all frames except the leaf) are the same, or one more, or one fewer. */
static bool follows(const struct stepper *s)
{
    const struct unw_frame *a = s->before + 1, *b = s->now + 1;
    size_t n = s->n_before - 1, m = s->n - 1;

    return is_suffix(a, n, b, m) || (m && is_suffix(a, n, b + 1, m - 1)) ||
           (n && is_suffix(a + 1, n - 1, b, m));
}

static void show(const char *what, const struct unw_frame *f, size_t n)
{
    printf("# %s:", what);
    for (size_t i = 0; i < n; i++)
        printf(" %#lx/%#lx", (unsigned long)f[i].pc, (unsigned long)f[i].sp);
    printf("\n");
}

static void walk_child(struct stepper *s, bool signalled)
{
    static unsigned char copy[STACK];
    struct user_regs_struct r;
    struct unw_regs regs;
    struct iovec to, from;
    struct unw_stack stack;
    enum unw_end end;
    ssize_t got;

    CHECK_EQ(ptrace(PTRACE_GETREGS, s->pid, NULL, &r), 0);
    regs = (struct unw_regs){ r.rip, r.rsp, r.rbp, 0, r.rbx, r.r10 };
    to = (struct iovec){ copy, sizeof copy };
    from = (struct iovec){ (void *)r.rsp, sizeof copy };
    if (from.iov_len > s->stack_top - r.rsp)
        from.iov_len = s->stack_top - r.rsp;
    got = process_vm_readv(s->pid, &to, 1, &from, 1, 0);
    CHECK(got > 0);
    stack = (struct unw_stack){ r.rsp, copy, (size_t)got };
    memcpy(s->before, s->now, sizeof s->now);
    s->n_before = s->n;
    end = unw_walk(s->space, s->cache, regs, &stack, s->now, MOST, &s->n);
    if (end == UNW_ROOT && (s->n_before == 0 || signalled || follows(s)))
        return;
    printf("# step %lu ends %d\n", s->steps, end);
    show("before", s->before, s->n_before);
    show("now", s->now, s->n);
    s->n = 0;
    s->failed++;
}

/* Step the child until it stops itself again, or up to a limit. */
static void step_all(struct stepper *s)
{
    bool signalled = false;
    int status, pass = 0;

    while (s->steps < STEPS) {
        CHECK_EQ(ptrace(PTRACE_SINGLESTEP, s->pid, NULL, pass), 0);
        CHECK_EQ(waitpid(s->pid, &status, 0), s->pid);
        CHECK(WIFSTOPPED(status));
        if (WSTOPSIG(status) == SIGSTOP)
            return;
        pass = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        /* Entering a handler pushes two frames at once; leaving it pops both. */
        signalled = signalled || pass;
        walk_child(s, signalled);
        s->steps++;
    }
}

/* MOST_FAILED per thousand: other versions of the C library may have code with wrong CFI. */
static void step_through(void (*work)(void), unsigned most_failed)
{
    struct stepper s = { .space = unw_self_space(), .cache = cfi_cache_new(),
                         .stack_top = unw_self_stack_top() };
    int status;

    s.pid = fork();
    if (s.pid == 0) {
        signal(SIGUSR1, on_signal);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(9);
        kill(getpid(), SIGSTOP);
        work();
        kill(getpid(), SIGSTOP);
        _exit(0);
    }
    CHECK_EQ(waitpid(s.pid, &status, 0), s.pid);
    if (!WIFSTOPPED(status))
        test_skip("ptrace is refused");
    step_all(&s);
    kill(s.pid, SIGKILL);
    waitpid(s.pid, &status, 0);
    printf("# %lu instructions, by rule %lu, by frame pointer %lu, by guess %lu\n", s.steps,
           (unsigned long)unw_cache_stats(s.cache)->by_rule,
           (unsigned long)unw_cache_stats(s.cache)->by_fp,
           (unsigned long)unw_cache_stats(s.cache)->by_guess);
    CHECK(s.steps > 100);
    CHECK(s.failed * 1000 <= s.steps * most_failed);
}

TEST(unwind_is_complete_at_every_instruction_of_plain_and_realigned_code)
{
    step_through(plain, 0);
}

TEST(unwind_is_complete_at_every_instruction_of_library_calls)
{
    step_through(library, 5);
}

TEST(unwind_is_complete_at_every_instruction_of_lazy_binding)
{
    step_through(lazy, 5);
}

TEST(unwind_is_complete_at_every_instruction_of_a_signal)
{
    step_through(with_signal, 5);
}
#endif
