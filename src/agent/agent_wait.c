/* agent_wait.c - system calls that a signal ends with EINTR even if its handler has SA_RESTART.
 * If only ours arrived, they continue with the remaining time.
 * SPDX-License-Identifier: Apache-2.0 */
#include <aio.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"

enum { SECOND = 1000000000 };

/* Only calls that the kernel ends in spite of SA_RESTART; never close, whose descriptor is gone. */
bool agent_wait_repeats(uint32_t call)
{
    static const uint16_t calls[] = {
        SYS_ppoll, SYS_pselect6, SYS_epoll_pwait, 441 /* epoll_pwait2 */, SYS_nanosleep,
        SYS_clock_nanosleep, SYS_futex, SYS_semop, SYS_semtimedop, SYS_msgrcv, SYS_msgsnd,
        SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_io_getevents, SYS_read, SYS_readv,
        SYS_recvfrom, SYS_recvmsg, SYS_accept, SYS_accept4, SYS_write, SYS_writev, SYS_sendto,
        SYS_sendmsg,
#if defined(__x86_64__)
        SYS_poll, SYS_select, SYS_epoll_wait, SYS_pause,
#endif
    };

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (call == calls[i])
            return true;
    return false;
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static int64_t ns_of(const struct timespec *t)
{
    return (int64_t)t->tv_sec * SECOND + t->tv_nsec;
}

/* The end of a wait of T from now; absurd waits end in 100 years. */
static int64_t end_of(const struct timespec *t)
{
    return now_ns() + ns_of(&(struct timespec){ t->tv_sec < 3200000000 ? t->tv_sec : 3200000000,
                                                t->tv_nsec });
}

static struct timespec until(int64_t end_ns)
{
    int64_t left = end_ns - now_ns();

    left = left > 0 ? left : 0;
    return (struct timespec){ left / SECOND, left % SECOND };
}

/* What remains of WAIT, in *LEFT; an endless wait is NULL. */
static const struct timespec *shorten(const struct timespec *wait, int64_t end_ns,
                                      struct timespec *left)
{
    *left = until(end_ns);
    return wait ? left : NULL;
}

static int64_t end_of_ms(int ms)
{
    return ms > 0 ? now_ns() + (int64_t)ms * 1000000 : 0;
}

/* Round up, as the kernel does, so that the wait is not too short. */
static int ms_until(int64_t end_ns, int ms)
{
    int64_t left = end_ns - now_ns();

    if (ms <= 0)
        return ms;
    return left > 0 ? (int)((left + 999999) / 1000000) : 0;
}

AGENT_HOOK int poll(struct pollfd *fds, nfds_t n, int ms)
{
    int64_t end = end_of_ms(ms);
    int rc;

    AGENT_REPEAT(rc, NEXT(poll)(fds, n, ms), ms = ms_until(end, ms));
    return rc;
}

AGENT_HOOK int epoll_wait(int fd, struct epoll_event *events, int n, int ms)
{
    int64_t end = end_of_ms(ms);
    int rc;

    AGENT_REPEAT(rc, NEXT(epoll_wait)(fd, events, n, ms), ms = ms_until(end, ms));
    return rc;
}

AGENT_HOOK int epoll_pwait(int fd, struct epoll_event *events, int n, int ms, const sigset_t *mask)
{
    int64_t end = end_of_ms(ms);
    int rc;

    AGENT_REPEAT(rc, NEXT(epoll_pwait)(fd, events, n, ms, mask), ms = ms_until(end, ms));
    return rc;
}

/* What poll and ppoll are in programs compiled with _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *wait, const sigset_t *mask,
                size_t room);

AGENT_HOOK int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room)
{
    int64_t end = end_of_ms(ms);
    int rc;

    AGENT_REPEAT(rc, NEXT(__poll_chk)(fds, n, ms, room), ms = ms_until(end, ms));
    return rc;
}

AGENT_HOOK int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *wait,
                           const sigset_t *mask, size_t room)
{
    int64_t end = wait ? end_of(wait) : 0;
    struct timespec left;
    int rc;

    AGENT_REPEAT(rc, NEXT(__ppoll_chk)(fds, n, wait, mask, room),
                 wait = shorten(wait, end, &left));
    return rc;
}

AGENT_HOOK int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *wait,
                     const sigset_t *mask)
{
    int64_t end = wait ? end_of(wait) : 0;
    struct timespec left;
    int rc;

    AGENT_REPEAT(rc, NEXT(ppoll)(fds, n, wait, mask), wait = shorten(wait, end, &left));
    return rc;
}

AGENT_HOOK int epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *wait,
                            const sigset_t *mask)
{
    int64_t end = wait ? end_of(wait) : 0;
    struct timespec left;
    int rc;

    AGENT_REPEAT(rc, NEXT(epoll_pwait2)(fd, events, n, wait, mask),
                 wait = shorten(wait, end, &left));
    return rc;
}

AGENT_HOOK int pselect(int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x,
                       const struct timespec *restrict wait, const sigset_t *restrict mask)
{
    int64_t end = wait ? end_of(wait) : 0;
    struct timespec left;
    int rc;

    AGENT_REPEAT(rc, NEXT(pselect)(n, r, w, x, wait, mask), wait = shorten(wait, end, &left));
    return rc;
}

/* The kernel changes *WAIT to the remaining time. */
AGENT_HOOK int select(int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x,
                      struct timeval *restrict wait)
{
    int rc;

    AGENT_REPEAT(rc, NEXT(select)(n, r, w, x, wait), (void)0);
    return rc;
}

AGENT_HOOK int nanosleep(const struct timespec *wait, struct timespec *rest)
{
    struct timespec left;
    int rc;

    AGENT_REPEAT(rc, NEXT(nanosleep)(wait, &left), wait = &left);
    if (rc < 0 && errno == EINTR && rest)
        *rest = left;
    return rc;
}

/* Returns the error instead of setting errno. */
AGENT_HOOK int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wait,
                               struct timespec *rest)
{
    bool absolute = flags & TIMER_ABSTIME;
    struct timespec left;
    int rc;

    for (;;) {
        struct agent_call before = agent_call_start();

        rc = NEXT(clock_nanosleep)(clock, flags, wait, absolute ? NULL : &left);
        if (rc != EINTR)
            return rc;
        if (!agent_call_was_cut(&before))
            break;
        wait = absolute ? wait : &left;
    }
    if (rest && !absolute)
        *rest = left;
    return rc;
}

/* libc's own sleep does not call the hook. */
AGENT_HOOK unsigned sleep(unsigned seconds)
{
    struct timespec t = { seconds, 0 };

    return nanosleep(&t, &t) < 0 ? (unsigned)t.tv_sec : 0;
}

AGENT_HOOK int usleep(useconds_t us)
{
    struct timespec t = { us / 1000000, (long)(us % 1000000) * 1000 };

    return nanosleep(&t, NULL);
}

AGENT_HOOK int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                            const struct timespec *restrict wait)
{
    int64_t end = wait ? end_of(wait) : 0;
    struct timespec left;
    int rc;

    agent_signal_leave(set);
    AGENT_REPEAT(rc, NEXT(sigtimedwait)(set, info, wait), wait = shorten(wait, end, &left));
    return rc;
}

AGENT_HOOK int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    int rc;

    agent_signal_leave(set);
    AGENT_REPEAT(rc, NEXT(sigwaitinfo)(set, info), (void)0);
    return rc;
}

AGENT_HOOK int semop(int id, struct sembuf *ops, size_t n)
{
    int rc;

    AGENT_REPEAT(rc, NEXT(semop)(id, ops, n), (void)0);
    return rc;
}

AGENT_HOOK int semtimedop(int id, struct sembuf *ops, size_t n, const struct timespec *wait)
{
    int64_t end = wait ? end_of(wait) : 0;
    struct timespec left;
    int rc;

    AGENT_REPEAT(rc, NEXT(semtimedop)(id, ops, n, wait), wait = shorten(wait, end, &left));
    return rc;
}

AGENT_HOOK ssize_t msgrcv(int id, void *to, size_t n, long type, int flags)
{
    ssize_t rc;

    AGENT_REPEAT(rc, NEXT(msgrcv)(id, to, n, type, flags), (void)0);
    return rc;
}

AGENT_HOOK int msgsnd(int id, const void *from, size_t n, int flags)
{
    int rc;

    AGENT_REPEAT(rc, NEXT(msgsnd)(id, from, n, flags), (void)0);
    return rc;
}

/* --- until a handler of the program ran --- */

AGENT_HOOK int pause(void)
{
    int rc;

    AGENT_REPEAT(rc, NEXT(pause)(), (void)0);
    return rc;
}

AGENT_HOOK int sigsuspend(const sigset_t *mask)
{
    int rc;

    AGENT_REPEAT(rc, NEXT(sigsuspend)(mask), (void)0);
    return rc;
}

/* --- until a time --- */

AGENT_HOOK int sem_timedwait(sem_t *restrict s, const struct timespec *restrict end)
{
    int rc;

    AGENT_REPEAT(rc, NEXT(sem_timedwait)(s, end), (void)0);
    return rc;
}

AGENT_HOOK int sem_clockwait(sem_t *restrict s, clockid_t clock,
                             const struct timespec *restrict end)
{
    int rc;

    AGENT_REPEAT(rc, NEXT(sem_clockwait)(s, clock, end), (void)0);
    return rc;
}

AGENT_HOOK int aio_suspend(const struct aiocb *const list[], int n, const struct timespec *wait)
{
    int64_t end = wait ? end_of(wait) : 0;
    struct timespec left;
    int rc;

    AGENT_REPEAT(rc, NEXT(aio_suspend)(list, n, wait), wait = shorten(wait, end, &left));
    return rc;
}

AGENT_PLAIN(int, aio_suspend,
            (const struct aiocb *const list[], int n, const struct timespec *wait), (list, n, wait))

/* libc's own does not call the hook, and reports a signal with -1. */
AGENT_HOOK int thrd_sleep(const struct timespec *wait, struct timespec *rest)
{
    int rc = clock_nanosleep(CLOCK_REALTIME, 0, wait, rest);

    return rc == 0 ? 0 : rc == EINTR ? -1 : -2;
}
