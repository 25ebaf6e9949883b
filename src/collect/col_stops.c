/* col_stops.c - see col_stops.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_stops.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/col_thread.h"

static const uint64_t patience_ns = 1000000000u;

const int col_stops_signals[COL_STOPS] = { SIGINT, SIGTERM, SIGHUP };

static bool read_one(int fd, struct signalfd_siginfo *info)
{
    return fd >= 0 && read(fd, info, sizeof *info) == (ssize_t)sizeof *info;
}

/* End this process and the command by signal NUMBER. */
static void end_by(const struct col_stops *s, int number)
{
    sigset_t set;

    if (s->command)
        kill(s->command, number);
    sigemptyset(&set);
    sigaddset(&set, number);
    signal(number, SIG_DFL);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void pass_on(struct col_stops *s, const struct signalfd_siginfo *info)
{
    uint64_t now = clock_mono_ns();
    int unread = 0;

    ioctl(s->fd, FIONREAD, &unread);
    if (!unread)
        s->unread_ns = now;
    else if (now - s->unread_ns >= patience_ns)
        end_by(s, (int)info->ssi_signo);
    if (write(s->to, info, sizeof *info) < 0)
        return; /* hundreds have been passed already */
}

static void *take(void *with)
{
    struct col_stops *s = with;
    struct pollfd p[] = { { .fd = s->source, .events = POLLIN }, { .fd = s->end[0] } };
    struct signalfd_siginfo info;

    while (!p[1].revents) {
        poll(p, 2, -1);
        while (p[0].revents && read_one(s->source, &info))
            pass_on(s, &info);
    }
    return NULL;
}

/* Without a thread, the signals are read from SOURCE itself. */
static void start(struct col_stops *s)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return;
    if (pipe2(s->end, O_CLOEXEC) == 0) {
        s->fd = ends[0];
        s->to = ends[1];
        s->has_thread = col_thread_start(&s->thread, take, s);
        if (s->has_thread)
            return;
        s->fd = s->source;
        close(s->end[0]);
        close(s->end[1]);
    }
    close(ends[0]);
    close(ends[1]);
}

int col_stops_open(struct col_stops *s, struct err *e)
{
    sigset_t set;

    *s = (struct col_stops){ .fd = -1, .source = -1 };
    sigemptyset(&set);
    for (size_t i = 0; i < COL_STOPS; i++)
        sigaddset(&set, col_stops_signals[i]);
    s->fd = s->source = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->source < 0)
        return err_sys(e, "cannot create a descriptor for signals");
    start(s);
    return 0;
}

bool col_stops_next(struct col_stops *s, struct signalfd_siginfo *info)
{
    return read_one(s->fd, info) || (!s->has_thread && read_one(s->source, info));
}

void col_stops_let_go(struct col_stops *s)
{
    if (!s->has_thread)
        return;
    close(s->end[1]);
    pthread_join(s->thread, NULL);
    close(s->end[0]);
    close(s->to);
    s->has_thread = false;
}

void col_stops_close(struct col_stops *s)
{
    col_stops_let_go(s);
    if (s->fd >= 0 && s->fd != s->source)
        close(s->fd);
    if (s->source >= 0)
        close(s->source);
    s->fd = s->source = -1;
}
