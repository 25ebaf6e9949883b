/* test_an_surroundings.c - which figures about a program's surroundings the report prints.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "analyze/an_surroundings.h"

/* KEY VALUE ..., NULL.  The result is valid until the next call. */
static const char *lines(const char *const *facts)
{
    static char text[1024];
    struct profile *p = profile_new();
    struct out o = out_memory();

    for (; facts[0]; facts += 2)
        sink_meta(profile_sink(p), facts[0], facts[1]);
    an_surroundings_lines(p, &o);
    snprintf(text, sizeof text, "%s", buf_text(&o.buf));
    out_close(&o, NULL);
    profile_free(p);
    return text;
}
#define LINES(...) lines((const char *const[]){ __VA_ARGS__, NULL })

TEST(an_surroundings_says_nothing_about_a_quiet_machine)
{
    CHECK_STR(LINES("cpus", "2"), "");
    CHECK_STR(LINES("cpus", "2", "limit.cpus_allowed", "2", "limit.cpus_list", "0-1",
                    "limit.cpu_max", "1", "stall.periods", "1000", "stall.throttled", "5",
                    "stall.throttled_ns", "90000000", "stall.busy_ns", "10000000000",
                    "stall.steal_ns", "200000000", "stall.wall_ns", "10000000000",
                    "stall.cpu_some_ns", "2400000000", "stall.memory_some_ns", "400000000",
                    "stall.memory_high", "0", "stall.oom_kills", "0"),
              "");
}

TEST(an_surroundings_ignores_large_shares_of_a_short_time)
{
    CHECK_STR(LINES("limit.cpu_max", "1", "stall.periods", "1", "stall.throttled", "1",
                    "stall.throttled_ns", "49000000", "stall.busy_ns", "60000000", "stall.steal_ns",
                    "40000000", "stall.wall_ns", "45000000", "stall.cpu_some_ns", "45000000",
                    "stall.memory_some_ns", "45000000"),
              "");
}

TEST(an_surroundings_reports_throttling_with_its_limit)
{
    CHECK_STR(LINES("limit.cpu_max", "1.5", "stall.periods", "100", "stall.throttled", "31",
                    "stall.throttled_ns", "4200000000"),
              "note: throttled in 31 % of the periods, for 4.20 s: cpu.max gives its cgroup 1.5 "
              "CPUs\n");
    CHECK(strstr(LINES("limit.cpu_max", "1", "stall.periods", "100", "stall.throttled", "31",
                       "stall.throttled_ns", "4200000000"),
                 " gives its cgroup 1 CPU\n"));
}

TEST(an_surroundings_reports_steal_as_a_share_of_busy_time)
{
    CHECK_STR(LINES("stall.busy_ns", "1000000000", "stall.steal_ns", "120000000", "stall.wall_ns",
                    "64000000000"),
              "note: the hypervisor took 12 % of the CPU time (steal)\n");
}

TEST(an_surroundings_reports_pressure_of_the_cgroup_or_the_machine)
{
    CHECK_STR(LINES("pressure_of", "cgroup", "stall.wall_ns", "1000000000", "stall.cpu_some_ns",
                    "250000000"),
              "note: 25 % of the time a thread of its cgroup had to wait for a CPU (pressure)\n");
    CHECK_STR(LINES("pressure_of", "machine", "stall.wall_ns", "1000000000", "stall.memory_some_ns",
                    "1200000000"), /* PSI is updated every two seconds */
              "note: 100 % of the time a thread of the machine had to wait for memory (pressure)\n");
}

TEST(an_surroundings_reports_cpus_that_were_not_allowed)
{
    CHECK_STR(LINES("cpus", "8", "limit.cpus_allowed", "2", "limit.cpus_list", "0,4\033"),
              "note: it could use only 2 of 8 CPUs (0,4?)\n");
}

TEST(an_surroundings_reports_a_lack_of_memory)
{
    CHECK_STR(LINES("stall.memory_high", "12", "limit.memory_high", "1048576"),
              "note: the kernel slowed the cgroup 12 times at memory.high 1.00 MiB\n");
    CHECK_STR(LINES("stall.oom_kills", "1", "limit.memory_max", "1048576"),
              "note: the kernel killed 1 of the cgroup's processes for lack of memory (memory.max "
              "1.00 MiB)\n");
    CHECK_STR(LINES("stall.oom_kills", "2"),
              "note: the kernel killed 2 of the cgroup's processes for lack of memory\n");
}
