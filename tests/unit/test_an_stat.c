/* test_an_stat.c - statistics of the runs of a command.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>

#include "analyze/an_stat.h"

static char *command[] = { "prog", "arg", NULL };

static const struct an_measure *find(const struct an_stat *s, const char *name)
{
    for (size_t i = 0; i < s->measure.n; i++)
        if (strcmp(s->measure.v[i].name, name) == 0)
            return &s->measure.v[i];
    return NULL;
}

TEST(stat_measures_follow_from_counters)
{
    struct usage run = { .wall_ns = 2e9, .user_ns = 1e9, .system_ns = 2e9, .n_counters = 4,
                         .counter = { { "instructions", .is_hardware = true, .value = 6e9,
                                        .running_pct = 50 },
                                      { "cycles:u", .is_hardware = true, .value = 3e9,
                                        .running_pct = 100 },
                                      { "branches", .is_hardware = true, .errnum = ENOENT },
                                      { "cache-misses", .is_hardware = true } } };
    struct an_stat s = { .command = command, .run = &run, .runs = 1 };

    an_stat_build(&s);
    CHECK(find(&s, "cpus used")->value[0] == 1.5);
    CHECK(find(&s, "IPC")->value[0] == 2);
    CHECK(find(&s, "GHz")->value[0] == 1);
    CHECK(find(&s, "instructions")->running_pct == 50);
    CHECK(!find(&s, "branches"));
    CHECK(!find(&s, "cache-misses")); /* never had a turn */
    CHECK(!find(&s, "branch miss rate"));
    CHECK(!find(&s, "read"));
    CHECK_STR(s.hardware, "");
    an_stat_release(&s);
}

TEST(stat_prints_medians_and_failures)
{
    struct usage run[3] = { { .wall_ns = 3e9 }, { .wall_ns = 1e9, .exit_status = 139 },
                            { .wall_ns = 2e9 } };
    struct an_stat s = { .command = command, .run = run, .runs = 3 };
    struct out o = out_memory();
    struct term term = { 0 };
    struct result r;

    an_stat_build(&s);
    result_init(&r);
    an_stat_result(&s, &r);
    result_print(&r, RESULT_AS_TEXT, &o, &term);
    CHECK(strstr(buf_text(&o.buf), "prog arg: 3 runs, medians with their 75.0 % interval; 1 of them "
                                   "failed, exit status 139 (SIGSEGV)\n"));
    CHECK(strstr(buf_text(&o.buf), "median     low    high"));
    CHECK(strstr(buf_text(&o.buf), "2.00 s  1.00 s  3.00 s"));
    out_close(&o, NULL);
    o = out_memory();
    result_print(&r, RESULT_AS_CSV, &o, &term);
    CHECK(strstr(buf_text(&o.buf), "\nwall,ns,2000000000.0000,1000000000.0000,3000000000.0000,0.7500,"
                                   "1000000000.0000,3000000000.0000,2000000000.0000,"
                                   "1000000000.0000,"
                                   "3000000000.0000;1000000000.0000;2000000000.0000,\n"));
    out_close(&o, NULL);
    result_release(&r);
    an_stat_release(&s);
}

static const char *text_of(const struct an_stat *s, enum result_form form)
{
    static char text[8192];
    struct out o = out_memory();
    struct term term = { 0 };
    struct result r;

    result_init(&r);
    an_stat_result(s, &r);
    result_print(&r, form, &o, &term);
    snprintf(text, sizeof text, "%s", buf_text(&o.buf));
    out_close(&o, NULL);
    result_release(&r);
    return text;
}

TEST(stat_says_what_is_missing_and_why_where_perf_events_are_refused)
{
    struct usage run = { .wall_ns = 1e9, .refused = EPERM, .n_counters = 1,
                         .counter = { { "cycles", .is_hardware = true, .errnum = EPERM } } };
    struct an_stat s = { .command = command, .run = &run, .runs = 1, .refused = "a filter",
                         .remedy = "remove it" };

    an_stat_build(&s);
    CHECK_STR(s.hardware, "a filter");
    CHECK(strstr(text_of(&s, RESULT_AS_TEXT),
                 "\nnot counted: processes, threads, hardware counters: a filter\n  remove it\n"));
    CHECK(strstr(text_of(&s, RESULT_AS_JSON), "\"hardware\":\"a filter\",\"remedy\":\"remove it\","
                                              "\"missing\":[\"processes\",\"threads\",\"cycles\"]"));
    s.remedy = "";
    CHECK(strstr(text_of(&s, RESULT_AS_TEXT), "hardware counters: a filter\n"));
    CHECK(!strstr(text_of(&s, RESULT_AS_TEXT), "remove"));
    an_stat_release(&s);
}

TEST(stat_says_that_tasks_were_not_counted)
{
    struct usage run = { .wall_ns = 1e9 };
    struct an_stat s = { .command = command, .run = &run, .runs = 1 };

    an_stat_build(&s);
    CHECK(strstr(text_of(&s, RESULT_AS_TEXT), "not counted: processes, threads: the ring"));
    CHECK(strstr(text_of(&s, RESULT_AS_JSON), "\"missing\":[\"processes\",\"threads\"]"));
    run.has_tasks = true;
    CHECK(!strstr(text_of(&s, RESULT_AS_TEXT), "not counted"));
    CHECK(strstr(text_of(&s, RESULT_AS_JSON), "\"missing\":[]"));
    an_stat_release(&s);
}

TEST(stat_prints_what_surrounded_the_runs)
{
    struct usage run = { .wall_ns = 1e9, .has_tasks = true };
    struct an_stat s = { .command = command, .run = &run, .runs = 1 };
    struct profile *facts = profile_new();

    sink_meta(profile_sink(facts), "stall.busy_ns", "1000000000");
    sink_meta(profile_sink(facts), "stall.steal_ns", "500000000");
    s.facts = facts;
    an_stat_build(&s);
    CHECK(strstr(text_of(&s, RESULT_AS_TEXT), "\n\nnote: the hypervisor took 50 % of the CPU time"));
    CHECK(strstr(text_of(&s, RESULT_AS_JSON),
                 "\"meta\":{\"stall.busy_ns\":\"1000000000\",\"stall.steal_ns\":\"500000000\"}"));
    an_stat_release(&s);
    profile_free(facts);
}

TEST(stat_reports_why_there_are_no_hardware_counters)
{
    struct usage run = { .n_counters = 1,
                         .counter = { { "cycles", .is_hardware = true, .errnum = EACCES } } };
    struct an_stat s = { .command = command, .run = &run, .runs = 1 };

    an_stat_build(&s);
    CHECK(strstr(s.hardware, "no permission"));
    an_stat_release(&s);
    run.counter[0].errnum = EPERM; /* a seccomp filter */
    s.measure.n = 0;
    an_stat_build(&s);
    CHECK(strstr(s.hardware, "no permission"));
    an_stat_release(&s);
    run.counter[0].errnum = ENOENT;
    s.measure.n = 0;
    an_stat_build(&s);
    CHECK(strstr(s.hardware, "no hardware counters"));
    an_stat_release(&s);
}
