/* agent_transfer.c - transfers that our signal may end with EINTR (sockets with a time-out, files
 * in user space), with less than everything (pipes, sockets), or undo (fallocate).  If only ours
 * arrived, they continue.  A time-out of a socket starts again.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/agent.h"
#include "target/tgt_guard.h"

/* --- all or nothing --- */

#define REPEATED(type, name, parameters, arguments)         \
    AGENT_HOOK type name parameters                         \
    {                                                       \
        type rc;                                            \
                                                            \
        AGENT_REPEAT(rc, NEXT(name) arguments, (void)0);    \
        return rc;                                          \
    }

/* What these are in programs compiled with _FORTIFY_SOURCE. */
ssize_t __read_chk(int fd, void *to, size_t n, size_t room);
ssize_t __recvfrom_chk(int fd, void *restrict to, size_t n, size_t room, int flags,
                       struct sockaddr *restrict address, socklen_t *restrict size);

REPEATED(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
REPEATED(ssize_t, __read_chk, (int fd, void *to, size_t n, size_t room), (fd, to, n, room))
REPEATED(ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n))
REPEATED(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags))
REPEATED(int, recvmmsg,
         (int fd, struct mmsghdr *v, unsigned n, int flags, struct timespec *wait),
         (fd, v, n, flags, wait))
REPEATED(int, sendmmsg, (int fd, struct mmsghdr *v, unsigned n, int flags), (fd, v, n, flags))
REPEATED(int, accept, (int fd, struct sockaddr *restrict address, socklen_t *restrict size),
         (fd, address, size))
REPEATED(int, accept4,
         (int fd, struct sockaddr *restrict address, socklen_t *restrict size, int flags),
         (fd, address, size, flags))
REPEATED(int, connect, (int fd, const struct sockaddr *address, socklen_t size),
         (fd, address, size))

/* --- the rest of what was transferred in part --- */

/* A regular file takes less than everything for other reasons, and may raise SIGXFSZ for more. */
static bool is_stream(int fd)
{
    struct stat st;
    TGT_KEEP_ERRNO();

    return !agent.careful && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode);
}

/* Whether to go on after DONE of N bytes. */
static bool has_rest(int fd, ssize_t done, size_t n, const struct agent_call *before)
{
    return done > 0 && (size_t)done < n && agent_call_was_cut(before) && is_stream(fd);
}

/* Transfer the rest with CALL, which uses DONE and BEFORE. */
#define FINISH(done, fd, n, before, call)           \
    while (has_rest(fd, done, n, &(before))) {      \
        ssize_t more_;                              \
        TGT_KEEP_ERRNO();                           \
                                                    \
        (before) = agent_call_start();              \
        more_ = (call);                             \
        if (more_ <= 0)                             \
            break;                                  \
        (done) += more_;                            \
    }

AGENT_HOOK ssize_t write(int fd, const void *from, size_t n)
{
    struct agent_call before = agent_call_start();
    ssize_t done;

    AGENT_REPEAT(done, NEXT(write)(fd, from, n), before = agent_call_start());
    FINISH(done, fd, n, before, NEXT(write)(fd, (const char *)from + done, n - (size_t)done));
    return done;
}

AGENT_HOOK ssize_t send(int fd, const void *from, size_t n, int flags)
{
    struct agent_call before = agent_call_start();
    ssize_t done;

    AGENT_REPEAT(done, NEXT(send)(fd, from, n, flags), before = agent_call_start());
    FINISH(done, fd, n, before, NEXT(send)(fd, (const char *)from + done, n - (size_t)done, flags));
    return done;
}

AGENT_HOOK ssize_t sendto(int fd, const void *from, size_t n, int flags,
                          const struct sockaddr *address, socklen_t size)
{
    struct agent_call before = agent_call_start();
    ssize_t done;

    AGENT_REPEAT(done, NEXT(sendto)(fd, from, n, flags, address, size),
                 before = agent_call_start());
    FINISH(done, fd, n, before, NEXT(send)(fd, (const char *)from + done, n - (size_t)done, flags));
    return done;
}

/* Only MSG_WAITALL promises everything. */
AGENT_HOOK ssize_t recv(int fd, void *to, size_t n, int flags)
{
    struct agent_call before = agent_call_start();
    ssize_t done;

    AGENT_REPEAT(done, NEXT(recv)(fd, to, n, flags), before = agent_call_start());
    if (flags & MSG_WAITALL && !(flags & (MSG_PEEK | MSG_TRUNC)))
        FINISH(done, fd, n, before, NEXT(recv)(fd, (char *)to + done, n - (size_t)done, flags));
    return done;
}

AGENT_HOOK ssize_t recvfrom(int fd, void *restrict to, size_t n, int flags,
                            struct sockaddr *restrict address, socklen_t *restrict size)
{
    struct agent_call before = agent_call_start();
    ssize_t done;

    AGENT_REPEAT(done, NEXT(recvfrom)(fd, to, n, flags, address, size),
                 before = agent_call_start());
    if (flags & MSG_WAITALL && !(flags & (MSG_PEEK | MSG_TRUNC)))
        FINISH(done, fd, n, before, NEXT(recv)(fd, (char *)to + done, n - (size_t)done, flags));
    return done;
}

ssize_t __recv_chk(int fd, void *to, size_t n, size_t room, int flags);
AGENT_HOOK ssize_t __recv_chk(int fd, void *to, size_t n, size_t room, int flags)
{
    return n <= room ? recv(fd, to, n, flags) : NEXT(__recv_chk)(fd, to, n, room, flags);
}

AGENT_HOOK ssize_t __recvfrom_chk(int fd, void *restrict to, size_t n, size_t room, int flags,
                                  struct sockaddr *restrict address, socklen_t *restrict size)
{
    return n <= room ? recvfrom(fd, to, n, flags, address, size)
                     : NEXT(__recvfrom_chk)(fd, to, n, room, flags, address, size);
}

AGENT_HOOK ssize_t sendfile(int to, int from, off_t *at, size_t n)
{
    struct agent_call before = agent_call_start();
    ssize_t done;

    AGENT_REPEAT(done, NEXT(sendfile)(to, from, at, n), before = agent_call_start());
    FINISH(done, to, n, before, NEXT(sendfile)(to, from, at, n - (size_t)done));
    return done;
}

AGENT_PLAIN(ssize_t, sendfile, (int to, int from, off_t *at, size_t n), (to, from, at, n))

AGENT_HOOK ssize_t getrandom(void *to, size_t n, unsigned flags)
{
    struct agent_call before = agent_call_start();
    ssize_t done;

    AGENT_REPEAT(done, NEXT(getrandom)(to, n, flags), before = agent_call_start());
    while (done > 0 && (size_t)done < n && agent_call_was_cut(&before)) {
        ssize_t more;

        before = agent_call_start();
        more = NEXT(getrandom)((char *)to + done, n - (size_t)done, flags);
        if (more <= 0)
            break;
        done += more;
    }
    return done;
}

static size_t bytes_of(const struct iovec *v, size_t n)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        bytes += v[i].iov_len;
    return bytes;
}

/* Write what follows the first DONE bytes of the N parts V; SOCKET: with FLAGS.  Returns all that
 * was written. */
static ssize_t finish_parts(int fd, const struct iovec *v, size_t n, ssize_t done, bool socket,
                            int flags)
{
    size_t skip = (size_t)done;
    TGT_KEEP_ERRNO();

    for (size_t i = 0; i < n; i++) {
        size_t left;
        ssize_t rc;

        if (skip >= v[i].iov_len) {
            skip -= v[i].iov_len;
            continue;
        }
        left = v[i].iov_len - skip;
        rc = socket ? send(fd, (const char *)v[i].iov_base + skip, left, flags)
                    : write(fd, (const char *)v[i].iov_base + skip, left);
        done += rc > 0 ? rc : 0;
        if (rc < (ssize_t)left)
            break;
        skip = 0;
    }
    return done;
}

AGENT_HOOK ssize_t writev(int fd, const struct iovec *v, int n)
{
    struct agent_call before = agent_call_start();
    ssize_t done;

    AGENT_REPEAT(done, NEXT(writev)(fd, v, n), before = agent_call_start());
    if (done > 0 && has_rest(fd, done, bytes_of(v, (size_t)n), &before))
        done = finish_parts(fd, v, (size_t)n, done, false, 0);
    return done;
}

AGENT_HOOK ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    struct agent_call before = agent_call_start();
    ssize_t done;

    AGENT_REPEAT(done, NEXT(sendmsg)(fd, m, flags), before = agent_call_start());
    if (done > 0 && has_rest(fd, done, bytes_of(m->msg_iov, m->msg_iovlen), &before))
        done = finish_parts(fd, m->msg_iov, m->msg_iovlen, done, true, flags);
    return done;
}

/* --- calls that start again from nothing --- */

/* On tmpfs, fallocate gives up what it did when a signal arrives, so at the sampling rate it would
 * never end. */
AGENT_HOOK int fallocate(int fd, int mode, off_t at, off_t n)
{
    sigset_t mask;
    int rc;

    if (!agent_process())
        return NEXT(fallocate)(fd, mode, at, n);
    agent_signal_defer(&mask);
    rc = NEXT(fallocate)(fd, mode, at, n);
    agent_signal_allow(&mask);
    return rc;
}

AGENT_PLAIN(int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))

AGENT_HOOK int posix_fallocate(int fd, off_t at, off_t n)
{
    sigset_t mask;
    int rc;

    if (!agent_process())
        return NEXT(posix_fallocate)(fd, at, n);
    agent_signal_defer(&mask);
    rc = NEXT(posix_fallocate)(fd, at, n);
    agent_signal_allow(&mask);
    return rc;
}

AGENT_PLAIN(int, posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n))
