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

static uint32_t *take_sample_state(struct agent_memory *m)
{
    for (uint32_t i = 0; i < AGENT_SAMPLES; i++)
        if (swap(&m->sample_state[i], AGENT_FREE, AGENT_TAKEN))
            return &m->sample_state[i];
    __atomic_fetch_add(&m->n_dropped, 1, __ATOMIC_RELAXED);
    return NULL;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;

    return clock_gettime(clock, &t) < 0 ? 0
                                        : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void take_registers(struct agent_sample *s, const ucontext_t *u)
{
#if defined(__aarch64__)
    s->pc = u->uc_mcontext.pc;
    s->sp = u->uc_mcontext.sp;
    s->fp = u->uc_mcontext.regs[29];
    s->lr = u->uc_mcontext.regs[30];
    s->bx = s->r10 = 0;
#else
    const greg_t *r = u->uc_mcontext.gregs;

    s->pc = (uint64_t)r[REG_RIP];
    s->sp = (uint64_t)r[REG_RSP];
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

static bool is_careful(void)
{
    return agent_process() && __atomic_load_n(&agent_process()->careful, __ATOMIC_RELAXED);
}

bool agent_sample_read(void *to, uint64_t from, size_t n)
{
    if (is_careful())
        return PAGE - from % PAGE > n && tgt_load_within(to, from, n, from, from + n) == n;
    return load(to, from, n) == n;
}

static size_t copy_stack(struct agent_sample *s, bool careful)
{
    uint64_t end = end_of_stack(s->sp), n = AGENT_STACK;

    if (end && end - s->sp < n)
        n = end - s->sp;
    if (careful)
        return end ? tgt_load_within(s->stack, s->sp, n, s->sp, end) : 0;
    return load(s->stack, s->sp, n);
}

void agent_sample(const void *ucontext)
{
    struct agent_process *p = agent_process();
    bool careful = is_careful();
    struct agent_memory *m = agent.memory;
    struct agent_sample *s;
    uint32_t *state;

    if (!p)
        return;
    if (!careful)
        thread_id = (uint32_t)syscall(SYS_gettid);
    if (!take_request(m, thread_id))
        return;
    state = take_sample_state(m);
    if (!state)
        return;
    s = &m->sample[state - m->sample_state];
    s->process = agent.process;
    s->tid = thread_id;
    take_registers(s, ucontext);
    s->maps = __atomic_load_n(&p->maps, __ATOMIC_RELAXED);
    s->time_ns = now_ns(CLOCK_MONOTONIC);
    s->cpu_ns = careful ? 0 : now_ns(CLOCK_THREAD_CPUTIME_ID);
    s->stack_bytes = (uint32_t)copy_stack(s, careful);
    __atomic_store_n(state, AGENT_DONE, __ATOMIC_RELEASE);
}
