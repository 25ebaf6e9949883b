/* agent_sample.c - one sample, in the signal handler of the sampled thread: registers, a copy of
 * the stack, and the CPU time of the thread.  The recorder unwinds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/agent.h"
#include "target/tgt_load.h"

enum {
    PAGE = 4096,             /* the smallest */
    BELOW_MAIN = 128 << 20,  /* the kernel maps nothing else so close below the first stack */
    UNLIMITED_STACK = 2 << 20, /* of a thread, if RLIMIT_STACK has no limit */
};

/* The size of a thread's stack that does not ask for another. */
static uint64_t thread_stack;
static const void *first_thread; /* its thread pointer */

/* 0: unknown.  For handlers that may not make a system call. */
static __thread uint32_t thread_id;

/* Some containers and emulators refuse the system call of tgt_load. */
static bool can_load;

void agent_sample_start(void)
{
    uint64_t limit[2]; /* now, and at most */
    char here = 0, copy;

    first_thread = __builtin_thread_pointer();
    thread_stack = syscall(SYS_prlimit64, 0, RLIMIT_STACK, NULL, limit) == 0 && ~limit[0]
                       ? limit[0]
                       : UNLIMITED_STACK;
    can_load = tgt_load(&copy, (uint64_t)(uintptr_t)&here, 1) == 1;
}

void agent_sample_forget_thread(void)
{
    thread_id = (uint32_t)syscall(SYS_gettid);
}

static bool swap(uint32_t *state, uint32_t from, uint32_t to)
{
    return __atomic_load_n(state, __ATOMIC_RELAXED) == from &&
           __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Answer the request of thread TID, if there is one. */
static bool take_request(struct agent_memory *m, uint32_t tid)
{
    for (uint32_t i = 0; i < AGENT_PROBES; i++) {
        struct agent_request *r = &m->request[(tid + i) % AGENT_REQUESTS];

        if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == AGENT_ASKED && r->tid == tid &&
            r->process == agent.process && swap(&r->state, AGENT_ASKED, AGENT_FREE))
            return true;
    }
    return false;
}

/* Take a sample from FROM up to END.  Returns AGENT_SAMPLES if there is none. */
static uint32_t take_between(struct agent_memory *m, uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end; i++)
        if (swap(&m->sample_state[i], AGENT_FREE, AGENT_TAKEN))
            return i;
    return AGENT_SAMPLES;
}

/* Take a sample, if possible with room for N bytes of stack, and not much more. */
static uint32_t take_sample(struct agent_memory *m, size_t n)
{
    bool small = n <= AGENT_SMALL_STACK;
    uint32_t i = small ? take_between(m, AGENT_LARGE, AGENT_SAMPLES)
                       : take_between(m, 0, AGENT_LARGE);

    if (i == AGENT_SAMPLES)
        i = small ? take_between(m, 0, AGENT_LARGE)
                  : take_between(m, AGENT_LARGE, AGENT_SAMPLES);
    if (i == AGENT_SAMPLES)
        __atomic_fetch_add(&m->n_dropped, 1, __ATOMIC_RELAXED);
    return i;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;

    return clock_gettime(clock, &t) < 0 ? 0
                                        : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t stack_pointer(const ucontext_t *u)
{
#if defined(__aarch64__)
    return u->uc_mcontext.sp;
#else
    return (uint64_t)u->uc_mcontext.gregs[REG_RSP];
#endif
}

static void take_registers(struct agent_sample *s, const ucontext_t *u)
{
#if defined(__aarch64__)
    s->pc = u->uc_mcontext.pc;
    s->sp = stack_pointer(u);
    s->fp = u->uc_mcontext.regs[29];
    s->lr = u->uc_mcontext.regs[30];
    s->bx = s->r10 = 0;
#else
    const greg_t *r = u->uc_mcontext.gregs;

    s->pc = (uint64_t)r[REG_RIP];
    s->sp = stack_pointer(u);
    s->fp = (uint64_t)r[REG_RBP];
    s->lr = 0;
    s->bx = (uint64_t)r[REG_RBX];
    s->r10 = (uint64_t)r[REG_R10];
#endif
}

/* Where the stack with SP ends.  libc puts the thread's own data, at the thread pointer, behind its
 * stack.  0: unknown, as on the stack of a fiber, which may end anywhere. */
static uint64_t end_of_stack(uint64_t sp)
{
    const void *self = __builtin_thread_pointer();
    uint64_t end = self == first_thread ? agent.stack_end : (uint64_t)(uintptr_t)self;
    uint64_t most = self == first_thread ? BELOW_MAIN : thread_stack;

    return sp < end && end - sp < most ? end : 0;
}

static size_t load(void *to, uint64_t from, size_t n)
{
    return can_load ? tgt_load(to, from, n) : tgt_load_probed(to, from, n);
}

bool agent_sample_read(void *to, uint64_t from, size_t n)
{
    if (agent.careful)
        return PAGE - from % PAGE > n && tgt_load_within(to, from, n, from, from + n) == n;
    return load(to, from, n) == n;
}

/* Copy up to N bytes of the stack with SP; END is where it ends. */
static size_t copy_stack(unsigned char *to, uint64_t sp, size_t n, uint64_t end, bool careful)
{
    if (careful)
        return end ? tgt_load_within(to, sp, n, sp, end) : 0;
    return load(to, sp, n);
}

bool agent_sample(const void *ucontext)
{
    struct agent_process *p = agent_process();
    bool careful = agent.careful;
    struct agent_memory *m = agent.memory;
    uint64_t sp = stack_pointer(ucontext), end = end_of_stack(sp);
    size_t n = end ? end - sp : AGENT_STACK;
    struct agent_sample *s;
    uint32_t i;

    if (!p)
        return false;
    if (!careful)
        thread_id = (uint32_t)syscall(SYS_gettid);
    if (!take_request(m, thread_id))
        return false;
    i = take_sample(m, n);
    if (i == AGENT_SAMPLES)
        return true;
    s = &m->sample[i];
    s->process = agent.process;
    s->tid = thread_id;
    take_registers(s, ucontext);
    s->maps = __atomic_load_n(&p->maps, __ATOMIC_RELAXED);
    s->time_ns = careful ? 0 : now_ns(CLOCK_MONOTONIC);
    s->cpu_ns = careful ? 0 : now_ns(CLOCK_THREAD_CPUTIME_ID);
    if (n > agent_stack_room(i))
        n = agent_stack_room(i);
    s->stack_bytes = (uint32_t)copy_stack(agent_stack_of(m, i), sp, n, end, careful);
    __atomic_store_n(&m->sample_state[i], AGENT_DONE, __ATOMIC_RELEASE);
    return true;
}
