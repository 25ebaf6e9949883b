/* eintr.c - a program that treats every interrupted or incomplete system call as fatal.
 *     calls N     N rounds of about 20 calls that a signal may end with EINTR
 *     partial N   N large transfers through pipes and sockets, each in one call
 *     own N       signals of its own, which must end N waits of each kind
 * build: eintr gcc -O2 -g -pthread -o @OUT@ @IN@
 * build: eintr-fortified gcc -O2 -g -D_FORTIFY_SOURCE=2 -pthread -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 1 << 20 };

static volatile uint64_t keep;
static volatile int handled;
static char large[LARGE], other[LARGE];

__attribute__((noinline)) static void work(int n)
{
    for (int i = 0; i < n; i++)
        keep += (uint64_t)i;
}

static void fail(const char *call, long rc)
{
    printf("%s: %ld, %s\n", call, rc, strerror(errno));
    exit(1);
}

/* Evaluate CALL, which must return WANTED, and not leave the error of a call before. */
#define MUST(wanted, call)                       \
    do {                                         \
        long rc_ = (errno = 0, (call));          \
        if (rc_ != (wanted) || errno == EINTR)   \
            fail(#call, rc_);                    \
    } while (0)
/* Which must fail with NUMBER. */
#define MUST_FAIL(number, call)        \
    do {                               \
        long rc_ = (call);             \
        if (rc_ != -1 || errno != (number)) \
            fail(#call, rc_);          \
    } while (0)

static struct timespec in_ns(long ns)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ns;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static int listen_locally(struct sockaddr_storage *address, socklen_t *size)
{
    struct timeval brief = { 0, 1 };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    *(sa_family_t *)address = AF_UNIX;
    *size = sizeof(sa_family_t);
    MUST(0, bind(fd, (struct sockaddr *)address, *size)); /* a name that the kernel chooses */
    *size = sizeof *address;
    MUST(0, getsockname(fd, (struct sockaddr *)address, size));
    MUST(0, listen(fd, 4));
    MUST(0, setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &brief, sizeof brief));
    return fd;
}

static void calls(long n)
{
    struct timespec brief = { 0, 1000 };
    struct timeval brief_tv = { 0, 1 };
    int epoll = epoll_create1(0), pipes[2], pair[2], file = memfd_create("f", 0), listener;
    int queue = msgget(IPC_PRIVATE, 0600), sems = semget(IPC_PRIVATE, 1, 0600);
    volatile size_t room = (size_t)n > 0; /* the compiler must not know the number of descriptors */
    struct sockaddr_storage address;
    socklen_t size;
    sigset_t none;
    sem_t sem;
    char c;

    sigemptyset(&none);
    sem_init(&sem, 0, 0);
    MUST(0, pipe(pipes));
    MUST(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    MUST(0, setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &brief_tv, sizeof brief_tv));
    listener = listen_locally(&address, &size);
    for (long i = 0; i < n; i++) {
        struct pollfd fds[2] = { { pair[0], POLLIN, 0 }, { pair[1], POLLIN, 0 } };
        struct { long type; char c; } m = { 1, 'x' };
        struct timespec end = in_ns(1000);
        struct iovec v = { &c, 1 };
        struct msghdr msg = { .msg_iov = &v, .msg_iovlen = 1 };

        work(2000);
        MUST(1, write(pipes[1], "x", 1));
        MUST(1, read(pipes[0], &c, room));
        MUST(0, poll(fds, room + 1, i % 64 == 0));
        MUST(0, ppoll(fds, room, &brief, NULL));
        MUST(0, select(0, NULL, NULL, NULL, &(struct timeval){ 0, 1 }));
        MUST(0, pselect(0, NULL, NULL, NULL, &brief, NULL));
        MUST(0, epoll_wait(epoll, &(struct epoll_event){ 0 }, 1, 0));
        MUST(0, epoll_pwait2(epoll, &(struct epoll_event){ 0 }, 1, &brief, NULL));
        MUST(0, nanosleep(&brief, NULL));
        MUST(0, clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL));
        MUST(0, thrd_sleep(&brief, NULL));
        MUST(0, usleep(1));
        MUST_FAIL(ETIMEDOUT, sem_timedwait(&sem, &end));
        MUST_FAIL(EAGAIN, sigtimedwait(&none, NULL, &brief));
        MUST(0, msgsnd(queue, &m, 1, 0));
        MUST(1, msgrcv(queue, &m, 1, 0, 0));
        if (i % 32 == 0) { /* these take 4 ms each */
            MUST_FAIL(EAGAIN, recv(pair[0], &c, 1, 0));
            MUST_FAIL(EAGAIN, recvmsg(pair[0], &msg, 0));
            MUST_FAIL(EAGAIN, read(pair[0], &c, room));
            MUST_FAIL(EAGAIN, accept(listener, NULL, NULL));
            MUST_FAIL(EAGAIN, semtimedop(sems, &(struct sembuf){ 0, -1, 0 }, 1, &brief));
            MUST(0, fallocate(file, 0, 0, 8 << 20));
            MUST(0, ftruncate(file, 0));
        }
    }
    msgctl(queue, IPC_RMID, NULL);
    semctl(sems, 0, IPC_RMID);
    printf("%ld rounds\n", n);
}

/* Read what is written to FD, slowly, so that the writer waits. */
static void *drain(void *fd)
{
    while (read(*(int *)fd, other, 5000) > 0)
        work(500);
    return NULL;
}

/* Write in pieces, slowly. */
static void *fill(void *fd)
{
    for (int i = 0; i < LARGE; i += 4096) {
        work(500);
        if (write(*(int *)fd, large + i, 4096) != 4096)
            return NULL;
    }
    return fd;
}

static void partial(long n)
{
    for (long i = 0; i < n; i++) {
        struct iovec v[3] = { { large, LARGE / 2 }, { large, 0 }, { large + 7, LARGE / 2 } };
        struct msghdr msg = { .msg_iov = v, .msg_iovlen = 3 };
        int pipes[2], pair[2];
        pthread_t one, two;

        MUST(0, pipe(pipes));
        MUST(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
        pthread_create(&one, NULL, drain, &pipes[0]);
        pthread_create(&two, NULL, drain, &pair[0]);
        MUST(LARGE, write(pipes[1], large, LARGE));
        MUST(LARGE, writev(pipes[1], v, 3));
        MUST(LARGE, send(pair[1], large, LARGE, 0));
        MUST(LARGE, sendmsg(pair[1], &msg, 0));
        MUST(LARGE, writev(pair[1], v, 3));
        shutdown(pair[1], SHUT_WR);
        close(pipes[1]);
        pthread_join(one, NULL);
        pthread_join(two, NULL);
        pthread_create(&two, NULL, fill, &pair[0]);
        MUST(LARGE, recv(pair[1], other, LARGE, MSG_WAITALL));
        pthread_join(two, NULL);
        MUST(LARGE, getrandom(other, LARGE, 0));
        close(pipes[0]);
        close(pair[0]);
        close(pair[1]);
    }
    printf("%ld rounds\n", n);
}

static void on_alarm(int sig)
{
    (void)sig;
    handled++;
    work(6000000); /* so that a sample is asked for meanwhile */
}

/* A signal is to end the next wait.  If it arrives before the wait, another one follows later. */
static bool arm(long us)
{
    struct itimerval soon = { { 0, us ? 100000 : 0 }, { 0, us } };

    return setitimer(ITIMER_REAL, &soon, NULL) == 0;
}

#define MUST_END(call)             \
    do {                           \
        arm(2000);                 \
        MUST_FAIL(EINTR, call);    \
        arm(0);                    \
    } while (0)

static void own(long n)
{
    struct sigaction a = { .sa_handler = on_alarm };
    struct timespec wait = { 100, 0 };
    sigset_t none, alarm;
    int pair[2];
    sem_t sem;
    char c;

    sigfillset(&a.sa_mask);
    sigaction(SIGALRM, &a, NULL);
    sigemptyset(&none);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sem_init(&sem, 0, 0);
    MUST(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    for (long i = 0; i < n; i++) {
        int epoll = epoll_create1(0);
        struct timespec end = in_ns(900000000);

        MUST_END(poll(NULL, 0, -1));
        MUST_END(nanosleep(&wait, NULL));
        MUST_END(epoll_wait(epoll, &(struct epoll_event){ 0 }, 1, -1));
        MUST_END(pause());
        MUST_END(read(pair[0], &c, 1));
        MUST_END(recv(pair[0], &c, 1, 0));
        MUST_END(sem_timedwait(&sem, &end));
        sigprocmask(SIG_BLOCK, &alarm, NULL);
        MUST_END(sigsuspend(&none));
        MUST_END(ppoll(NULL, 0, NULL, &none));
        sigprocmask(SIG_UNBLOCK, &alarm, NULL);
        close(epoll);
    }
    printf("%ld rounds, %s\n", n, handled < 9 * n        ? "too few signals"
                                : handled < 9 * n * 3 / 2 ? "all interrupted"
                                                          : "interrupted too late");
}

int main(int argc, char **argv)
{
    long n = argc > 2 ? atol(argv[2]) : 1;

    if (argc > 1 && strcmp(argv[1], "calls") == 0)
        calls(n);
    else if (argc > 1 && strcmp(argv[1], "partial") == 0)
        partial(n);
    else if (argc > 1)
        own(n);
    return 0;
}
