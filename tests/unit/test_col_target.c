/* test_col_target.c - commands that the recorder starts, and what stat counts of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <unistd.h>

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
