/* col_target.c - see col_target.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collect/col_proc.h"

/* Time that the program has to end after a signal before the recording stops. */
static const uint64_t grace_ns = 2000000000u;

int col_target_init(struct col_target *t, struct err *e)
{
    sigset_t mask;

    *t = (struct col_target){ .go = -1, .failure = -1 };
    sigemptyset(&mask);
    for (size_t i = 0; i < COL_STOPS; i++)
        sigaddset(&mask, col_stops_signals[i]);
    sigaddset(&mask, SIGCHLD); /* col_ptrace.c waits for it */
    sigprocmask(SIG_BLOCK, &mask, &t->old_mask);
    return col_stops_open(&t->signals, e);
}

static int parse_pin(const char *text, cpu_set_t *set)
{
    struct col_cpus cpus = { 0 };
    int rc = col_proc_cpus(text, &cpus);

    CPU_ZERO(set);
    for (size_t i = 0; i < cpus.n; i++)
        if (cpus.v[i] < CPU_SETSIZE)
            CPU_SET((size_t)cpus.v[i], set);
    vec_release(&cpus);
    return rc;
}

static int take_pin(const char *text, cpu_set_t *set, struct err *e)
{
    cpu_set_t ours;

    if (parse_pin(text, set) < 0)
        return err_set(e, ERR_USAGE, "--pin: \"%s\" is not a list of CPUs such as 0,2-3", text);
    if (sched_getaffinity(0, sizeof ours, &ours) < 0)
        return 0;
    /* Only the kernel knows which CPUs are allowed: our own affinity may be narrower. */
    if (sched_setaffinity(0, sizeof *set, set) < 0)
        return err_set(e, ERR_USAGE, "--pin: no CPU of \"%s\" is available", text);
    sched_setaffinity(0, sizeof ours, &ours);
    return 0;
}

static void __attribute__((noreturn)) child(struct col_target *t, int go, int failure,
                                            char *const *command, const cpu_set_t *pin)
{
    char byte;
    int errnum;

    sigprocmask(SIG_SETMASK, &t->old_mask, NULL);
    if (pin)
        sched_setaffinity(0, sizeof *pin, pin);
    if (t->output_to_stderr)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    if (read(go, &byte, 1) != 1)
        _exit(1); /* the recorder has failed */
    execvp(command[0], command);
    errnum = errno;
    if (write(failure, &errnum, sizeof errnum) < 0)
        _exit(126);
    _exit(127);
}

int col_target_spawn(struct col_target *t, char *const *command, const char *pin, struct err *e)
{
    int go[2], failure[2];
    cpu_set_t set;

    if (pin && take_pin(pin, &set, e) < 0)
        return -1;
    if (pipe2(go, O_CLOEXEC) < 0)
        return err_sys(e, "cannot create a pipe");
    if (pipe2(failure, O_CLOEXEC) < 0) {
        close(go[0]);
        close(go[1]);
        return err_sys(e, "cannot create a pipe");
    }
    if (t->adopts)
        prctl(PR_SET_CHILD_SUBREAPER, 1); /* descendants without a parent become our children */
    t->pid = fork();
    if (t->pid == 0) {
        close(go[1]);
        close(failure[0]);
        child(t, go[0], failure[1], command, pin ? &set : NULL);
    }
    close(go[0]);
    close(failure[1]);
    t->go = go[1];
    t->failure = failure[0];
    if (t->pid < 0) {
        t->pid = 0;
        return err_sys(e, "cannot start a process");
    }
    t->signals.command = t->pid;
    return col_target_watch(t, t->pid, e);
}

int col_target_go(struct col_target *t, char *const *command, struct err *e)
{
    int errnum = 0;
    ssize_t n = write(t->go, "", 1);

    close(t->go);
    t->go = -1;
    do
        n = read(t->failure, &errnum, sizeof errnum); /* exec closes the other end */
    while (n < 0 && errno == EINTR);
    close(t->failure);
    t->failure = -1;
    if (n != sizeof errnum)
        return 0;
    errno = errnum;
    err_sys(e, "cannot run %s", command[0]);
    if (e && e->code == ERR_SYSTEM)
        e->code = ERR_COMMAND;
    return -1;
}

int col_target_watch(struct col_target *t, int64_t pid, struct err *e)
{
    int fd;

    if (t->n_watch == COL_MAX_PIDS)
        return err_set(e, ERR_LIMIT, "more than %d processes", COL_MAX_PIDS);
    fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (fd < 0)
        return err_sys(e, "process %ld", (long)pid);
    t->watch[t->n_watch++] = fd;
    return 0;
}

int col_target_watch_thread(struct col_target *t, int64_t tid, struct err *e)
{
    struct col_target_thread x = { .tid = tid, .pid = col_proc_of_thread(tid), .stat = -1 };

    if (t->n_threads == COL_MAX_PIDS)
        return err_set(e, ERR_LIMIT, "more than %d threads", COL_MAX_PIDS);
    if (x.pid)
        x.stat = col_proc_open_stat(tid);
    if (x.stat < 0)
        return err_set(e, ERR_MISSING, "no thread %ld", (long)tid);
    t->thread[t->n_threads++] = x;
    return 0;
}

static uint64_t timeval_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* Whether a child has ended, PID or any if it is 0; its pid is in *INFO.  The kernel also reports
 * the stops of a child that another thread of ours traces (col_ptrace.h), which are not for us. */
static bool has_ended(pid_t pid, int flags, siginfo_t *info)
{
    *info = (siginfo_t){ 0 };
    if (waitid(pid ? P_PID : P_ALL, (id_t)pid, info, WEXITED | WNOWAIT | flags) < 0)
        return errno == ECHILD;
    return info->si_pid && (info->si_code == CLD_EXITED || info->si_code == CLD_KILLED ||
                            info->si_code == CLD_DUMPED);
}

static void reap(struct col_target *t, int flags)
{
    struct rusage u;
    siginfo_t info;
    pid_t got;
    int status;

    if (t->ended || !t->pid || !has_ended(t->pid, flags, &info))
        return;
    got = wait4(t->pid, &status, flags, &u);
    if (got < 0 && errno == ECHILD) {
        t->ended = true; /* our parent ignores SIGCHLD: no status is available */
        return;
    }
    if (got != t->pid)
        return;
    t->ended = true;
    t->signals.command = 0;
    t->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    t->user_ns = timeval_ns(u.ru_utime);
    t->cpu_ns = t->user_ns + timeval_ns(u.ru_stime);
}

/* Ctrl-C reaches the command from the terminal too.  Forward signals that only we received. */
static void take_signals(struct col_target *t)
{
    struct signalfd_siginfo s;

    while (col_stops_next(&t->signals, &s)) {
        if (t->pid && !t->ended && s.ssi_code != SI_KERNEL)
            kill(t->pid, (int)s.ssi_signo);
        if (!t->stops++)
            t->stop_ns = clock_mono_ns();
        /* The program may handle Ctrl-C itself: only the second stops the recording. */
        if (s.ssi_signo != SIGINT || !t->pid || t->stops > 1 || s.ssi_code != SI_KERNEL)
            t->stop_now = true;
    }
}

bool col_target_ready(void *target, int fd)
{
    struct col_target *t = target;

    while (t->stops < 2) {
        struct pollfd p[] = { { .fd = fd, .events = POLLOUT },
                              { .fd = t->signals.fd, .events = POLLIN } };

        if (poll(p, ARRAY_LEN(p), -1) < 0 && errno != EINTR)
            return true;
        if (p[0].revents)
            return true;
        take_signals(t);
    }
    return false;
}

static void note_end(struct col_target *t, int *fd)
{
    close(*fd);
    *fd = -1;
    t->n_ended++;
}

static void take_ends(struct col_target *t)
{
    for (size_t i = 0; i < t->n_threads; i++) {
        int *stat = &t->thread[i].stat;

        if (*stat >= 0 && col_proc_stat_ended(*stat))
            note_end(t, stat);
    }
    for (size_t i = 0; i < t->n_watch; i++) {
        struct pollfd p = { .fd = t->watch[i], .events = POLLIN };

        if (t->watch[i] >= 0 && poll(&p, 1, 0) > 0)
            note_end(t, &t->watch[i]);
    }
}

/* Reap adopted children that have ended. */
static void reap_adopted(const struct col_target *t)
{
    siginfo_t info;

    while (has_ended(0, WNOHANG, &info) && info.si_pid && info.si_pid != t->pid)
        waitpid(info.si_pid, NULL, WNOHANG);
}

bool col_target_done(struct col_target *t)
{
    /* /proc describes a command until it is reaped: first its last records are read once more. */
    bool seen = t->n_ended > 0;

    take_signals(t);
    take_ends(t);
    if (t->pid) {
        if (seen)
            reap(t, WNOHANG);
        if (t->adopts)
            reap_adopted(t);
        if (t->ended)
            return true;
        return t->stop_now && clock_mono_ns() - t->stop_ns > grace_ns;
    }
    return t->stop_now || (t->n_ended && t->n_ended == t->n_watch + t->n_threads);
}

/* Send SIGNAL to all our descendants except KEEP.  Returns how many there are. */
static size_t signal_descendants(int signal, pid_t keep)
{
    struct col_tids below = { 0 };
    size_t n = 0;

    col_proc_descendants(getpid(), &below);
    for (size_t i = 0; i < below.n; i++) {
        if (below.v[i] == keep)
            continue;
        kill(below.v[i], signal);
        n++;
    }
    vec_release(&below);
    return n;
}

/* End the command and all processes that it started, also those in other sessions: ask first. */
static void end_all(struct col_target *t)
{
    uint64_t start = clock_mono_ns();
    int signal = SIGTERM;

    while (signal_descendants(signal, t->keep) && clock_mono_ns() - start < 2 * grace_ns) {
        signal = clock_mono_ns() - start < grace_ns ? 0 : SIGKILL;
        poll(NULL, 0, 10);
        reap(t, WNOHANG);
        reap_adopted(t);
    }
}

void col_target_finish(struct col_target *t)
{
    if (!t->pid || t->ended)
        return;
    if (t->go < 0 && t->adopts) {
        end_all(t);
        return;
    }
    if (t->go < 0)
        kill(t->pid, SIGTERM);
    else
        kill(t->pid, SIGKILL); /* it still waits to start */
    for (int i = 0; i < 200 && !t->ended; i++) {
        reap(t, WNOHANG);
        if (!t->ended)
            poll(NULL, 0, 10);
    }
}

/* --- after the recording ------------------------------------------------------------------ */

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
    if (!stopped) {
        stopped = 1;
        return;
    }
    signal(number, SIG_DFL);
    raise(number); /* delivered when this handler returns */
}

int col_target_let_end(struct col_target *t)
{
    struct sigaction end = { .sa_handler = on_stop, .sa_flags = SA_RESTART };
    struct signalfd_siginfo s;
    int again = 0;

    /* Programs such as timeout send the same signal twice; a person presses Ctrl-C twice. */
    col_stops_let_go(&t->signals);
    while (col_stops_next(&t->signals, &s)) {
        if (t->stops++ && s.ssi_code == SI_KERNEL)
            again = (int)s.ssi_signo;
    }
    stopped = t->stops > 0;
    t->can_be_ended = true;
    for (size_t i = 0; i < COL_STOPS; i++) {
        sigaction(col_stops_signals[i], NULL, &t->old_action[i]);
        if (t->old_action[i].sa_handler != SIG_IGN)
            sigaction(col_stops_signals[i], &end, NULL);
    }
    sigprocmask(SIG_SETMASK, &t->old_mask, NULL);
    return again;
}

void col_target_release(struct col_target *t)
{
    if (t->go >= 0) {
        close(t->go);
        reap(t, 0);
    }
    if (t->failure >= 0)
        close(t->failure);
    for (size_t i = 0; i < t->n_watch; i++)
        if (t->watch[i] >= 0)
            close(t->watch[i]);
    for (size_t i = 0; i < t->n_threads; i++)
        if (t->thread[i].stat >= 0)
            close(t->thread[i].stat);
    for (size_t i = 0; t->can_be_ended && i < COL_STOPS; i++)
        sigaction(col_stops_signals[i], &t->old_action[i], NULL);
    if (t->signals.source >= 0) {
        col_stops_close(&t->signals);
        sigprocmask(SIG_SETMASK, &t->old_mask, NULL);
    }
}
