/* agent_restart.c - what our signal did to a system call, from the registers that it saved.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "agent/agent.h"

/* Calls that a handler without SA_RESTART ends with EINTR. */
static bool is_ended_by_signals(uint64_t number)
{
    switch (number) {
    case SYS_read: case SYS_readv: case SYS_recvfrom: case SYS_recvmsg: case SYS_recvmmsg:
    case SYS_write: case SYS_writev: case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg:
    case SYS_accept: case SYS_accept4: case SYS_connect: case SYS_wait4: case SYS_waitid:
    case SYS_futex: case SYS_flock: case SYS_fcntl: case SYS_ioctl: case SYS_openat:
    case SYS_mq_timedreceive: case SYS_mq_timedsend: case SYS_getrandom:
#ifdef SYS_open
    case SYS_open:
#endif
        return true;
    default:
        return false;
    }
}

#if defined(__aarch64__)
static const unsigned char call[] = { 0x01, 0x00, 0x00, 0xd4 }; /* svc #0 */
#define PC(u) ((u)->uc_mcontext.pc)
#define RESULT(u) ((u)->uc_mcontext.regs[0])
#define NUMBER(u) ((u)->uc_mcontext.regs[8]) /* of the call that is to start again */
#else
static const unsigned char call[] = { 0x0f, 0x05 }; /* syscall */
#define PC(u) ((u)->uc_mcontext.gregs[REG_RIP])
#define RESULT(u) ((u)->uc_mcontext.gregs[REG_RAX])
#define NUMBER(u) RESULT(u)
#endif

static bool is_call(uint64_t at)
{
    unsigned char code[sizeof call];

    return agent_sample_read(code, at, sizeof code) && memcmp(code, call, sizeof call) == 0;
}

uint64_t agent_restart_pc(const void *ucontext)
{
    return (uint64_t)PC((const ucontext_t *)ucontext);
}

bool agent_restart_is_cut(const void *ucontext)
{
    const ucontext_t *u = ucontext;

    return (int64_t)RESULT(u) == -EINTR && is_call((uint64_t)PC(u) - sizeof call);
}

void agent_restart_cancel(void *ucontext)
{
    ucontext_t *u = ucontext;

    if (!is_ended_by_signals((uint64_t)NUMBER(u)) || !is_call((uint64_t)PC(u)))
        return;
    RESULT(u) = (__typeof__(RESULT(u)))-EINTR;
    PC(u) += sizeof call;
}

/* The kernel has overwritten the number of the call with its result; in libc it is in the
 * instruction before. */
bool agent_restart_repeat(void *ucontext)
{
#if defined(__aarch64__)
    (void)ucontext; /* the result has overwritten the first argument, too */
    return false;
#else
    static const unsigned char mov = 0xb8; /* mov $NUMBER, %eax */
    ucontext_t *u = ucontext;
    unsigned char code[1 + sizeof(uint32_t)];
    uint32_t number;

    if (!agent_sample_read(code, (uint64_t)PC(u) - sizeof call - sizeof code, sizeof code))
        return false;
    memcpy(&number, code + 1, sizeof number);
    if (code[0] != mov || !agent_wait_repeats(number))
        return false;
    RESULT(u) = number;
    PC(u) -= (greg_t)sizeof call;
    return true;
#endif
}
