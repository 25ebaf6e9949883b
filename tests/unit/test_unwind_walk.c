/* test_unwind_walk.c - walk the stack of this process through every kind of frame, and compare
 * with libgcc's unwinder (backtrace).  x86_64 only, because it reads registers itself.  Sanitizers
 * replace stacks and backtrace; with them, only walks of copies are tested.
 * SPDX-License-Identifier: Apache-2.0 */
#ifdef __x86_64__
#include "test.h"

#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/mem.h"
#include "unw_self.h"

enum { MOST = 400 };

static struct unw_space *space;
static struct unw_cache *cache;
static uint64_t stack_top;

static void prepare(void)
{
    void *warm[4];

    backtrace(warm, 4); /* loads libgcc, which must be in the space */
    space = unw_self_space();
    cache = cfi_cache_new();
    stack_top = unw_self_stack_top();
    CHECK(stack_top != 0);
}

/* Reads redzones too, so a sanitizer must not instrument it. */
__attribute__((noinline, no_sanitize_address)) static void copy_stack(unsigned char *to,
                                                                       uint64_t from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = ((const volatile unsigned char *)from)[i];
}

TEST(unwind_walk_reports_a_truncated_stack)
{
    struct unw_regs regs = { 0 };
    struct unw_stack stack;
    struct unw_frame frames[MOST];
    size_t n;

    prepare();
    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                     : "=r"(regs.pc), "=r"(regs.sp), "=r"(regs.fp));
    for (size_t size = 0; size < stack_top - regs.sp; size += 8) {
        unsigned char *copy = mem_alloc(size + !size); /* exact size, for the sanitizers */
        enum unw_end end;

        copy_stack(copy, regs.sp, size);
        stack = (struct unw_stack){ regs.sp, copy, size };
        end = unw_walk(space, cache, regs, &stack, frames, MOST, &n);
        CHECK(n >= 1 && (end == UNW_CUT || end == UNW_ROOT));
        free(copy);
        if (end == UNW_ROOT)
            return;
    }
    CHECK(!"never complete");
}

TEST(unwind_walk_fills_no_more_frames_than_asked)
{
    struct unw_regs regs = { 0 };
    struct unw_frame frames[3] = { { 0 } };
    struct unw_stack stack;
    unsigned char *copy;
    size_t n;

    prepare();
    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                     : "=r"(regs.pc), "=r"(regs.sp), "=r"(regs.fp));
    copy = mem_alloc(stack_top - regs.sp);
    copy_stack(copy, regs.sp, stack_top - regs.sp);
    stack = (struct unw_stack){ regs.sp, copy, stack_top - regs.sp };
    CHECK_EQ(unw_walk(space, cache, regs, &stack, frames, 2, &n), UNW_FULL);
    CHECK_EQ(n, 2);
    CHECK_EQ(frames[2].pc, 0);
    CHECK_EQ(unw_walk(space, cache, regs, &stack, frames, 0, &n), UNW_FULL);
    CHECK_EQ(n, 0);
    free(copy);
}
#ifndef UNW_SELF_SANITIZED
static int captured;
static volatile int keep;

#define NOINLINE __attribute__((noinline, noclone))

static void check_same_callers(const struct unw_frame *ours, size_t n, void **theirs, size_t m)
{
    for (size_t i = 1; i < n && i < m; i++)
        if (ours[i].pc != (uint64_t)theirs[i])
            test_fail(__FILE__, __LINE__, "frame %zu is %#lx, backtrace says %p", i,
                      (unsigned long)ours[i].pc, theirs[i]);
    CHECK_EQ(n, m);
}

static void walk_from(struct unw_regs regs, uint64_t top, void **theirs, size_t m)
{
    struct unw_stack stack = { regs.sp, (const void *)regs.sp, top - regs.sp };
    struct unw_frame cold[MOST], warm[MOST];
    size_t n, again;

    CHECK_EQ(unw_walk(space, cache, regs, &stack, cold, MOST, &n), UNW_ROOT);
    check_same_callers(cold, n, theirs, m);
    CHECK_EQ(unw_walk(space, cache, regs, &stack, warm, MOST, &again), UNW_ROOT);
    CHECK_EQ(again, n);
    CHECK_EQ(unw_walk(space, NULL, regs, &stack, warm, MOST, &again), UNW_ROOT);
    CHECK_EQ(again, n);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(warm[i].pc, cold[i].pc);
        CHECK_EQ(warm[i].sp, cold[i].sp);
        CHECK(i == 0 || cold[i].sp > cold[i - 1].sp || !cold[i].is_return);
    }
    captured++;
}

/* Walk from here; frame 0 is this function in both. */
NOINLINE static void capture(void)
{
    void *theirs[MOST];
    struct unw_regs regs = { 0 };
    int m = backtrace(theirs, MOST);

    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                     : "=r"(regs.pc), "=r"(regs.sp), "=r"(regs.fp));
    walk_from(regs, stack_top, theirs, (size_t)m);
    keep++;
}

NOINLINE static int recurse(int depth)
{
    if (depth == 0)
        capture();
    else
        keep += recurse(depth - 1);
    return keep + depth;
}

TEST(unwind_walk_follows_recursion)
{
    prepare();
    recurse(0);
    recurse(1);
    recurse(200);
    CHECK_EQ(captured, 3);
    CHECK(unw_cache_stats(cache)->by_rule > 400);
    CHECK_EQ(unw_cache_stats(cache)->by_fp + unw_cache_stats(cache)->by_guess, 0);
}

__attribute__((noinline, noclone, optimize("omit-frame-pointer"))) static int no_fp(int n)
{
    volatile char local[333];

    local[n] = (char)n;
    recurse(n);
    return local[n];
}

NOINLINE static int with_alloca(int n)
{
    char *p = alloca((size_t)n * 100 + 16);

    memset(p, n, (size_t)n * 100);
    no_fp(n);
    return p[n];
}

__attribute__((noinline, noclone, force_align_arg_pointer)) static int realigned(int n)
{
    __attribute__((aligned(64))) volatile char local[128];
    char *p = alloca((size_t)n * 8 + 16);

    local[n] = *p = (char)n;
    with_alloca(n);
    return local[n] + *p;
}

TEST(unwind_walk_follows_alloca_and_realigned_stacks)
{
    prepare();
    realigned(1);
    realigned(3);
    realigned(7);
    CHECK_EQ(captured, 3);
}

static int compare_ints(const void *a, const void *b)
{
    if (captured == 0)
        capture();
    return *(const int *)a - *(const int *)b;
}

TEST(unwind_walk_follows_callbacks_of_libc)
{
    int v[] = { 5, 3, 1, 4 };

    prepare();
    qsort(v, ARRAY_LEN(v), sizeof *v, compare_ints);
    CHECK_EQ(captured, 1);
}

/* Walk the interrupted frames, from inside the handler and from the registers it received. */
static void handler(int sig, siginfo_t *info, void *context)
{
    const greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    struct unw_regs regs = { (uint64_t)g[REG_RIP], (uint64_t)g[REG_RSP], (uint64_t)g[REG_RBP], 0 };
    struct unw_stack stack = { regs.sp, (const void *)regs.sp, stack_top - regs.sp };
    struct unw_frame inner[MOST], outer[MOST];
    uint64_t here_sp;
    size_t n, m, common;

    capture();
    CHECK_EQ(unw_walk(space, cache, regs, &stack, inner, MOST, &n), UNW_ROOT);
    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                     : "=r"(regs.pc), "=r"(here_sp), "=r"(regs.fp));
    regs.sp = here_sp;
    stack = (struct unw_stack){ here_sp, (const void *)here_sp, stack_top - here_sp };
    CHECK_EQ(unw_walk(space, cache, regs, &stack, outer, MOST, &m), UNW_ROOT);
    CHECK(m > n);
    for (common = 1; common <= n; common++) {
        CHECK_EQ(outer[m - common].pc, inner[n - common].pc);
        CHECK_EQ(outer[m - common].sp, inner[n - common].sp);
    }
    CHECK(!outer[m - n].is_return && outer[m - n - 1].is_return);
}

static void on_signal(int flags)
{
    struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

    CHECK_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
    raise(SIGUSR1);
    CHECK_EQ(captured, 1);
}

TEST(unwind_walk_goes_through_a_signal_handler)
{
    prepare();
    on_signal(0);
}

/* The alternate stack is below the main stack, so that one copy covers both. */
TEST(unwind_walk_goes_through_a_handler_on_its_own_stack)
{
    stack_t ss = { .ss_size = 1 << 18 };

    prepare();
    ss.ss_sp = mmap(NULL, ss.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(ss.ss_sp != MAP_FAILED && (uint64_t)ss.ss_sp < stack_top);
    CHECK_EQ(sigaltstack(&ss, NULL), 0);
    on_signal(SA_ONSTACK);
}

static void *in_thread(void *arg)
{
    pthread_attr_t attr;
    void *base;
    size_t size;

    CHECK_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
    pthread_attr_getstack(&attr, &base, &size);
    pthread_attr_destroy(&attr);
    stack_top = (uint64_t)base + size;
    recurse(5);
    return NULL;
}

TEST(unwind_walk_ends_at_the_start_of_a_thread)
{
    pthread_t id;

    prepare();
    CHECK_EQ(pthread_create(&id, NULL, in_thread, NULL), 0);
    pthread_join(id, NULL);
    CHECK_EQ(captured, 1);
}

#endif
#endif
