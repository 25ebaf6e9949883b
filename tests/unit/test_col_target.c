/* test_col_target.c - commands that the recorder starts, and what stat counts of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/col_ptrace.h"
#include "collect/col_target.h"
#include "collect/col_tasks.h"
#include "test.h"

/* Wait for the end of the command or process, and pass signals on. */
static void until_done(struct col_target *t)
{
    struct pollfd p[] = { { .fd = t->watch[0], .events = POLLIN },
                          { .fd = t->signals.fd, .events = POLLIN } };

    while (!col_target_done(t))
        poll(p, 2, -1);
}

/* Start `sh -c SCRIPT`. */
static void start(struct col_target *t, const char *script)
{
    char *command[] = { "sh", "-c", (char *)script, NULL };
    struct err e = { 0 };

    CHECK_EQ(col_target_spawn(t, command, NULL, &e), 0);
    CHECK_EQ(col_target_go(t, command, &e), 0);
}

TEST(col_target_has_the_exit_status_or_the_signal_of_a_command)
{
    static const struct {
        const char *script;
        int status;
    } ends[] = { { "exit 7", 7 }, { "kill -KILL $$", 137 } };

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct col_target t;
        struct err e = { 0 };

        CHECK_EQ(col_target_init(&t, &e), 0);
        start(&t, ends[i].script);
        until_done(&t);
        CHECK(t.ended);
        CHECK_EQ(t.status, ends[i].status);
        col_target_release(&t);
    }
}

TEST(col_target_reports_a_command_that_cannot_run)
{
    char *command[] = { "/nonexistent/command", NULL };
    struct col_target t;
    struct err e = { 0 };

    CHECK_EQ(col_target_init(&t, &e), 0);
    CHECK_EQ(col_target_spawn(&t, command, NULL, &e), 0);
    CHECK_EQ(col_target_go(&t, command, &e), -1);
    CHECK(strstr(e.msg, "cannot run /nonexistent/command: No such file") != NULL);
    col_target_release(&t);
}

struct tracer { /* another thread that stops the command */
    pid_t pid;
    int refused;
    int stopped[2], go[2];
};

static void *trace(void *with)
{
    struct tracer *x = with;
    struct col_ptrace t;
    char byte;

    x->refused = col_ptrace_seize(&t, x->pid, x->pid);
    while (!x->refused && col_ptrace_wait(&t, UINT64_MAX) != COL_PTRACE_STOPPED)
        ;
    CHECK(write(x->stopped[1], "s", 1) == 1 && read(x->go[0], &byte, 1) == 1);
    if (!x->refused)
        col_ptrace_let_go(&t);
    return NULL;
}

TEST(col_target_does_not_take_a_stop_for_the_end_of_the_command)
{
    struct tracer x = { 0 };
    struct col_target t;
    struct err e = { 0 };
    pthread_t thread;
    char byte;

    CHECK_EQ(col_target_init(&t, &e), 0);
    start(&t, "exec sleep 1000");
    x.pid = t.pid;
    CHECK(pipe(x.stopped) == 0 && pipe(x.go) == 0);
    CHECK_EQ(pthread_create(&thread, NULL, trace, &x), 0);
    CHECK_EQ(read(x.stopped[0], &byte, 1), 1);
    if (x.refused) {
        kill(t.pid, SIGKILL);
        test_skip("ptrace is refused here");
    }
    t.n_ended = 1; /* look for the end */
    CHECK(!col_target_done(&t));
    CHECK(!t.ended);
    CHECK_EQ(write(x.go[1], "g", 1), 1);
    pthread_join(thread, NULL);
    kill(t.pid, SIGKILL);
    until_done(&t);
    CHECK_EQ(t.status, 128 + SIGKILL);
    col_target_release(&t);
}

TEST(col_target_passes_a_signal_on_and_ends)
{
    struct col_target t;
    struct err e = { 0 };

    CHECK_EQ(col_target_init(&t, &e), 0);
    start(&t, "exec sleep 1000");
    CHECK_EQ(kill(getpid(), SIGTERM), 0);
    CHECK(!t.stop_now);
    until_done(&t);
    CHECK(t.stop_now && t.ended);
    CHECK_EQ(t.status, 128 + SIGTERM);
    col_target_release(&t);
}

TEST(col_target_without_a_command_ends_with_its_last_process)
{
    struct col_target t, other;
    struct err e = { 0 };

    CHECK_EQ(col_target_init(&other, &e), 0);
    CHECK_EQ(col_target_init(&t, &e), 0);
    start(&other, "read line");
    CHECK_EQ(col_target_watch(&t, other.pid, &e), 0);
    CHECK_EQ(col_target_watch(&t, getpid(), &e), 0);
    CHECK(!col_target_done(&t));
    kill(other.pid, SIGKILL);
    until_done(&other);
    CHECK(!col_target_done(&t)); /* this process still runs */
    CHECK_EQ(t.n_ended, 1);
    t.n_watch = 1;
    CHECK(col_target_done(&t));
    t.n_watch = COL_MAX_PIDS;
    CHECK_EQ(col_target_watch(&t, getpid(), &e), -1);
    CHECK_EQ(e.code, ERR_LIMIT);
    t.n_watch = 2;
    col_target_release(&t);
    col_target_release(&other);
}

TEST(col_target_moves_the_output_of_a_command_to_standard_error)
{
    struct col_target t;
    struct err e = { 0 };
    int ends[2], saved[2] = { dup(STDOUT_FILENO), dup(STDERR_FILENO) };
    char got[8] = "";

    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(col_target_init(&t, &e), 0);
    t.output_to_stderr = true;
    dup2(ends[1], STDERR_FILENO);
    start(&t, "echo told");
    dup2(saved[1], STDERR_FILENO);
    close(ends[1]);
    until_done(&t);
    CHECK_EQ(read(ends[0], got, 5), 5);
    CHECK_STR(got, "told\n");
    col_target_release(&t);
    close(saved[0]);
    close(saved[1]);
    close(ends[0]);
}

TEST(col_target_refuses_a_list_of_cpus_that_is_none)
{
    char *command[] = { "true", NULL };
    struct col_target t;
    struct err e = { 0 };

    CHECK_EQ(col_target_init(&t, &e), 0);
    CHECK_EQ(col_target_spawn(&t, command, "0-", &e), -1);
    CHECK_EQ(e.code, ERR_USAGE);
    CHECK_EQ(t.pid, 0);
    col_target_release(&t);
}

TEST(col_target_is_done_one_look_after_the_end_of_its_command)
{
    struct col_target t;
    struct err e = { 0 };
    struct pollfd p = { .events = POLLIN };

    CHECK_EQ(col_target_init(&t, &e), 0);
    start(&t, "exit 3");
    p.fd = t.watch[0];
    CHECK_EQ(poll(&p, 1, -1), 1);
    CHECK(!col_target_done(&t)); /* its last records are read now */
    CHECK(!t.ended);
    CHECK(col_target_done(&t));
    CHECK_EQ(t.status, 3);
    col_target_release(&t);
}

TEST(col_target_has_the_status_of_a_command_among_adopted_children)
{
    struct col_target t;
    struct err e = { 0 };

    CHECK_EQ(col_target_init(&t, &e), 0);
    t.adopts = true;
    start(&t, "(exit 5) & exit 7");
    until_done(&t);
    CHECK_EQ(t.status, 7);
    col_target_release(&t);
}

TEST(col_target_ends_if_its_command_leaves_no_status)
{
    struct col_target t;
    struct err e = { 0 };

    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    CHECK_EQ(col_target_init(&t, &e), 0);
    start(&t, "exit 7");
    until_done(&t);
    CHECK(t.ended);
    CHECK_EQ(t.status, 0);
    col_target_release(&t);
}

TEST(col_target_counts_user_and_system_time_of_its_command)
{
    struct col_target t;
    struct err e = { 0 };
    struct rusage u;
    uint64_t user, system;

    CHECK_EQ(col_target_init(&t, &e), 0);
    start(&t, "exec dd if=/dev/zero of=/dev/null bs=64k count=20000 2>/dev/null");
    until_done(&t);
    CHECK_EQ(getrusage(RUSAGE_CHILDREN, &u), 0);
    user = (uint64_t)u.ru_utime.tv_sec * 1000000000u + (uint64_t)u.ru_utime.tv_usec * 1000u;
    system = (uint64_t)u.ru_stime.tv_sec * 1000000000u + (uint64_t)u.ru_stime.tv_usec * 1000u;
    CHECK_EQ(t.user_ns, user);
    CHECK_EQ(t.cpu_ns, user + system);
    col_target_release(&t);
}

TEST(col_target_never_runs_a_command_that_was_not_told_to_go)
{
    const char *path = test_file("", 0);
    char *command[] = { "rm", (char *)path, NULL };
    struct col_target t;
    struct err e = { 0 };

    CHECK_EQ(col_target_init(&t, &e), 0);
    CHECK_EQ(col_target_spawn(&t, command, NULL, &e), 0);
    col_target_release(&t);
    CHECK_EQ(access(path, F_OK), 0);
    CHECK(signal(SIGTERM, SIG_IGN) != SIG_ERR); /* which the child inherits */
    CHECK_EQ(col_target_init(&t, &e), 0);
    CHECK_EQ(col_target_spawn(&t, command, NULL, &e), 0);
    col_target_finish(&t);
    CHECK(t.ended);
    CHECK_EQ(t.status, 128 + SIGKILL);
    col_target_release(&t);
    CHECK_EQ(access(path, F_OK), 0);
}

TEST(col_target_ends_all_that_it_started_and_nothing_else)
{
    struct col_target t;
    struct err e = { 0 };
    int ends[2];
    pid_t keep;
    char byte;

    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    keep = fork();
    if (keep == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 9 : 1);
    }
    CHECK_EQ(col_target_init(&t, &e), 0);
    t.adopts = true;
    t.keep = keep;
    start(&t, "sleep 1000 & exec sleep 1000");
    col_target_finish(&t);
    CHECK(t.ended);
    CHECK_EQ(waitpid(keep, NULL, WNOHANG), 0);
    close(ends[1]);
    CHECK_EQ(waitpid(keep, &t.status, 0), keep);
    CHECK_EQ(t.status, 9 << 8);
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1); /* no others */
    col_target_release(&t);
}

TEST(col_target_waits_for_a_reader_until_the_second_signal)
{
    struct col_target t;
    struct err e = { 0 };
    int ends[2];

    CHECK_EQ(col_target_init(&t, &e), 0);
    CHECK_EQ(pipe2(ends, O_NONBLOCK), 0);
    CHECK(col_target_ready(&t, ends[1]));
    t.stops = 1; /* still: the rest of the output is written */
    CHECK(col_target_ready(&t, ends[1]));
    while (write(ends[1], "x", 1) == 1)
        ;
    kill(getpid(), SIGTERM);
    CHECK(!col_target_ready(&t, ends[1]));
    CHECK_EQ(t.stops, 2);
    t.stops = 0;
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGINT);
    CHECK(!col_target_ready(&t, ends[1]));
    t.stops = 0;
    close(ends[0]);
    CHECK(col_target_ready(&t, ends[1])); /* nobody reads: the write will say so */
    close(ends[1]);
    col_target_release(&t);
}

TEST(col_target_lets_ignored_signals_be_ignored)
{
    struct col_target t;
    struct err e = { 0 };
    struct sigaction now;

    CHECK(signal(SIGHUP, SIG_IGN) != SIG_ERR);
    CHECK_EQ(col_target_init(&t, &e), 0);
    CHECK_EQ(col_target_let_end(&t), 0);
    CHECK(sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
    CHECK(sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler != SIG_DFL);
    col_target_release(&t);
    CHECK(sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
}

/* --- Ctrl-C --- */

/* Make a terminal ours.  Returns its other end, where keys are pressed; closing it would end us. */
static int open_terminal(void)
{
    int keys = posix_openpt(O_RDWR | O_NOCTTY);

    if (keys < 0 || grantpt(keys) < 0 || unlockpt(keys) < 0)
        test_skip("no pseudo-terminals");
    CHECK(setsid() > 0);
    CHECK(open(ptsname(keys), O_RDWR) >= 0);
    return keys;
}

static void press_ctrl_c(int keys, const struct col_target *t)
{
    struct pollfd p = { .fd = t->signals.fd, .events = POLLIN };

    CHECK_EQ(write(keys, "\3", 1), 1);
    CHECK_EQ(poll(&p, 1, -1), 1);
}

TEST(col_target_leaves_the_first_ctrl_c_to_its_command)
{
    int keys = open_terminal();
    struct col_target t;
    struct err e = { 0 };

    CHECK(signal(SIGINT, SIG_IGN) != SIG_ERR); /* which the command inherits */
    CHECK_EQ(col_target_init(&t, &e), 0);
    start(&t, "exec sleep 1000");
    press_ctrl_c(keys, &t);
    CHECK(!col_target_done(&t));
    CHECK(t.stops == 1 && !t.stop_now);
    press_ctrl_c(keys, &t);
    CHECK(!col_target_done(&t)); /* it has some time to end */
    CHECK(t.stops == 2 && t.stop_now);
    kill(t.pid, SIGKILL);
    until_done(&t);
    col_target_release(&t);
}

TEST(col_target_passes_on_no_ctrl_c)
{
    int keys = open_terminal(), ends[2];
    struct col_target t;
    struct err e = { 0 };
    char byte;

    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    CHECK_EQ(col_target_init(&t, &e), 0);
    /* In another session, the command does not receive it from the terminal. */
    start(&t, "exec setsid sh -c 'echo >&2; exec sleep 1000'");
    CHECK_EQ(read(ends[0], &byte, 1), 1);
    press_ctrl_c(keys, &t);
    CHECK(!col_target_done(&t));
    kill(t.pid, SIGTERM);
    until_done(&t);
    CHECK_EQ(t.status, 128 + SIGTERM);
    col_target_release(&t);
}

TEST(col_target_lets_a_second_ctrl_c_end_what_follows_the_recording)
{
    int keys = open_terminal();
    struct col_target t;
    struct err e = { 0 };

    CHECK_EQ(col_target_init(&t, &e), 0);
    press_ctrl_c(keys, &t);
    CHECK_EQ(col_target_let_end(&t), 0);
    col_target_release(&t);
    CHECK_EQ(col_target_init(&t, &e), 0);
    t.stops = 1;
    kill(getpid(), SIGTERM); /* as programs send it twice */
    CHECK_EQ(col_target_let_end(&t), 0);
    col_target_release(&t);
    CHECK_EQ(col_target_init(&t, &e), 0);
    t.stops = 1;
    press_ctrl_c(keys, &t);
    CHECK_EQ(col_target_let_end(&t), SIGINT);
    col_target_release(&t);
}

/* --- tasks --- */

struct fork_record {
    struct perf_event_header header;
    uint32_t pid, parent_pid, tid, parent_tid;
};

TEST(col_tasks_count_processes_and_threads_and_notice_losses)
{
    enum { SIZE = 4096 };
    static struct perf_event_mmap_page page;
    static unsigned char data[SIZE], scratch[1 << 16];
    static const struct fork_record forks[] = {
        { { PERF_RECORD_FORK, 0, sizeof *forks }, 11, 10, 11, 10 }, /* a process */
        { { PERF_RECORD_FORK, 0, sizeof *forks }, 11, 11, 12, 11 }, /* a thread */
        { { PERF_RECORD_EXIT, 0, sizeof *forks }, 11, 11, 12, 11 },
        { { PERF_RECORD_LOST, 0, sizeof *forks }, 0, 0, 0, 0 },
    };
    struct col_ring ring = { .page = &page, .data = data, .size = SIZE, .scratch = scratch };
    struct col_tasks t = { 0 };
    double processes, threads;

    vec_push(&t.ring, ring);
    memcpy(data, forks, sizeof forks);
    page.data_head = 3 * sizeof *forks;
    CHECK(col_tasks_counts(&t, &processes, &threads));
    CHECK(processes == 2 && threads == 3);
    page.data_head = 4 * sizeof *forks;
    CHECK(!col_tasks_counts(&t, &processes, &threads));
    CHECK(processes == 2 && threads == 3);
    vec_release(&t.ring);
}
