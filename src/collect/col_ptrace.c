/* col_ptrace.c - see col_ptrace.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_ptrace.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "collect/col_proc.h"

enum { SLICE_NS = 500000 };

static long request(int what, const struct col_ptrace *t, uintptr_t address, uintptr_t data)
{
    return ptrace((enum __ptrace_request)what, t->tid, address, data);
}

int col_ptrace_seize(struct col_ptrace *t, pid_t pid, pid_t tid)
{
    *t = (struct col_ptrace){ .pid = pid, .tid = tid, .ran_ns = clock_mono_ns() };
    if (request(PTRACE_SEIZE, t, 0, 0) == 0) {
        request(PTRACE_INTERRUPT, t, 0, 0); /* fails only if it has ended: wait tells */
        return 0;
    }
    t->tid = 0;
    return errno;
}

/* --- waiting --- */

/* A seized thread that has ended stays until its tracer has waited for it.  The first thread of a
 * child of ours is left to the main thread, which wants the exit status. */
static void reap(const struct col_ptrace *t)
{
    siginfo_t info;

    if (t->tid != t->pid || col_proc_parent(t->pid) != getpid())
        waitid(P_PID, (id_t)t->tid, &info, WEXITED | WNOHANG | __WALL);
}

static enum col_ptrace_state ended(struct col_ptrace *t)
{
    t->tid = 0;
    return COL_PTRACE_ENDED;
}

static enum col_ptrace_state look(struct col_ptrace *t)
{
    siginfo_t info = { 0 };

    if (waitid(P_PID, (id_t)t->tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) {
        if (t->tid == t->pid || errno == EINTR)
            return errno == EINTR ? COL_PTRACE_NOT_YET : ended(t);
        t->tid = t->pid; /* a thread that calls exec becomes the first one */
        return look(t);
    }
    if (!info.si_pid)
        return COL_PTRACE_NOT_YET;
    if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
        reap(t);
        return ended(t);
    }
    if (info.si_status >> 8 == PTRACE_EVENT_STOP) {
        t->signal = 0;
        t->in_group_stop = (info.si_status & 0x7f) != SIGTRAP;
    } else {
        t->signal = info.si_status & 0x7f;
    }
    return COL_PTRACE_STOPPED;
}

/* The kernel sends SIGCHLD when the thread stops.  If it was not blocked, or is ignored, the slice
 * ends the wait. */
static void wait_for_child(uint64_t ns)
{
    struct timespec slice = { 0, (long)(ns < SLICE_NS ? ns : SLICE_NS) };
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigtimedwait(&set, NULL, &slice);
}

enum col_ptrace_state col_ptrace_wait(struct col_ptrace *t, uint64_t until_ns)
{
    for (;;) {
        uint64_t now = clock_mono_ns();
        enum col_ptrace_state state = look(t);

        if (state != COL_PTRACE_NOT_YET)
            return state;
        t->ran_ns = now;
        if (now >= until_ns)
            return state;
        wait_for_child(until_ns - now);
    }
}

/* --- registers --- */

bool col_ptrace_regs(const struct col_ptrace *t, struct col_ptrace_regs *r)
{
    struct iovec v = { &r->v, sizeof r->v };

    if (request(PTRACE_GETREGSET, t, NT_PRSTATUS, (uintptr_t)&v) < 0)
        return false;
    r->n = v.iov_len;
    return true;
}

bool col_ptrace_set_regs(const struct col_ptrace *t, const struct col_ptrace_regs *r)
{
    struct iovec v = { (void *)(uintptr_t)&r->v, r->n };

    return request(PTRACE_SETREGSET, t, NT_PRSTATUS, (uintptr_t)&v) == 0;
}

static uint64_t signal_bit(int number)
{
    return (uint64_t)1 << (number - 1);
}

static uint64_t mask_in(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? strtoull(at + strlen(key), NULL, 16) : 0;
}

/* While a thread is seized, its calls are also interrupted for signals without an effect. */
bool col_ptrace_has_signal(const struct col_ptrace *t)
{
    const uint64_t harmless = signal_bit(SIGCHLD) | signal_bit(SIGCONT) | signal_bit(SIGURG) |
                              signal_bit(SIGWINCH);
    char path[64], text[4096];
    uint64_t waiting;

    snprintf(path, sizeof path, "/proc/%d/task/%d/status", t->pid, t->tid);
    if (map_read_text(path, text, sizeof text) < 0)
        return true;
    waiting = mask_in(text, "\nSigPnd:") | mask_in(text, "\nShdPnd:");
    waiting &= ~mask_in(text, "\nSigBlk:");
    waiting |= t->signal ? signal_bit(t->signal) : 0;
    return (waiting & ~mask_in(text, "\nSigIgn:") & (mask_in(text, "\nSigCgt:") | ~harmless)) != 0;
}

#if defined(__aarch64__)
enum { PC_32 = 15 }; /* r15 */

bool col_ptrace_unwind_regs(const struct col_ptrace_regs *r, struct unw_regs *u)
{
    *u = (struct unw_regs){ .pc = r->v.pc, .sp = r->v.sp, .fp = r->v.regs[29],
                            .lr = r->v.regs[30] };
    if (r->n == sizeof r->v)
        return true;
    *u = (struct unw_regs){ .pc = ((const uint32_t *)&r->v)[PC_32] };
    return false;
}

/* The kernel has forgotten the first argument of the call. */
bool col_ptrace_repeat_call(const struct col_ptrace *t, struct col_ptrace_regs *r, bool *failed)
{
    (void)t;
    *failed = (int64_t)r->v.regs[0] == -EINTR;
    return false;
}
#else
enum { PC_32 = 12, CALL_BYTES = 2 }; /* eip; the instruction syscall */

bool col_ptrace_unwind_regs(const struct col_ptrace_regs *r, struct unw_regs *u)
{
    uint32_t word[PC_32 + 1];

    if (r->n == sizeof r->v) {
        *u = (struct unw_regs){ .pc = r->v.rip, .sp = r->v.rsp, .fp = r->v.rbp, .bx = r->v.rbx,
                                .r10 = r->v.r10 };
        return true;
    }
    memcpy(word, &r->v, sizeof word);
    *u = (struct unw_regs){ .pc = word[PC_32] };
    return false;
}

/* A call that failed with EINTR has done nothing, and may be made again. */
static bool may_repeat(uint64_t call)
{
    static const int calls[] = {
        SYS_epoll_wait, SYS_epoll_pwait, 441 /* epoll_pwait2 */, SYS_semop, SYS_semtimedop,
        SYS_io_getevents, 333 /* io_pgetevents */, 426 /* io_uring_enter */, SYS_rt_sigtimedwait,
        SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_accept, SYS_accept4,
        SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg,
    };

    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (call == (uint64_t)calls[i])
            return true;
    return false;
}

bool col_ptrace_repeat_call(const struct col_ptrace *t, struct col_ptrace_regs *r, bool *failed)
{
    *failed = false;
    if (r->n != sizeof r->v || (int64_t)r->v.orig_rax < 0 || (int64_t)r->v.rax != -EINTR ||
        col_ptrace_has_signal(t))
        return false;
    *failed = !may_repeat(r->v.orig_rax);
    if (*failed)
        return false;
    r->v.rax = r->v.orig_rax;
    r->v.orig_rax = (uint64_t)-1; /* the kernel does not repeat it too */
    r->v.rip -= CALL_BYTES;
    return true;
}
#endif

bool col_ptrace_read(const struct col_ptrace *t, uint64_t address, uint64_t *word)
{
    errno = 0;
    *word = (uint64_t)request(PTRACE_PEEKDATA, t, address, 0);
    return errno == 0;
}

/* The last word may reach behind the bytes: keep what is there. */
bool col_ptrace_write(const struct col_ptrace *t, uint64_t address, const void *from, size_t n)
{
    const unsigned char *bytes = from;

    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
        size_t k = n - i < sizeof(uint64_t) ? n - i : sizeof(uint64_t);
        uint64_t word = 0;

        if (k < sizeof word && !col_ptrace_read(t, address + i, &word))
            return false;
        memcpy(&word, bytes + i, k);
        if (request(PTRACE_POKEDATA, t, address + i, word) < 0)
            return false;
    }
    return true;
}

bool col_ptrace_let_go(struct col_ptrace *t)
{
    if (request(PTRACE_DETACH, t, 0, (uintptr_t)t->signal) < 0)
        return false;
    t->tid = 0;
    return true;
}
