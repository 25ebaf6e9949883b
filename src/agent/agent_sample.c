/* agent_sample.c - one sample, in the signal handler of the sampled thread: registers, a copy of
 * the stack, and the CPU time of the thread.  The recorder unwinds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/agent.h"
#include "target/tgt_load.h"

/* The largest distance from the end of a stack at which its thread is believed to be on it. */
enum { MOST_STACK = 1 << 30 };

/* 0: unknown.  For handlers that may not make a system call. */
static __thread uint32_t thread_id;

/* Some containers and emulators refuse the system call of tgt_load. */
static bool can_load;

void agent_sample_start(void)
{
    char here = 0, copy;

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
 * stack.  0: unknown, as on the stack of a fiber. */
static uint64_t end_of_stack(uint64_t sp)
{
    uint64_t data = (uint64_t)(uintptr_t)__builtin_thread_pointer();

    if (sp < agent.stack_end && agent.stack_end - sp < MOST_STACK)
        return agent.stack_end;
    return sp < data && data - sp < MOST_STACK ? data : 0;
}

static size_t copy_stack(struct agent_sample *s, bool careful)
{
    uint64_t end = end_of_stack(s->sp), n = AGENT_STACK;

    if (end && end - s->sp < n)
        n = end - s->sp;
    if (!careful && can_load)
        return tgt_load(s->stack, s->sp, n);
    return end ? tgt_load_within(s->stack, s->sp, n, s->sp, end) : 0;
}

void agent_sample(const void *ucontext)
{
    struct agent_process *p = agent_process();
    bool careful = p && __atomic_load_n(&p->careful, __ATOMIC_RELAXED);
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
