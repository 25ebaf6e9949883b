/* test_col_reader.c - stacks of waiting threads.  SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/col_proc.h"
#include "collect/col_reader.h"
#include "collect/col_schedstat.h"
#include "test.h"

static const char mark[] = "a text on the stack of the child";

/* A child that waits with MARK on its stack. */
static pid_t start_child(struct col_reader_request *q)
{
    struct col_proc_wait w = { 0 };
    struct col_schedstat s;
    pid_t pid = fork();

    if (pid == 0) {
        volatile char text[sizeof mark];

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        memcpy((char *)text, mark, sizeof mark);
        for (;;)
            pause();
    }
    while (!col_proc_wait(pid, pid, &w) || w.call < 0)
        usleep(1000);
    CHECK(col_schedstat_read(pid, pid, &s));
    *q = (struct col_reader_request){ .pid = pid, .tid = pid, .pc = w.pc, .sp = w.sp,
                                      .call = w.call, .turns = s.turns, .time_ns = 7 };
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static const struct col_reader_answer *answer_to(struct col_reader *r,
                                                 const struct col_reader_request *q)
{
    const struct col_reader_answer *a;

    CHECK(col_reader_ask(r, q, clock_mono_ns()));
    while (!(a = col_reader_next(r)))
        usleep(1000);
    CHECK(!col_reader_next(r));
    return a;
}

TEST(col_reader_reads_the_stack_of_a_thread_that_has_not_run_since)
{
    struct col_reader *r = col_reader_new();
    const struct col_reader_answer *a;
    struct col_reader_request q;
    pid_t pid = start_child(&q);

    a = answer_to(r, &q);
    CHECK(memmem(a->bytes, a->n, mark, sizeof mark) != NULL);
    CHECK_EQ(a->of.time_ns, 7);
    q.turns++;
    CHECK_EQ(answer_to(r, &q)->n, 0);
    q.turns--;
    q.sp = 0;
    CHECK_EQ(answer_to(r, &q)->n, 0);
    end_child(pid);
    CHECK_EQ(answer_to(r, &q)->n, 0);
    col_reader_free(r);
}

TEST(col_reader_answers_in_order_and_refuses_more_than_it_can_hold)
{
    struct col_reader *r = col_reader_new();
    struct col_reader_request q;
    pid_t pid = start_child(&q);
    uint64_t asked = 0, got = 0;

    for (q.time_ns = 0; q.time_ns < 100; q.time_ns++)
        asked += col_reader_ask(r, &q, clock_mono_ns());
    CHECK(asked > 1 && asked < 100);
    while (got < asked) {
        const struct col_reader_answer *a = col_reader_next(r);

        if (!a)
            continue;
        CHECK_EQ(a->of.time_ns, got++);
        CHECK(a->n > 0);
    }
    end_child(pid);
    col_reader_free(r);
}
