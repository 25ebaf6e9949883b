/* agent_signal.c - our signal, hidden from the program.
 *
 * The signal is one whose default action is to be ignored, so that one that arrives late, after
 * exec, ends nothing: SIGURG, or SIGWINCH in a process that uses SIGURG.  For the signal in use the
 * program sees the actions and masks that it set itself; the kernel has our handler, and does not
 * block it.  If a program uses both, our handler calls the program's for all signals that the
 * recorder did not ask for.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <ucontext.h>

#include "agent/agent.h"
#include "target/tgt_guard.h"
#include "target/tgt_lock.h"

struct candidate {
    int signal;
    bool taken;  /* our handler is installed */
    bool wanted; /* the program uses it */
    uint32_t version; /* its lowest bit is the index in program */
    struct sigaction program[2]; /* the action that the program set */
};

static struct candidate candidates[] = { { .signal = SIGURG }, { .signal = SIGWINCH } };
enum { N = 2, MOST_WAITS = 20 };
static struct tgt_lock lock;
static const struct timespec wait_ms = { 0, 1000000 };

static __thread bool interrupted;
static __thread bool blocks[N]; /* by the program, of those taken */
static __thread uint64_t mask_then; /* the real mask when that was noted */

/* --- the handler --- */

/* The kernel gave a system call the result -EINTR because of this signal. */
static bool interrupts_call(const ucontext_t *u)
{
#if defined(__aarch64__)
    static const unsigned char call[] = { 0x01, 0x00, 0x00, 0xd4 }; /* svc #0 */
    uint64_t pc = u->uc_mcontext.pc, result = u->uc_mcontext.regs[0];
#else
    static const unsigned char call[] = { 0x0f, 0x05 }; /* syscall */
    uint64_t pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
    uint64_t result = (uint64_t)u->uc_mcontext.gregs[REG_RAX];
#endif
    unsigned char code[sizeof call];

    return result == (uint64_t)-EINTR && agent_sample_read(code, pc - sizeof code, sizeof code) &&
           memcmp(code, call, sizeof call) == 0;
}

static bool is_handler(const struct sigaction *a)
{
    return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

/* The action of the program.  A handler may interrupt set_action, so this never waits for it. */
static struct sigaction action_of(const struct candidate *c)
{
    struct sigaction a;
    uint32_t version;

    do {
        version = __atomic_load_n(&c->version, __ATOMIC_ACQUIRE);
        a = c->program[version % 2];
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (version != __atomic_load_n(&c->version, __ATOMIC_RELAXED));
    return a;
}

static void set_action(struct candidate *c, const struct sigaction *a)
{
    c->program[(c->version + 1) % 2] = *a;
    __atomic_store_n(&c->version, c->version + 1, __ATOMIC_RELEASE);
}

/* In a namespace of processes below the recorder's, its id is 0. */
static bool is_from_recorder(const siginfo_t *info)
{
    return info->si_code == SI_TKILL && agent.memory &&
           (info->si_pid == 0 || (uint32_t)info->si_pid == agent.memory->recorder);
}

/* A process that was not preloaded has no hooks that repeat its calls.  The kernel has overwritten
 * the number of the call with its result; in libc it is in the instruction before. */
static bool repeat_call(ucontext_t *u)
{
#if defined(__aarch64__)
    (void)u; /* the result has overwritten the first argument, too */
    return false;
#else
    enum { PAGE = 4096, BYTES = 7 };
    const unsigned char *code = (const unsigned char *)(uintptr_t)u->uc_mcontext.gregs[REG_RIP];
    uint32_t call;

    if ((uintptr_t)code % PAGE < BYTES) /* nothing may be mapped before */
        return false;
    memcpy(&call, code - 6, sizeof call);
    if (code[-7] != 0xb8 || !agent_wait_repeats(call)) /* mov $CALL, %eax */
        return false;
    u->uc_mcontext.gregs[REG_RAX] = call;
    u->uc_mcontext.gregs[REG_RIP] -= 2;
    return true;
#endif
}

static void count_interrupted(void)
{
    struct agent_process *p = agent_process();

    interrupted = true;
    if (p)
        __atomic_fetch_add(&p->interrupted, 1, __ATOMIC_RELAXED);
}

/* In a process that was not preloaded, and does not handle the signal. */
static void handle_attached(const siginfo_t *info, ucontext_t *context)
{
    const struct agent_memory *m = agent.memory;

    if (interrupts_call(context) && !repeat_call(context))
        count_interrupted();
    if (__atomic_load_n(&m->ended, __ATOMIC_ACQUIRE) ||
        (!is_from_recorder(info) && agent_join_is_over()))
        agent_join_leave();
}

static void handler(int sig, siginfo_t *info, void *context)
{
    struct sigaction program = action_of(&candidates[sig == SIGWINCH]);
    TGT_KEEP_ERRNO();

    agent_sample(context);
    if (!agent.preloaded) {
        handle_attached(info, context);
        return;
    }
    if (is_handler(&program) && !is_from_recorder(info)) {
        if (program.sa_flags & SA_SIGINFO)
            program.sa_sigaction(sig, info, context);
        else
            program.sa_handler(sig);
        return;
    }
    if (interrupts_call(context))
        count_interrupted();
}

bool agent_signal_interrupted(void)
{
    struct agent_process *p = agent_process();
    bool was = interrupted;

    interrupted = false;
    if (was && p)
        __atomic_fetch_sub(&p->interrupted, 1, __ATOMIC_RELAXED);
    return was;
}

/* --- which signal --- */

static struct candidate *taken(int sig)
{
    for (int i = 0; i < N; i++)
        if (candidates[i].signal == sig && __atomic_load_n(&candidates[i].taken, __ATOMIC_RELAXED))
            return &candidates[i];
    return NULL;
}

static struct candidate *taken_of(const sigset_t *set)
{
    for (int i = 0; i < N && set; i++)
        if (sigismember(set, candidates[i].signal) == 1 && taken(candidates[i].signal))
            return &candidates[i];
    return NULL;
}

/* Install the handler, with the flags and the mask of a handler of the program. */
static void install(const struct candidate *c)
{
    struct sigaction a = { .sa_sigaction = handler,
                           .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
    struct sigaction program = action_of(c);

    if (is_handler(&program)) {
        a.sa_flags = (int)(program.sa_flags & ~SA_RESETHAND) | SA_SIGINFO;
        a.sa_mask = program.sa_mask;
    }
    NEXT(sigaction)(c->signal, &a, NULL);
}

static uint64_t real_mask(void)
{
    uint64_t mask = 0;
    sigset_t now;

    if (NEXT(pthread_sigmask)(SIG_SETMASK, NULL, &now) == 0)
        memcpy(&mask, &now, sizeof mask);
    return mask;
}

/* Whether the program blocks candidate I in this thread.  siglongjmp, sigsetmask and the end of a
 * handler change the mask without a hook, to one that it set when ours was in it, or was not. */
static bool is_blocked(int i)
{
    return blocks[i] && real_mask() == mask_then;
}

static void note_blocked(int i, bool by_program)
{
    blocks[i] = by_program;
    if (by_program)
        mask_then = real_mask();
}

/* Block or unblock a candidate in the calling thread.  Returns whether it was blocked. */
static bool change_one(int i, int how)
{
    sigset_t one, old;

    sigemptyset(&one);
    sigaddset(&one, candidates[i].signal);
    sigemptyset(&old);
    NEXT(pthread_sigmask)(how, &one, &old);
    return sigismember(&old, candidates[i].signal) == 1;
}

static void use_signal(int sig)
{
    __atomic_store_n(&agent_process()->signal, (uint32_t)sig, __ATOMIC_RELEASE);
}

/* Take the first signal that the program does not use. */
static bool take_signal(void)
{
    for (int i = 0; i < N; i++) {
        struct candidate *c = &candidates[i];
        struct sigaction now;
        if (c->wanted || NEXT(sigaction)(c->signal, NULL, &now) < 0 || is_handler(&now))
            continue;
        set_action(c, &now);
        __atomic_store_n(&c->taken, true, __ATOMIC_RELAXED);
        install(c);
        note_blocked(i, change_one(i, SIG_UNBLOCK));
        use_signal(c->signal);
        return true;
    }
    return false;
}

static bool is_installed(const struct candidate *c)
{
    struct sigaction now;

    return NEXT(sigaction)(c->signal, NULL, &now) == 0 && now.sa_sigaction == handler;
}

/* Take a signal, if possible one that is not in AVOID, without a change of masks. */
static bool take_running(uint32_t avoid)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < N; i++) {
            struct candidate *c = &candidates[i];
            struct sigaction now;

            if ((pass == 0 && (avoid >> i & 1)) ||
                NEXT(sigaction)(c->signal, NULL, &now) < 0 || is_handler(&now))
                continue;
            set_action(c, &now);
            __atomic_store_n(&c->taken, true, __ATOMIC_RELAXED);
            install(c);
            use_signal(c->signal);
            return true;
        }
    return false;
}

void agent_signal_start(bool running)
{
    for (int i = 0; i < N; i++) {
        struct candidate *c = &candidates[i];

        if (!c->taken)
            continue;
        /* The parent of a fork installed it, or an earlier recording whose recorder was killed. */
        if (agent.preloaded || !running || is_installed(c)) {
            use_signal(c->signal);
            return;
        }
        c->taken = false; /* the program has a handler now */
    }
    if (!(running ? take_running(agent.memory->avoid) : take_signal()))
        agent_process()->why_not = AGENT_SIGNALS_TAKEN;
}

bool agent_signal_is_free(void)
{
    for (int i = 0; i < N; i++) {
        struct sigaction now;

        if (NEXT(sigaction)(candidates[i].signal, NULL, &now) == 0 &&
            (!is_handler(&now) || now.sa_sigaction == handler))
            return true;
    }
    return false;
}

void agent_signal_stop(void)
{
    for (int i = 0; i < N; i++) {
        struct candidate *c = &candidates[i];
        struct sigaction program = action_of(c);

        if (__atomic_exchange_n(&c->taken, false, __ATOMIC_RELAXED) && is_installed(c))
            NEXT(sigaction)(c->signal, &program, NULL);
    }
}

static bool is_asked(void)
{
    for (size_t i = 0; i < AGENT_REQUESTS; i++) {
        const struct agent_request *r = &agent.memory->request[i];

        if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == AGENT_ASKED &&
            r->process == agent.process)
            return true;
    }
    return false;
}

/* The program is about to use C->signal itself: give it back and use another.  Returns false if
 * there is no other; then it keeps our handler. */
static bool give_back(struct candidate *c)
{
    struct sigaction program = action_of(c);
    int i = (int)(c - candidates);

    c->wanted = true;
    use_signal(0);
    for (int k = 0; k < MOST_WAITS && is_asked(); k++)
        NEXT(nanosleep)(&wait_ms, NULL); /* those on their way would reach the program */
    if (!take_signal()) {
        use_signal(c->signal);
        return false;
    }
    __atomic_store_n(&c->taken, false, __ATOMIC_RELAXED);
    NEXT(sigaction)(c->signal, &program, NULL);
    if (is_blocked(i))
        change_one(i, SIG_BLOCK);
    return true;
}

/* --- actions --- */

static int act(struct candidate *c, const struct sigaction *new, struct sigaction *old)
{
    struct sigaction was = action_of(c);

    if (new && is_handler(new) && !is_handler(&was) && give_back(c))
        return NEXT(sigaction)(c->signal, new, old);
    if (new) {
        set_action(c, new);
        install(c);
    }
    if (old)
        *old = was;
    return 0;
}

AGENT_HOOK int sigaction(int sig, const struct sigaction *new, struct sigaction *old)
{
    struct candidate *c = agent_process() ? taken(sig) : NULL;
    struct sigaction copy; /* the arguments may be the same object */
    bool locked;
    int rc;

    if (!c)
        return NEXT(sigaction)(sig, new, old);
    if (new)
        copy = *new;
    locked = tgt_lock_unless_held(&lock);
    rc = act(c, new ? &copy : NULL, old);
    if (locked)
        tgt_unlock(&lock);
    return rc;
}

void agent_signal_leave(const sigset_t *set)
{
    struct candidate *c = agent_process() ? taken_of(set) : NULL;
    TGT_KEEP_ERRNO();

    if (!c || !tgt_lock_unless_held(&lock))
        return;
    if (taken(c->signal))
        give_back(c);
    tgt_unlock(&lock);
}

AGENT_HOOK __sighandler_t signal(int sig, __sighandler_t action)
{
    struct sigaction new = { .sa_handler = action, .sa_flags = SA_RESTART }, old;

    if (!agent_process() || !taken(sig) || action == SIG_ERR)
        return NEXT(signal)(sig, action);
    sigemptyset(&new.sa_mask);
    sigaddset(&new.sa_mask, sig);
    return sigaction(sig, &new, &old) < 0 ? SIG_ERR : old.sa_handler;
}

AGENT_HOOK int signalfd(int fd, const sigset_t *set, int flags)
{
    agent_signal_leave(set);
    return NEXT(signalfd)(fd, set, flags);
}

AGENT_HOOK int sigwait(const sigset_t *restrict set, int *restrict sig)
{
    agent_signal_leave(set);
    return NEXT(sigwait)(set, sig);
}

/* --- masks --- */

typedef int mask_function(int how, const sigset_t *restrict set, sigset_t *restrict old);

/* Change the mask as the program asks, but do not block the signals that are taken. */
static int change_mask(mask_function *change, int how, const sigset_t *set, sigset_t *old)
{
    bool now[N], was[N];
    sigset_t copy;
    int rc;

    for (int i = 0; i < N; i++)
        was[i] = now[i] = is_blocked(i);
    if (set) {
        copy = *set;
        for (int i = 0; i < N; i++) {
            bool in = sigismember(set, candidates[i].signal) == 1;

            if (!taken(candidates[i].signal))
                continue;
            if (in ? how == SIG_UNBLOCK : how == SIG_SETMASK)
                now[i] = false;
            else if (in)
                now[i] = true;
            if (how != SIG_UNBLOCK)
                sigdelset(&copy, candidates[i].signal);
        }
    }
    rc = change(how, set ? &copy : NULL, old);
    if (rc != 0)
        return rc;
    for (int i = 0; i < N; i++) {
        if (!taken(candidates[i].signal))
            continue;
        note_blocked(i, now[i]);
        if (old && was[i])
            sigaddset(old, candidates[i].signal);
    }
    return 0;
}

AGENT_HOOK int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return agent_process() ? change_mask(NEXT(pthread_sigmask), how, set, old)
                           : NEXT(pthread_sigmask)(how, set, old);
}

AGENT_HOOK int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return agent_process() ? change_mask(NEXT(sigprocmask), how, set, old)
                           : NEXT(sigprocmask)(how, set, old);
}

/* --- for programs that inherit mask and actions --- */

static int index_taken(void)
{
    for (int i = 0; i < N; i++)
        if (candidates[i].taken)
            return i;
    return -1;
}

void agent_signal_reveal(struct agent_signals *s)
{
    int i = agent_process() ? index_taken() : -1;
    struct sigaction program;

    *s = (struct agent_signals){ 0 };
    if (i < 0)
        return;
    program = action_of(&candidates[i]);
    s->ignored = program.sa_handler == SIG_IGN;
    s->blocked = is_blocked(i);
    if (s->blocked)
        change_one(i, SIG_BLOCK);
    if (s->ignored)
        NEXT(sigaction)(candidates[i].signal, &program, NULL);
}

void agent_signal_conceal(const struct agent_signals *s)
{
    int i = agent_process() ? index_taken() : -1;

    if (i < 0)
        return;
    if (s->ignored)
        install(&candidates[i]);
    if (s->blocked)
        change_one(i, SIG_UNBLOCK);
}
