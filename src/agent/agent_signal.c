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

#include "agent/agent.h"
#include "target/tgt_fork.h"
#include "target/tgt_guard.h"

struct candidate {
    int signal;
    bool taken;  /* our handler is installed */
    bool wanted; /* the program uses it */
    uint32_t version; /* its lowest bit is the index in program */
    struct sigaction program[2]; /* the action that the program set */
};

static struct candidate candidates[] = { { .signal = SIGURG }, { .signal = SIGWINCH } };
enum { N = 2, MOST_WAITS = 1000 };
static struct tgt_lock lock;
static const struct timespec wait_ms = { 0, 1000000 };

/* System calls of this thread that failed with EINTR because of us since agent_call_start. */
static __thread uint32_t n_cut;
__thread struct agent_call agent_arrived;
static __thread bool must_end_call;
/* Handlers that are taking a sample now. */
static uint32_t n_handlers;
static __thread bool blocks[N]; /* by the program, of those taken */
static __thread uint64_t mask_then; /* the real mask when that was noted */

static void handler(int sig, siginfo_t *info, void *context);

/* --- the handler --- */

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

/* In a namespace of processes below the recorder's, its id is 0.  Where the user may queue no more
 * signals, the kernel keeps no information; then ours is one that ANSWERED a request. */
static bool is_from_recorder(const siginfo_t *info, bool answered)
{
    if (info->si_code == SI_USER && info->si_pid == 0 && info->si_uid == 0)
        return answered;
    return info->si_code == SI_TKILL && agent.memory &&
           (info->si_pid == 0 || (uint32_t)info->si_pid == agent.memory->recorder);
}

static void count_cut(void)
{
    struct agent_process *p = agent_process();

    if (!p)
        return;
    n_cut++;
    __atomic_fetch_add(&p->interrupted, 1, __ATOMIC_RELAXED);
}

/* Whether a handler of the program may have ended a call: then it may expect EINTR. */
static bool has_handlers(void)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT };
    sigset_t skip;

    sigemptyset(&skip);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigaddset(&skip, faults[i]);
    for (int sig = 1; sig < 65; sig++) {
        struct sigaction now;

        if (sigismember(&skip, sig) != 1 && NEXT(sigaction)(sig, NULL, &now) == 0 &&
            agent_action_is_handler(&now) && now.sa_sigaction != handler)
            return true;
    }
    return false;
}

/* In a process that was not preloaded, and does not handle the signal. */
static void handle_attached(const siginfo_t *info, ucontext_t *context, bool answered)
{
    const struct agent_memory *m = agent.memory;

    if (agent_restart_is_cut(context) && (has_handlers() || !agent_restart_repeat(context)))
        count_cut();
    if (__atomic_load_n(&m->ended, __ATOMIC_ACQUIRE) ||
        (!is_from_recorder(info, answered) && agent_join_is_over()))
        agent_join_leave();
}

static void call(const struct sigaction *program, int sig, siginfo_t *info, void *context)
{
    agent_arrived.handled++;
    if (program->sa_flags & SA_SIGINFO)
        program->sa_sigaction(sig, info, context);
    else
        program->sa_handler(sig);
}

static void handler(int sig, siginfo_t *info, void *context)
{
    struct sigaction program = action_of(&candidates[sig == SIGWINCH]);
    bool answered;
    TGT_KEEP_ERRNO();

    /* Our signal came first, and made the kernel restart a call that the program's was to end. */
    if (must_end_call)
        agent_restart_cancel(context);
    must_end_call = false;
    __atomic_fetch_add(&n_handlers, 1, __ATOMIC_SEQ_CST);
    answered = agent_sample(context);
    __atomic_fetch_sub(&n_handlers, 1, __ATOMIC_SEQ_CST);
    if (!agent.preloaded) {
        handle_attached(info, context, answered);
        return;
    }
    if (agent_action_is_handler(&program) && !is_from_recorder(info, answered)) {
        call(&program, sig, info, context);
        return;
    }
    agent_arrived.ours++;
    if (agent_restart_is_cut(context))
        count_cut();
}

void agent_signal_relayed(const void *ucontext, int flags)
{
    agent_arrived.handled++;
    if (agent_restart_pc(ucontext) == (uint64_t)(uintptr_t)handler && !(flags & SA_RESTART))
        must_end_call = true;
}

/* --- calls that our signal cut short --- */

struct agent_call agent_call_start(void)
{
    n_cut = 0;
    return agent_arrived;
}

bool agent_call_was_cut(const struct agent_call *before)
{
    struct agent_process *p = agent_process();

    if (agent_arrived.ours == before->ours || agent_arrived.handled != before->handled)
        return false;
    if (n_cut && p)
        __atomic_fetch_sub(&p->interrupted, n_cut, __ATOMIC_RELAXED);
    n_cut = 0;
    return true;
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

    if (agent_action_is_handler(&program)) {
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

/* In this order: the recorder looks again at the signal after each request. */
static void use_signal(int sig)
{
    if (agent_is_guest())
        return;
    __atomic_store_n(&agent_process()->signal, (uint32_t)sig, __ATOMIC_SEQ_CST);
}

/* Take the first signal that the program does not use. */
static bool take_signal(void)
{
    for (int i = 0; i < N; i++) {
        struct candidate *c = &candidates[i];
        struct sigaction now;

        if (c->wanted || NEXT(sigaction)(c->signal, NULL, &now) < 0 ||
            agent_action_is_handler(&now))
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
                NEXT(sigaction)(c->signal, NULL, &now) < 0 || agent_action_is_handler(&now))
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
    if (!running) { /* in a child of fork: other threads of the parent */
        tgt_lock_forget(&lock);
        n_handlers = 0;
    }
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
            (!agent_action_is_handler(&now) || now.sa_sigaction == handler))
            return true;
    }
    return false;
}

void agent_signal_restore(void)
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

        if (__atomic_load_n(&r->state, __ATOMIC_SEQ_CST) == AGENT_ASKED &&
            r->process == agent.process)
            return true;
    }
    return __atomic_load_n(&n_handlers, __ATOMIC_SEQ_CST) != 0;
}

/* For a while; a careful process must not call the kernel. */
static void wait_a_little(void)
{
    struct timespec t, end;

    if (!agent.careful) {
        NEXT(nanosleep)(&wait_ms, NULL);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += wait_ms.tv_nsec;
    do
        clock_gettime(CLOCK_MONOTONIC, &t);
    while (t.tv_sec * 1000000000 + t.tv_nsec < end.tv_sec * 1000000000 + end.tv_nsec);
}

static struct candidate *in_use(void)
{
    for (int i = 0; i < N; i++)
        if (candidates[i].taken)
            return &candidates[i];
    return NULL;
}

/* A handler that called this would wait for itself. */
void agent_signal_stop(void)
{
    use_signal(0);
    for (int k = 0; k < MOST_WAITS && is_asked(); k++)
        wait_a_little();
}

void agent_signal_end(enum agent_why why)
{
    if (!agent_is_guest())
        agent_process()->why_not = why;
    agent_signal_stop();
}

void agent_signal_go(void)
{
    const struct candidate *c = in_use();

    if (c && !agent_process()->why_not)
        use_signal(c->signal);
}

/* The program is about to use C->signal itself, with handler NEW or NULL: give it back and use
 * another.  Returns false if there is no other; then it keeps our handler, except if the program's
 * has no SA_RESTART: we would interrupt all of its system calls. */
static bool give_back(struct candidate *c, const struct sigaction *new)
{
    struct sigaction program = action_of(c);
    int i = (int)(c - candidates);

    c->wanted = true;
    agent_signal_stop(); /* those on their way would reach the program */
    if (!take_signal()) {
        if (!new || new->sa_flags & SA_RESTART) {
            agent_signal_go();
            return false;
        }
        agent_signal_end(AGENT_SIGNALS_TAKEN);
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

    if (new && agent_is_guest()) {
        if (NEXT(sigaction)(c->signal, new, NULL) < 0)
            return -1;
    } else if (new && agent_action_is_handler(new) &&
               (!agent_action_is_handler(&was) || !(new->sa_flags & SA_RESTART)) &&
               give_back(c, new)) {
        return agent_action_set(c->signal, new, old);
    } else if (new) {
        set_action(c, new);
        install(c);
    }
    if (old)
        *old = was;
    return 0;
}

bool agent_signal_act(int sig, const struct sigaction *new, struct sigaction *old, int *rc)
{
    struct candidate *c = agent_process() ? taken(sig) : NULL;
    struct sigaction copy; /* the arguments may be the same object */
    bool locked;

    if (!c)
        return false;
    if (new)
        copy = *new;
    locked = tgt_lock_unless_held(&lock);
    *rc = act(c, new ? &copy : NULL, old);
    if (locked)
        tgt_unlock(&lock);
    return true;
}

void agent_signal_leave(const sigset_t *set)
{
    struct candidate *c = agent_process() ? taken_of(set) : NULL;
    TGT_KEEP_ERRNO();

    if (!c || !tgt_lock_unless_held(&lock))
        return;
    if (taken(c->signal))
        give_back(c, NULL);
    tgt_unlock(&lock);
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
        if (now[i] == was[i] || !agent_is_guest()) /* a guest shares our thread storage */
            note_blocked(i, now[i]);
        if (old && was[i])
            sigaddset(old, candidates[i].signal);
        else if (old) /* the program may have left our handler by a jump */
            sigdelset(old, candidates[i].signal);
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

void agent_signal_defer(sigset_t *mask)
{
    sigset_t both;

    sigemptyset(&both);
    for (int i = 0; i < N; i++)
        if (taken(candidates[i].signal))
            sigaddset(&both, candidates[i].signal);
    NEXT(pthread_sigmask)(SIG_BLOCK, &both, mask);
}

void agent_signal_allow(const sigset_t *mask)
{
    TGT_KEEP_ERRNO();

    NEXT(pthread_sigmask)(SIG_SETMASK, mask, NULL);
}

/* --- for programs that inherit mask and actions --- */

void agent_signal_reveal(struct agent_signals *s)
{
    const struct candidate *c = agent_process() ? in_use() : NULL;
    struct sigaction program;

    *s = (struct agent_signals){ 0 };
    if (!c)
        return;
    program = action_of(c);
    s->ignored = program.sa_handler == SIG_IGN;
    s->blocked = is_blocked((int)(c - candidates));
    if (s->blocked)
        change_one((int)(c - candidates), SIG_BLOCK);
    if (s->ignored)
        NEXT(sigaction)(c->signal, &program, NULL);
}

void agent_signal_leave_program(struct agent_signals *s)
{
    if (agent_process())
        use_signal(0);
    agent_signal_reveal(s);
}

void agent_signal_conceal(const struct agent_signals *s)
{
    const struct candidate *c = agent_process() ? in_use() : NULL;

    if (!c)
        return;
    if (s->ignored)
        install(c);
    if (s->blocked)
        change_one((int)(c - candidates), SIG_UNBLOCK);
    agent_signal_go();
}

/* --- signals that the program sends to one thread --- */

/* If the program's signal merged with ours, which came first, the kernel would keep only ours. */
static bool make_way(int sig)
{
    const struct candidate *c = agent_process() ? taken(sig) : NULL;
    struct sigaction program;

    if (!c)
        return false;
    program = action_of(c);
    if (!agent_action_is_handler(&program))
        return false;
    agent_signal_stop();
    return true;
}

AGENT_HOOK int pthread_kill(pthread_t thread, int sig)
{
    bool stopped = make_way(sig);
    int rc = NEXT(pthread_kill)(thread, sig);

    if (stopped)
        agent_signal_go();
    return rc;
}

AGENT_HOOK int pthread_sigqueue(pthread_t thread, int sig, const union sigval value)
{
    bool stopped = make_way(sig);
    int rc = NEXT(pthread_sigqueue)(thread, sig, value);

    if (stopped)
        agent_signal_go();
    return rc;
}

AGENT_HOOK int tgkill(pid_t pid, pid_t tid, int sig)
{
    bool stopped = make_way(sig);
    int rc = NEXT(tgkill)(pid, tid, sig);

    if (stopped)
        agent_signal_go();
    return rc;
}

AGENT_HOOK int raise(int sig)
{
    bool stopped = make_way(sig);
    int rc = NEXT(raise)(sig);

    if (stopped)
        agent_signal_go();
    return rc;
}
