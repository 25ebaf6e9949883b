/* agent_action.c - the handlers of the program.
 *
 * A hook that repeats an interrupted system call must know whether a handler of the program ran,
 * because then the program is to see EINTR.  So the kernel calls each handler through relay(),
 * which counts.  The program sees the handlers that it set.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "agent/agent.h"

typedef void action(int sig, siginfo_t *info, void *context);

static action *handler[NSIG];
static int flags_of[NSIG];
static bool interrupts[NSIG]; /* siginterrupt: handlers of signal() have no SA_RESTART */

/* It ends with a jump: the program's handler may have little stack. */
static void relay(int sig, siginfo_t *info, void *context)
{
    agent_signal_relayed(context, __atomic_load_n(&flags_of[sig], __ATOMIC_RELAXED));
    __atomic_load_n(&handler[sig], __ATOMIC_ACQUIRE)(sig, info, context);
}

int agent_action_set(int sig, const struct sigaction *new, struct sigaction *old)
{
    struct sigaction relayed, was = { 0 };
    action *before;
    int before_flags, rc;

    if (sig < 1 || sig >= NSIG)
        return NEXT(sigaction)(sig, new, old);
    before = __atomic_load_n(&handler[sig], __ATOMIC_ACQUIRE);
    before_flags = flags_of[sig];
    if (new) {
        relayed = *new;
        /* A child of vfork shares our memory, but not its actions. */
        if (agent_action_is_handler(new) && !agent_is_guest()) {
            relayed.sa_sigaction = relay;
            relayed.sa_flags |= SA_SIGINFO; /* relay needs all arguments */
            __atomic_store_n(&flags_of[sig], new->sa_flags, __ATOMIC_RELAXED);
            __atomic_store_n(&handler[sig], new->sa_sigaction, __ATOMIC_RELEASE);
        }
    }
    rc = NEXT(sigaction)(sig, new ? &relayed : NULL, &was);
    if (was.sa_sigaction == relay || was.sa_flags & (int)SA_RESETHAND)
        was.sa_flags &= before_flags | ~SA_SIGINFO;
    if (was.sa_sigaction == relay)
        was.sa_sigaction = before;
    if (rc == 0 && old)
        *old = was;
    return rc;
}

AGENT_HOOK int sigaction(int sig, const struct sigaction *new, struct sigaction *old)
{
    int rc;

    if (!agent.memory)
        return NEXT(sigaction)(sig, new, old);
    return agent_signal_act(sig, new, old, &rc) ? rc : agent_action_set(sig, new, old);
}

/* --- functions of libc that do not call the hook --- */

static __sighandler_t set(int sig, __sighandler_t to, int flags)
{
    struct sigaction new = { .sa_handler = to, .sa_flags = flags }, old;

    if (to == SIG_ERR || sig < 1 || sig >= NSIG) {
        errno = EINVAL;
        return SIG_ERR;
    }
    sigemptyset(&new.sa_mask);
    if (!(flags & SA_NODEFER))
        sigaddset(&new.sa_mask, sig);
    return sigaction(sig, &new, &old) < 0 ? SIG_ERR : old.sa_handler;
}

AGENT_HOOK __sighandler_t signal(int sig, __sighandler_t to)
{
    if (!agent.memory)
        return NEXT(signal)(sig, to);
    return set(sig, to, sig > 0 && sig < NSIG && interrupts[sig] ? 0 : SA_RESTART);
}

AGENT_HOOK __sighandler_t ssignal(int sig, __sighandler_t to)
{
    return signal(sig, to);
}

/* What signal() is for programs compiled for strict POSIX. */
__sighandler_t __sysv_signal(int sig, __sighandler_t to);
AGENT_HOOK __sighandler_t __sysv_signal(int sig, __sighandler_t to)
{
    if (!agent.memory)
        return NEXT(__sysv_signal)(sig, to);
    return set(sig, to, (int)(SA_RESETHAND | SA_NODEFER));
}

AGENT_HOOK __sighandler_t sysv_signal(int sig, __sighandler_t to)
{
    return __sysv_signal(sig, to);
}

AGENT_HOOK int siginterrupt(int sig, int on)
{
    struct sigaction a;

    if (sigaction(sig, NULL, &a) < 0)
        return -1;
    interrupts[sig] = on;
    a.sa_flags = on ? a.sa_flags & ~SA_RESTART : a.sa_flags | SA_RESTART;
    return sigaction(sig, &a, NULL);
}
