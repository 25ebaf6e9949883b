/* test_col_stoppable.c - why a process cannot be stopped, and the list of those without the agent.
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/col_others.h"
#include "collect/col_paced.h"
#include "collect/col_pacer.h"
#include "collect/col_stoppable.h"
#include "test.h"

TEST(col_stoppable_explains_each_refusal)
{
    static const struct {
        struct col_stoppable_facts facts;
        const char *why, *remedy;
    } cases[] = {
        { { .tracer = "gdb (process 7)", .refused = true }, "it is traced by gdb (process 7)",
          "end that program" },
        { { .filtered = true, .yama = 1 }, "a seccomp filter refuses ptrace", "SYS_PTRACE" },
        { { .refused = true, .other_user = true, .yama = 1 }, "it belongs to another user",
          "as root" },
        { { .refused = true, .hidden = true, .yama = 1 }, "it has more rights than its user",
          "as root" },
        { { .refused = true, .yama = 1 }, "ptrace_scope is 1: only the ancestors",
          "sysctl kernel.yama.ptrace_scope=0" },
        { { .refused = true, .yama = 2 }, "ptrace_scope is 2: only root", "as root" },
        { { .refused = true, .yama = 3, .capable = true }, "ptrace_scope is 3: no process",
          "next start" },
        { { .refused = true, .capable = true, .yama = 1 }, "the kernel refuses ptrace",
          "SYS_PTRACE" },
    };
    struct col_reason r;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK(!col_stoppable_explain(&cases[i].facts, &r));
        CHECK(strstr(r.why, cases[i].why) != NULL);
        CHECK(strstr(r.remedy, cases[i].remedy) != NULL);
    }
    CHECK(col_stoppable_explain(&(struct col_stoppable_facts){ .yama = 1 }, &r));
    CHECK_STR(r.why, "");
    CHECK(!col_stoppable_explain(&(struct col_stoppable_facts){ .gone = true }, &r));
    CHECK_STR(r.why, "");
}

TEST(col_stoppable_names_the_tracer_of_a_process)
{
    struct col_stoppable_facts f;
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
            raise(SIGSTOP);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (!WIFSTOPPED(status))
        test_skip("ptrace is refused here");
    col_stoppable_ask(pid, &f);
    CHECK(strstr(f.tracer, "unit-tests") != NULL);
    CHECK(!f.gone && !f.other_user);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    col_stoppable_ask(pid, &f);
    CHECK(f.gone);
}

static void add(struct col_pacer *p, const char *name, const char *refused, uint64_t ns,
                uint64_t samples)
{
    struct col_paced_process x = { .way = COL_PACED_HALTED, .why = "it is statically linked",
                                   .other_ns = ns, .samples = samples };

    snprintf(x.name, sizeof x.name, "%s", name);
    snprintf(x.refused, sizeof x.refused, "%s", refused);
    col_others_note(p, &x);
}

TEST(col_others_lists_programs_by_their_time_and_adds_up_equal_ones)
{
    struct col_pacer p = { 0 };
    struct col_others_sum sum;
    struct buf text = { 0 };

    add(&p, "small", "", 1000, 1);
    add(&p, "many", "", 2000, 2);
    add(&p, "many", "", 2000, 2);
    add(&p, "other", "it belongs to another user", 3000, 0);
    add(&p, "unseen", "", 0, 0);
    sum = col_others_list(&p, 10000, false, &text);
    CHECK_EQ(sum.ns, 8000);
    CHECK_EQ(sum.samples, 5);
    CHECK_STR(buf_text(&text),
              "many (2 processes): 40.0 % of CPU time, it is statically linked; "
              "other: 30.0 % of CPU time, not sampled: it belongs to another user; "
              "small: 10.0 % of CPU time, it is statically linked");
    text.n = 0;
    col_others_list(&p, 10000, true, &text);
    CHECK_STR(buf_text(&text),
              "other: 30.0 % of CPU time, not sampled: it belongs to another user");
    buf_release(&text);
    col_others_release(&p.others);
}

TEST(col_others_counts_what_it_does_not_list)
{
    struct col_pacer p = { 0 };
    struct buf text = { 0 };

    for (int i = 0; i < 9; i++) {
        char name[16];

        snprintf(name, sizeof name, "program-%d", i);
        add(&p, name, "", 100, 1);
    }
    col_others_list(&p, 900, false, &text);
    CHECK(strstr(buf_text(&text), "; and 3 more") != NULL);
    buf_release(&text);
    col_others_release(&p.others);
}

TEST(col_paced_weight_is_the_time_since_the_last_sample_up_to_some_periods)
{
    struct col_paced_process x = { .way = COL_PACED_HALTED, .period_ns = 10000000 };
    struct col_paced_thread t = { .of = &x };

    CHECK_EQ(col_paced_weight(&t, 15000000), 15000000);
    CHECK_EQ(col_paced_weight(&t, 25000000), 10000000);
    CHECK_EQ(col_paced_weight(&t, 2025000000), 200000000);
    CHECK_EQ(col_paced_weight(&t, 2025000000), 0);
    CHECK_EQ(col_paced_weight(&t, 0), 10000000); /* unknown */
    x.way = COL_PACED_ASKED;
    x.period_ns = 1000000;
    t.cpu_ns = 0;
    CHECK_EQ(col_paced_weight(&t, 500000000), 20000000);
}
