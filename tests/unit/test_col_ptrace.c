/* test_col_ptrace.c - threads that are stopped for a moment do not notice it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "collect/col_proc.h"
#include "collect/col_ptrace.h"
#include "test.h"

static const uint64_t hang_ns = 60000000000u; /* a wait that takes so long never ends */

static uint64_t soon(void)
{
    return clock_mono_ns() + hang_ns;
}

/* A child that runs WHAT with the ends of two pipes: it writes to one, and reads from the other. */
struct child {
    pid_t pid;
    int from, to;
};

static struct child start(void (*what)(int to, int from))
{
    int up[2], down[2];
    struct child c;

    CHECK(pipe(up) == 0 && pipe(down) == 0);
    c.pid = fork();
    CHECK(c.pid >= 0);
    if (c.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        what(up[1], down[0]);
        _exit(99);
    }
    close(up[1]);
    close(down[0]);
    c.from = up[0];
    c.to = down[1];
    return c;
}

static char answer(const struct child *c)
{
    struct pollfd p = { .fd = c->from, .events = POLLIN };
    char byte = 0;

    CHECK_EQ(poll(&p, 1, (int)(hang_ns / 1000000)), 1);
    CHECK_EQ(read(c->from, &byte, 1), 1);
    return byte;
}

static void finish(const struct child *c, int status)
{
    int got;

    CHECK_EQ(waitpid(c->pid, &got, 0), c->pid);
    CHECK(WIFEXITED(got));
    CHECK_EQ(WEXITSTATUS(got), status);
}

static char state_of(pid_t tid)
{
    char path[64], text[512], *end;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
    CHECK(map_read_text(path, text, sizeof text) > 0);
    end = strrchr(text, ')');
    return end[2];
}

/* STATE as in /proc: S waits, D waits and cannot be interrupted, T is stopped,
 * t by its tracer, Z has ended. */
static void wait_for_state(pid_t tid, char state)
{
    while (state_of(tid) != state)
        poll(NULL, 0, 1);
}

static void stop(struct col_ptrace *t, pid_t pid, pid_t tid)
{
    int refused = col_ptrace_seize(t, pid, tid);

    if (refused == EPERM)
        test_skip("ptrace is refused here");
    CHECK_EQ(refused, 0);
    CHECK_EQ(col_ptrace_wait(t, soon()), COL_PTRACE_STOPPED);
}

/* --- system calls --- */

static void wait_for_events(int to, int from)
{
    struct epoll_event e = { .events = EPOLLIN };
    int fd = epoll_create1(0);

    epoll_ctl(fd, EPOLL_CTL_ADD, from, &e);
    if (write(to, "w", 1) != 1)
        _exit(1);
    _exit(epoll_wait(fd, &e, 1, -1) == 1 ? 0 : errno);
}

TEST(col_ptrace_repeats_a_call_that_its_stop_interrupts)
{
#if defined(__x86_64__)
    struct child c = start(wait_for_events);
    struct col_ptrace_regs r;
    struct col_ptrace t;
    bool failed;

    CHECK_EQ(answer(&c), 'w');
    for (int i = 0; i < 3; i++) {
        wait_for_state(c.pid, 'S');
        stop(&t, c.pid, c.pid);
        CHECK(col_ptrace_regs(&t, &r));
        CHECK(col_ptrace_repeat_call(&t, &r, &failed));
        CHECK(!failed);
        CHECK(col_ptrace_set_regs(&t, &r));
        CHECK(col_ptrace_let_go(&t));
    }
    CHECK_EQ(write(c.to, "x", 1), 1);
    finish(&c, 0);
#else
    test_skip("only x86-64 tells the first argument");
#endif
}

static void ignore_signal(int number)
{
    (void)number;
}

static void wait_for_events_and_signals(int to, int from)
{
    struct sigaction a = { .sa_handler = ignore_signal };

    sigaction(SIGUSR1, &a, NULL);
    wait_for_events(to, from);
}

TEST(col_ptrace_leaves_a_call_that_a_signal_interrupts)
{
    struct child c = start(wait_for_events_and_signals);
    struct col_ptrace_regs r;
    struct col_ptrace t;
    bool failed;

    CHECK_EQ(answer(&c), 'w');
    wait_for_state(c.pid, 'S');
    stop(&t, c.pid, c.pid);
    kill(c.pid, SIGUSR1);
    CHECK(col_ptrace_regs(&t, &r));
    CHECK(!col_ptrace_repeat_call(&t, &r, &failed));
    CHECK(col_ptrace_let_go(&t));
    finish(&c, EINTR);
}

/* --- signals and ends --- */

static void stop_oneself(int to, int from)
{
    char byte;

    if (write(to, "w", 1) != 1)
        _exit(1);
    raise(SIGSTOP);
    if (write(to, "c", 1) != 1 || read(from, &byte, 1) != 1)
        _exit(1);
    _exit(5);
}

TEST(col_ptrace_leaves_a_stopped_process_stopped)
{
    struct child c = start(stop_oneself);
    struct pollfd p = { .fd = c.from, .events = POLLIN };
    struct col_ptrace t;

    CHECK_EQ(answer(&c), 'w');
    wait_for_state(c.pid, 'T');
    stop(&t, c.pid, c.pid);
    CHECK(t.in_group_stop);
    CHECK(col_ptrace_let_go(&t));
    wait_for_state(c.pid, 'T');
    CHECK_EQ(poll(&p, 1, 0), 0);
    kill(c.pid, SIGCONT);
    CHECK_EQ(answer(&c), 'c');
    CHECK_EQ(write(c.to, "x", 1), 1);
    finish(&c, 5);
}

static int pipe_of_signals;

static void tell_signal(int number)
{
    char byte = (char)number;

    if (write(pipe_of_signals, &byte, 1) != 1)
        _exit(1);
}

static void tell_signals(int to, int from)
{
    struct sigaction a = { .sa_handler = tell_signal, .sa_flags = SA_RESTART };
    char byte;

    pipe_of_signals = to;
    sigaction(SIGUSR1, &a, NULL);
    if (write(to, "w", 1) != 1 || read(from, &byte, 1) != 1)
        _exit(1);
    _exit(0);
}

/* Stop PID when it is about to receive SIGUSR1, which it does before it is interrupted. */
static void stop_at_signal(struct col_ptrace *t, pid_t pid)
{
    *t = (struct col_ptrace){ .pid = pid, .tid = pid };
    if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0)
        test_skip("ptrace is refused here");
    kill(pid, SIGUSR1);
    wait_for_state(pid, 't');
    CHECK_EQ(col_ptrace_wait(t, 0), COL_PTRACE_STOPPED);
}

TEST(col_ptrace_hands_on_a_signal_that_arrives_with_the_stop)
{
    struct child c = start(tell_signals);
    struct col_ptrace t;

    CHECK_EQ(answer(&c), 'w');
    for (int i = 0; i < 20; i++) {
        stop_at_signal(&t, c.pid);
        CHECK_EQ(t.signal, SIGUSR1);
        CHECK(col_ptrace_let_go(&t));
        CHECK_EQ(answer(&c), SIGUSR1);
    }
    CHECK_EQ(write(c.to, "x", 1), 1);
    finish(&c, 0);
}

static void *die_while_it_is_stopped(void *with)
{
    struct col_ptrace t;

    stop_at_signal(&t, *(pid_t *)with);
    return NULL; /* the kernel lets go */
}

TEST(col_ptrace_loses_no_signal_when_the_tracer_ends)
{
    struct child c = start(tell_signals);

    CHECK_EQ(answer(&c), 'w');
    for (int i = 0; i < 20; i++) {
        pthread_t thread;

        CHECK_EQ(pthread_create(&thread, NULL, die_while_it_is_stopped, &c.pid), 0);
        pthread_join(thread, NULL);
        CHECK_EQ(answer(&c), SIGUSR1);
    }
    CHECK_EQ(write(c.to, "x", 1), 1);
    finish(&c, 0);
}

TEST(col_ptrace_leaves_the_exit_status_of_a_child_to_its_parent)
{
    struct child c = start(tell_signals);
    struct col_ptrace t;
    int status;

    CHECK_EQ(answer(&c), 'w');
    stop(&t, c.pid, c.pid);
    kill(c.pid, SIGKILL);
    wait_for_state(c.pid, 'Z');
    CHECK(!col_ptrace_let_go(&t));
    CHECK_EQ(col_ptrace_wait(&t, soon()), COL_PTRACE_ENDED);
    CHECK_EQ(waitpid(c.pid, &status, 0), c.pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void *wait_for_ever(void *with)
{
    for (;;)
        pause();
    return with;
}

static void wait_in_a_thread_then_exec(int to, int from)
{
    pthread_t thread;
    char byte;

    pthread_create(&thread, NULL, wait_for_ever, NULL);
    if (write(to, "w", 1) != 1 || read(from, &byte, 1) != 1)
        _exit(1);
    execlp("sh", "sh", "-c", "exit 3", NULL);
}

/* exec waits until the tracer has waited for the thread. */
TEST(col_ptrace_lets_a_thread_end_that_exec_kills)
{
    struct child c = start(wait_in_a_thread_then_exec);
    struct col_tids tids = { 0 };
    struct col_ptrace t;
    pid_t other;

    CHECK_EQ(answer(&c), 'w');
    CHECK_EQ(col_proc_threads(c.pid, &tids), 2);
    other = tids.v[0] == c.pid ? tids.v[1] : tids.v[0];
    vec_release(&tids);
    stop(&t, c.pid, other);
    CHECK_EQ(write(c.to, "x", 1), 1);
    wait_for_state(other, 'Z');
    CHECK(!col_ptrace_let_go(&t));
    CHECK_EQ(col_ptrace_wait(&t, soon()), COL_PTRACE_ENDED);
    finish(&c, 3);
}

static void wait_for_a_child_of_vfork(int to, int from)
{
    char byte;
    pid_t pid = vfork();

    if (pid == 0)
        _exit(write(to, "w", 1) != 1 || read(from, &byte, 1) != 1);
    _exit(pid < 0 ? 1 : 6);
}

TEST(col_ptrace_does_not_wait_for_a_thread_that_cannot_be_interrupted)
{
    struct child c = start(wait_for_a_child_of_vfork);
    struct col_ptrace t;
    int refused;

    CHECK_EQ(answer(&c), 'w');
    wait_for_state(c.pid, 'D');
    refused = col_ptrace_seize(&t, c.pid, c.pid);
    if (refused == EPERM)
        test_skip("ptrace is refused here");
    CHECK_EQ(refused, 0);
    CHECK_EQ(col_ptrace_wait(&t, 0), COL_PTRACE_NOT_YET);
    CHECK_EQ(col_ptrace_wait(&t, clock_mono_ns() + 1000000), COL_PTRACE_NOT_YET);
    CHECK_EQ(write(c.to, "x", 1), 1);
    CHECK_EQ(col_ptrace_wait(&t, soon()), COL_PTRACE_STOPPED);
    CHECK(col_ptrace_let_go(&t));
    finish(&c, 6);
}
