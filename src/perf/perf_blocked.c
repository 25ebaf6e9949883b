/* perf_blocked.c - see perf_blocked.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_blocked.h"

#include <string.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "profile/sink.h"

static const struct {
    long number;
    const char *word;
} calls[] = {
    { SYS_futex, "futex" },
    { SYS_nanosleep, "sleep" },
    { SYS_clock_nanosleep, "sleep" },
    { SYS_read, "read" },
    { SYS_readv, "read" },
    { SYS_pread64, "read" },
    { SYS_recvfrom, "read" },
    { SYS_recvmsg, "read" },
    { SYS_write, "write" },
    { SYS_writev, "write" },
    { SYS_pwrite64, "write" },
    { SYS_sendto, "write" },
    { SYS_sendmsg, "write" },
    { SYS_ppoll, "poll" },
    { SYS_pselect6, "poll" },
    { SYS_epoll_pwait, "poll" },
#ifdef SYS_poll
    { SYS_poll, "poll" },
    { SYS_select, "poll" },
    { SYS_epoll_wait, "poll" },
    { SYS_pause, "signal" },
#endif
    { SYS_wait4, "child" },
    { SYS_waitid, "child" },
    { SYS_accept, "accept" },
    { SYS_accept4, "accept" },
    { SYS_connect, "connect" },
    { SYS_fsync, "disk" },
    { SYS_fdatasync, "disk" },
    { SYS_rt_sigsuspend, "signal" },
    { SYS_rt_sigtimedwait, "signal" },
    { SYS_flock, "file lock" },
    { SYS_fcntl, "file lock" },
    { SYS_sched_yield, WAIT_QUEUE },
    { -1, WAIT_FAULT },
};

const char *perf_blocked_by_call(long number)
{
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (calls[i].number == number)
            return calls[i].word;
    return WAIT_UNKNOWN;
}

/* Prefixes of names, because compilers append suffixes such as .isra.0. */
static const struct {
    const char *begins, *word;
} functions[] = {
    { "futex_", "futex" },
    { "do_nanosleep", "sleep" },
    { "hrtimer_nanosleep", "sleep" },
    { "do_epoll_wait", "poll" },
    { "ep_poll", "poll" },
    { "do_sys_poll", "poll" },
    { "do_poll", "poll" },
    { "do_select", "poll" },
    { "exc_page_fault", WAIT_FAULT },
    { "do_user_addr_fault", WAIT_FAULT },
    { "io_schedule", "disk" },
    { "vfs_fsync", "disk" },
    { "pipe_read", "read" },
    { "anon_pipe_read", "read" },
    { "vfs_read", "read" },
    { "ksys_read", "read" },
    { "__sys_recv", "read" },
    { "sock_recvmsg", "read" },
    { "pipe_write", "write" },
    { "anon_pipe_write", "write" },
    { "vfs_write", "write" },
    { "ksys_write", "write" },
    { "__sys_send", "write" },
    { "do_wait", "child" },
    { "kernel_wait", "child" },
    { "kernel_clone", "child" }, /* vfork */
    { "rwsem_down", "kernel lock" },
    { "__mutex_lock", "kernel lock" },
    { "__sys_accept", "accept" },
    { "__sys_connect", "connect" },
    { "do_sigtimedwait", "signal" },
    { "sigsuspend", "signal" },
    { "locks_lock", "file lock" },
    { "preempt_schedule", WAIT_QUEUE },
    { "exit_to_user_mode", WAIT_QUEUE },
    { "irqentry_exit", WAIT_QUEUE },
    { "__cond_resched", WAIT_QUEUE },
    { "do_sched_yield", WAIT_QUEUE },
};

const char *perf_blocked_by_function(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (strncmp(name, functions[i].begins, strlen(functions[i].begins)) == 0)
            return functions[i].word;
    return NULL;
}
