/* agent_filter.c - filters of system calls (seccomp) that the program installs.
 *
 * A filter may end the program for a system call of our handler, even for the one with which every
 * handler returns.  So each filter is asked before it is installed.  One that forbids the return
 * ends the sampling of the process; one that forbids other calls of the handler makes the handler
 * careful.  Programs that a filtered process starts or forks are not recorded if the filter forbids
 * what the agent does at its start.  SPDX-License-Identifier: Apache-2.0 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/agent_bpf.h"
#include "target/tgt_load.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

enum {
    STRICT = 0, FILTER = 1, /* operations of the system call seccomp */
    LONGEST = 4096,         /* instructions of a filter */
    ARCH =
#if defined(__aarch64__)
        (int)AUDIT_ARCH_AARCH64,
#else
        (int)AUDIT_ARCH_X86_64,
#endif
};

struct call {
    int number;
    uint64_t first; /* its first argument */
};

static const struct call ends_handler[] = { { SYS_rt_sigreturn, 0 } };
static const struct call of_handler[] = {
    { SYS_gettid, 0 }, { SYS_getpid, 0 }, { SYS_process_vm_readv, 0 },
    { SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID }, { SYS_rt_sigprocmask, 0 },
};
/* At the start of a program, after fork, and before exec. */
static const struct call of_start[] = {
    { SYS_openat, 0 }, { SYS_fstat, 0 }, { SYS_mmap, 0 }, { SYS_close, 0 }, { SYS_newfstatat, 0 },
    { SYS_prctl, PR_GET_NAME }, { SYS_rt_sigaction, 0 }, { SYS_rt_sigprocmask, 0 },
    { SYS_faccessat, 0 }, { SYS_pread64, 0 }, { SYS_fgetxattr, 0 }, { SYS_munmap, 0 },
    { SYS_prlimit64, 0 },
#ifdef SYS_access
    { SYS_access, 0 },
#endif
};

/* F is the program's, and may be anything. */
static bool can_read(const struct sock_fprog *f)
{
    struct sock_fprog copy;
    struct sock_filter some[32];

    if (tgt_load(&copy, (uint64_t)(uintptr_t)f, sizeof copy) != sizeof copy ||
        copy.len > LONGEST)
        return false;
    for (size_t i = 0, n; i < copy.len; i += n) {
        n = copy.len - i < 32 ? copy.len - i : 32;
        if (tgt_load(some, (uint64_t)(uintptr_t)&copy.filter[i], n * sizeof *some) !=
            n * sizeof *some)
            return false;
    }
    return true;
}

/* Whether the program goes on after a call with ANSWER; REALLY: and the call is made. */
static bool is_harmless(uint32_t answer, bool really)
{
    switch (answer & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG:
        return true;
    case SECCOMP_RET_ERRNO:
        return !really;
    default:
        return false;
    }
}

static bool allows(const struct sock_fprog *f, const struct call *c, size_t n, bool really)
{
    for (size_t i = 0; f && i < n; i++) {
        struct seccomp_data d = { .nr = c[i].number, .arch = (uint32_t)ARCH,
                                  .args = { c[i].first } };

        if (!is_harmless(agent_bpf_run(f->filter, f->len, &d), really))
            return false;
    }
    return f != NULL;
}

#define ALLOWS(f, calls, really) allows(f, calls, sizeof(calls) / sizeof *(calls), really)

static const struct sock_filter strict[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
};
static const struct sock_fprog strict_filter = { sizeof strict / sizeof *strict,
                                                 (struct sock_filter *)(uintptr_t)strict };

/* What a filter changes, to undo it if the kernel refuses the filter. */
struct before {
    bool changed, careful, confined, ended;
};

/* The program is about to install filter F. */
static struct before expect(const struct sock_fprog *f)
{
    struct before b = { true, agent.careful, agent.confined, false };
    bool is_known = f == &strict_filter || (!agent.careful && can_read(f));

    if (!is_known && !agent.careful)
        return (struct before){ 0 }; /* nor can the kernel */
    agent_sample_forget_thread();
    agent_signal_stop();
    b.ended = !is_known || !ALLOWS(f, ends_handler, true);
    if (b.ended)
        agent_signal_end(AGENT_FILTERED);
    agent.careful |= b.ended || !ALLOWS(f, of_handler, true);
    agent.confined |= b.ended || !ALLOWS(f, of_start, false);
    if (!b.ended)
        agent_signal_go();
    return b;
}

static void undo(const struct before *b)
{
    if (!b->changed)
        return;
    agent.careful = b->careful;
    agent.confined = b->confined;
    if (b->ended && !agent_is_guest())
        agent_process()->why_not = 0;
    agent_signal_go();
}

AGENT_HOOK int prctl(int option, ...)
{
    struct before b = { 0 };
    unsigned long a[4];
    va_list ap;
    int rc;

    va_start(ap, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(ap, unsigned long);
    va_end(ap);
    if (agent_process() && option == PR_SET_SECCOMP)
        b = expect(a[0] == SECCOMP_MODE_STRICT ? &strict_filter : (const struct sock_fprog *)a[1]);
    if (agent_process() && option == PR_SET_SYSCALL_USER_DISPATCH && a[0])
        agent_signal_stop(); /* the program serves system calls itself, also those of handlers */
    rc = NEXT(prctl)(option, a[0], a[1], a[2], a[3]);
    if (rc != 0)
        undo(&b);
    if (option == PR_SET_NAME)
        agent_hooks_named();
    return rc;
}

static long install(unsigned long operation, unsigned long flags, const void *filter)
{
    struct before b = expect(operation == STRICT ? &strict_filter : filter);
    long rc = NEXT(syscall)(SYS_seccomp, operation, flags, filter);

    if (rc < 0 || (rc > 0 && !(flags & SECCOMP_FILTER_FLAG_NEW_LISTENER)))
        undo(&b);
    return rc;
}

/* Declared with the most arguments, so that other calls are one jump to libc and need no frame:
 * a new thread may return from them on another stack. */
typedef long any_call(long number, long a, long b, long c, long d, long e, long f);
AGENT_HOOK any_call agent_filter_syscall __asm__("syscall");

long agent_filter_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_seccomp && (a == STRICT || a == FILTER) && agent_process())
        return install((unsigned long)a, (unsigned long)b, (const void *)c);
    return ((any_call *)agent_next(AGENT_NEXT_syscall))(number, a, b, c, d, e, f);
}
