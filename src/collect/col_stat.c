/* col_stat.c - see col_stat.h.  The counters are opened on the stopped child, inherited by its
 * children, and start at its exec.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/col_probe.h"
#include "collect/col_target.h"
#include "collect/col_tasks.h"

const char col_stat_events[] = "cycles,instructions,branches,branch-misses,cache-references,"
                               "cache-misses,L1-dcache-loads,L1-dcache-load-misses,"
                               "dTLB-load-misses,stalled-cycles-frontend,stalled-cycles-backend";

static int open_counter(const struct col_event *ev, pid_t pid, bool no_kernel)
{
    struct perf_event_attr a = { .type = ev->type, .size = sizeof a, .config = ev->config,
                                 .config1 = ev->config1, .config2 = ev->config2 };

    a.disabled = a.inherit = a.enable_on_exec = 1;
    a.exclude_kernel = a.exclude_hv = no_kernel || ev->no_kernel;
    a.exclude_user = ev->no_user;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_best(const struct col_event *ev, pid_t pid, struct usage_counter *c)
{
    int fd = open_counter(ev, pid, false);

    *c = (struct usage_counter){ .is_clock = ev->is_clock, .is_hardware = ev->is_hardware };
    snprintf(c->name, sizeof c->name, "%s", ev->name);
    if (fd < 0 && (errno == EACCES || errno == EPERM) && !ev->no_user) {
        fd = open_counter(ev, pid, true);
        c->user_only = fd >= 0;
    }
    c->errnum = fd < 0 ? errno : 0;
    return fd;
}

int col_stat_check(const struct col_events *events, struct err *e)
{
    for (size_t i = 0; i < events->n; i++) {
        const struct col_event *ev = &events->v[i];
        struct usage_counter c;
        struct col_reason reason;
        int fd = open_best(ev, 0, &c);

        if (fd >= 0) {
            close(fd);
            continue;
        }
        col_probe_explain(c.errnum, !ev->no_user, false, &reason);
        if (reason.remedy[0]) {
            err_set(e, ERR_MISSING, "cannot count \"%s\": %s", ev->name, reason.why);
            err_hint(e, "%s", reason.remedy);
        } else if (ev->is_hardware) {
            err_set(e, ERR_MISSING, "\"%s\" cannot be counted: this machine has no such hardware "
                                    "counter", ev->name);
            err_hint(e, "page-faults, context-switches, cpu-migrations and task-clock work "
                        "without them; valgrind --tool=cachegrind simulates caches and branches");
        } else {
            errno = c.errnum;
            err_sys(e, "\"%s\" cannot be counted", ev->name);
        }
        return -1;
    }
    return 0;
}

static void read_counter(int fd, struct usage_counter *c)
{
    uint64_t got[3]; /* value, time enabled, time running */

    if (read(fd, got, sizeof got) != (ssize_t)sizeof got || !got[2])
        return;
    c->value = (double)got[0] * (double)got[1] / (double)got[2];
    c->running_pct = 100.0 * (double)got[2] / (double)got[1];
}

static double io_line(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? (double)strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Open /proc/PID/io while the process lives: after its end the file belongs to root.  The kernel
 * adds the figures of its children when it waits for them. */
static int open_io(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void read_io(int fd, struct usage *r)
{
    char text[512];
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

    if (n <= 0)
        return;
    text[n] = 0;
    r->has_io = true;
    r->read_bytes = io_line(text, "rchar: ");
    r->written_bytes = io_line(text, "wchar: ");
    r->disk_read_bytes = io_line(text, "\nread_bytes: ");
    r->disk_written_bytes = io_line(text, "\nwrite_bytes: ");
}

static double timeval_ns(struct timeval t)
{
    return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3;
}

static void pass_signals(struct col_target *t)
{
    struct signalfd_siginfo s;

    while (col_stops_next(&t->signals, &s))
        if (s.ssi_code != SI_KERNEL)
            kill(t->pid, (int)s.ssi_signo);
}

/* Wait for the end of the command.  Forward signals sent to us; those of the terminal reach the
 * command anyway. */
static void wait_end(struct col_target *t, struct col_tasks *tasks)
{
    struct pollfd p[2] = { { .fd = t->watch[0], .events = POLLIN },
                           { .fd = t->signals.fd, .events = POLLIN } };

    while (!(p[0].revents & POLLIN)) {
        p[0].revents = p[1].revents = 0;
        if (poll(p, 2, 100) < 0 && errno != EINTR)
            return;
        if (p[1].revents & POLLIN)
            pass_signals(t);
        col_tasks_drain(tasks);
    }
}

static void take_usage(struct col_target *t, int io, double own_rss, struct usage *r)
{
    struct rusage u = { 0 };
    siginfo_t info;
    int status = 0;

    while (waitid(P_PID, (id_t)t->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    read_io(io, r);
    while (wait4(t->pid, &status, 0, &u) < 0 && errno == EINTR)
        ;
    t->ended = true;
    t->signals.command = 0;
    r->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    r->user_ns = timeval_ns(u.ru_utime);
    r->system_ns = timeval_ns(u.ru_stime);
    r->max_rss_bytes = (double)u.ru_maxrss * 1024;
    /* Before exec the child was a copy of us, and the kernel reports the maximum size. */
    r->rss_is_ours = r->max_rss_bytes <= own_rss;
    r->minor_faults = (double)u.ru_minflt;
    r->major_faults = (double)u.ru_majflt;
    r->voluntary = (double)u.ru_nvcsw;
    r->involuntary = (double)u.ru_nivcsw;
}

static double own_rss_bytes(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss * 1024;
}

static int run_target(const struct col_stat_options *o, struct col_target *t,
                      struct usage *r, struct err *e)
{
    int fd[USAGE_COUNTERS];
    struct col_tasks tasks;
    double own_rss = own_rss_bytes();
    uint64_t start;
    int rc, io;

    t->output_to_stderr = o->output_to_stderr;
    if (col_target_spawn(t, o->command, o->pin, e) < 0)
        return -1;
    io = open_io(t->pid);
    r->n_counters = o->events->n;
    for (size_t i = 0; i < o->events->n; i++)
        fd[i] = open_best(&o->events->v[i], t->pid, &r->counter[i]);
    col_tasks_open(&tasks, t->pid);
    r->refused = tasks.refused;
    if (o->around && o->is_first)
        col_surroundings_start(o->around, getpid(), 0);
    start = clock_mono_ns();
    rc = col_target_go(t, o->command, e);
    if (rc == 0) {
        if (o->around && o->is_first)
            col_surroundings_allowed(o->around, t->pid);
        wait_end(t, &tasks);
        r->wall_ns = (double)(clock_mono_ns() - start);
        if (o->around)
            col_surroundings_stop(o->around);
        take_usage(t, io, own_rss, r);
        r->has_tasks = col_tasks_counts(&tasks, &r->processes, &r->threads);
    }
    for (size_t i = 0; i < o->events->n; i++) {
        if (fd[i] < 0)
            continue;
        read_counter(fd[i], &r->counter[i]);
        close(fd[i]);
    }
    if (io >= 0)
        close(io);
    col_tasks_close(&tasks);
    return rc;
}

int col_stat_run(const struct col_stat_options *o, struct usage *r, struct err *e)
{
    struct col_target t;
    int rc;

    *r = (struct usage){ 0 };
    if (o->events->n > USAGE_COUNTERS)
        return err_set(e, ERR_USAGE, "more than %d events at once", USAGE_COUNTERS);
    rc = col_target_init(&t, e);
    if (rc == 0)
        rc = run_target(o, &t, r, e);
    col_target_finish(&t);
    col_target_release(&t);
    return rc;
}
