/* test_col_surroundings.c - cgroups, limits and counters of a program's surroundings, from the texts
 * of their files.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <unistd.h>

#include "collect/col_cgroup.h"
#include "collect/col_surroundings.h"
#include "profile/profile.h"

/* --- which folder ----------------------------------------------------------------------- */

static const char hybrid[] = "9:name=systemd:/\n5:memory:/docker/a:b\n3:cpu,cpuacct:/docker/c\n"
                             "2:cpuset:/\n0::/x\n";

TEST(col_cgroup_path_is_that_of_the_hierarchy_with_the_controller)
{
    char path[64];

    CHECK(col_cgroup_path(hybrid, "cpu", path, sizeof path));
    CHECK_STR(path, "/docker/c");
    CHECK(col_cgroup_path(hybrid, "cpuacct", path, sizeof path));
    CHECK_STR(path, "/docker/c");
    CHECK(col_cgroup_path(hybrid, "memory", path, sizeof path));
    CHECK_STR(path, "/docker/a:b");
    CHECK(col_cgroup_path(hybrid, NULL, path, sizeof path));
    CHECK_STR(path, "/x");
    CHECK(!col_cgroup_path(hybrid, "cpus", path, sizeof path));
    CHECK(!col_cgroup_path(hybrid, "pu", path, sizeof path));
    CHECK(!col_cgroup_path("0::/user.slice\n", "cpu", path, sizeof path));
}

TEST(col_cgroup_path_refuses_what_is_no_list_of_cgroups)
{
    static const char *const bad[] = { "", "\n", "0", "0:", "0:\n:/", "0::", "0::x", "0::\n/x" };
    char path[8];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!col_cgroup_path(bad[i], NULL, path, sizeof path));
    CHECK(!col_cgroup_path("0::/1234567\n", NULL, path, sizeof path)); /* does not fit */
    CHECK(col_cgroup_path("0::/123456\n", NULL, path, sizeof path));
    CHECK_STR(path, "/123456");
}

TEST(col_cgroup_mount_finds_the_hierarchy_and_its_root)
{
    static const char v1[] = "33 31 0:29 /docker/c /sys/fs/cgroup/cpu,cpuacct ro,relatime master:9 - "
                             "cgroup cgroup rw,cpu,cpuacct\n";
    static const char v2[] = "41 31 0:38 / /my\\040groups rw - cgroup2 none rw,nsdelegate\n";
    struct col_cgroup_mount m;

    CHECK(col_cgroup_mount(v1, "cpu", &m));
    CHECK_STR(m.root, "/docker/c");
    CHECK_STR(m.point, "/sys/fs/cgroup/cpu,cpuacct");
    CHECK(col_cgroup_mount(v1, "cpuacct", &m));
    CHECK(!col_cgroup_mount(v1, "memory", &m));
    CHECK(!col_cgroup_mount(v1, NULL, &m));
    CHECK(col_cgroup_mount(v2, NULL, &m));
    CHECK_STR(m.root, "/");
    CHECK_STR(m.point, "/my groups");
    CHECK(!col_cgroup_mount(v2, "cpu", &m));
    CHECK(!col_cgroup_mount("", NULL, &m));
    CHECK(!col_cgroup_mount(" - cgroup2 ", NULL, &m));
    CHECK(!col_cgroup_mount("1 2 3:4 / - cgroup2 x rw", NULL, &m));
    CHECK(!col_cgroup_mount("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755", NULL, &m));
}

TEST(col_cgroup_folder_is_the_mount_point_and_the_path_below_the_root)
{
    static const struct {
        const char *root, *point, *path, *folder;
    } cases[] = {
        { "/", "/sys/fs/cgroup", "/a/b", "/sys/fs/cgroup/a/b" },
        { "/", "/sys/fs/cgroup", "/", "/sys/fs/cgroup" },
        { "/docker/c", "/sys/fs/cgroup/cpu", "/docker/c", "/sys/fs/cgroup/cpu" },
        { "/docker/c", "/sys/fs/cgroup/cpu", "/docker/c/d", "/sys/fs/cgroup/cpu/d" },
        { "/docker/c", "/sys/fs/cgroup/cpu", "/docker/cd", NULL }, /* another container */
        { "/docker/c", "/sys/fs/cgroup/cpu", "/", NULL },
        { "/", "/sys/fs/cgroup", "/../other", NULL }, /* outside the namespace */
        { "/..", "/sys/fs/cgroup", "/../x", NULL },
        { "/", "/sys/fs/cgroup", "/..x", "/sys/fs/cgroup/..x" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct col_cgroup_mount m;
        struct col_cgroup c = { 0 };

        strcpy(m.root, cases[i].root);
        strcpy(m.point, cases[i].point);
        CHECK_EQ(col_cgroup_join(&m, cases[i].path, &c), cases[i].folder != NULL);
        if (cases[i].folder) {
            CHECK_STR(c.folder, cases[i].folder);
            CHECK_EQ(c.top, strlen(m.point));
        }
    }
}

TEST(col_cgroup_up_stops_at_the_mount_point)
{
    struct col_cgroup c = { .folder = "/cg/a/b", .top = 3 };

    CHECK(col_cgroup_up(&c));
    CHECK_STR(c.folder, "/cg/a");
    CHECK(col_cgroup_up(&c));
    CHECK_STR(c.folder, "/cg");
    CHECK(!col_cgroup_up(&c));
    CHECK_STR(c.folder, "/cg");
    c = (struct col_cgroup){ 0 };
    CHECK(!col_cgroup_up(&c));
}

/* --- figures ---------------------------------------------------------------------------- */

TEST(col_text_finds_numbers_by_their_whole_key)
{
    uint64_t x = 7;

    CHECK(col_text_number("usage_usec 12\nnr_throttled 3\nnr_throttled_x 4\n", "nr_throttled", &x));
    CHECK_EQ(x, 3);
    CHECK(col_text_number("max 18446744073709551615", "max", &x));
    CHECK(x == UINT64_MAX);
    x = 7;
    CHECK(!col_text_number("oom_kill 1\n", "oom", &x));
    CHECK(!col_text_number("a nr_periods 5\n", "nr_periods", &x));
    CHECK(!col_text_number("nr_periods \n5", "nr_periods", &x));
    CHECK(!col_text_number("nr_periods -5\n", "nr_periods", &x));
    CHECK(!col_text_number("nr_periods 5x\n", "nr_periods", &x));
    CHECK(!col_text_number("", "nr_periods", &x));
    CHECK_EQ(x, 7);
}

TEST(col_text_reads_the_limit_of_cpu_time)
{
    double cpus = 7;

    CHECK(col_text_cpu_max("150000 100000", &cpus));
    CHECK(cpus == 1.5);
    cpus = 7;
    CHECK(!col_text_cpu_max("max 100000", &cpus));
    CHECK(!col_text_cpu_max("100000", &cpus));
    CHECK(!col_text_cpu_max("100000 0", &cpus));
    CHECK(!col_text_cpu_max("0 100000", &cpus));
    CHECK(!col_text_cpu_max("", &cpus));
    CHECK(cpus == 7);
}

TEST(col_text_reads_the_limit_of_memory)
{
    uint64_t bytes = 7;

    CHECK(col_text_bytes("536870912", &bytes));
    CHECK_EQ(bytes, 536870912);
    CHECK(!col_text_bytes("max", &bytes));
    CHECK(!col_text_bytes("9223372036854771712", &bytes)); /* version 1 without a limit */
    CHECK(!col_text_bytes("", &bytes));
    CHECK_EQ(bytes, 536870912);
}

TEST(col_text_reads_the_totals_of_pressure)
{
    static const char text[] = "some avg10=0.00 avg60=1.00 avg300=0.10 total=260559659\n"
                               "full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n";
    uint64_t ns = 7;

    CHECK(col_text_pressure(text, "some", &ns));
    CHECK_EQ(ns, 260559659000);
    CHECK(col_text_pressure(text, "full", &ns));
    CHECK_EQ(ns, 17000);
    CHECK(!col_text_pressure("some avg10=0.00\nfull total=5\n", "some", &ns));
    CHECK(!col_text_pressure("some total=x\n", "some", &ns));
    CHECK(!col_text_pressure("", "some", &ns));
    CHECK_EQ(ns, 17000);
}

TEST(col_text_reads_stolen_and_busy_time)
{
    uint64_t steal = 7, busy = 7;

    /* user nice system idle iowait irq softirq steal guest guest_nice; guests are part of user */
    CHECK(col_text_steal("cpu  100 20 30 4000 50 6 7 80 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n", 100, &steal,
                         &busy));
    CHECK_EQ(steal, 800000000);
    CHECK_EQ(busy, 2430000000);
    CHECK(!col_text_steal("cpu  100 20 30 4000 50 6 7\n", 100, &steal, &busy)); /* before 2.6.11 */
    CHECK(!col_text_steal("cpu0 1 1 1 1 1 1 1 1\n", 100, &steal, &busy));
    CHECK(!col_text_steal("", 100, &steal, &busy));
    CHECK_EQ(steal, 800000000);
}

TEST(col_text_counts_the_allowed_cpus_that_are_online)
{
    static const char status[] = "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0,2-7\nMems:\t0\n";
    char list[32] = "";

    CHECK_EQ(col_text_allowed(status, "0-3", list, sizeof list), 3);
    CHECK_STR(list, "0,2-7");
    CHECK_EQ(col_text_allowed("Name:\tx\n", "0-3", list, sizeof list), 0);
    CHECK_EQ(col_text_allowed(status, "", list, sizeof list), 0);
}

/* --- a cgroup made of files ------------------------------------------------------------- */

static char folder[256];

static void put(const char *name, const char *text)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_write(path, text, strlen(text));
}

/* Surroundings with the cgroup A/B below a mount point in a new directory. */
static void look(struct col_surroundings *s, bool v2)
{
    snprintf(s->cpu.folder, sizeof s->cpu.folder, "%s/a/b", folder);
    s->cpu.top = strlen(folder);
    s->cpu.v2 = v2;
    s->memory = s->pressure = s->cpu;
}

static const char *meta_of(const struct col_surroundings *s, const char *key)
{
    static char text[64];
    struct profile *p = profile_new();

    col_surroundings_write(s, profile_sink(p));
    snprintf(text, sizeof text, "%s", profile_meta(p, key));
    profile_free(p);
    return text;
}

TEST(col_surroundings_uses_the_lowest_limit_on_the_way_up)
{
    struct col_surroundings s = { 0 };

    snprintf(folder, sizeof folder, "%s", test_dir());
    put("cpu.max", "100000 100000\n");
    put("a/cpu.max", "50000 100000\n");
    put("a/cpu.stat", "usage_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 900\n");
    put("memory.max", "max\n");
    put("a/memory.max", "2000000\n");
    put("a/b/cpu.max", "200000 100000\n");
    put("a/b/cpu.stat", "nr_periods 1\nnr_throttled 0\nthrottled_usec 0\n");
    put("a/b/memory.max", "1000000\n");
    put("a/b/memory.high", "900000\n");
    put("a/b/memory.events", "low 0\nhigh 2\nmax 3\noom 0\noom_kill 1\n");
    put("a/b/cpu.pressure", "some total=5\nfull total=1\n");
    look(&s, true);
    col_surroundings_begin(&s);
    put("a/cpu.stat", "usage_usec 9\nnr_periods 30\nnr_throttled 9\nthrottled_usec 2900\n");
    put("a/b/memory.events", "low 0\nhigh 5\nmax 3\noom 0\noom_kill 2\n");
    put("a/b/cpu.pressure", "some total=25\nfull total=0\n");
    col_surroundings_stop(&s);
    CHECK_STR(meta_of(&s, "limit.cpu_max"), "0.5");
    CHECK_STR(meta_of(&s, "stall.periods"), "20");
    CHECK_STR(meta_of(&s, "stall.throttled"), "5");
    CHECK_STR(meta_of(&s, "stall.throttled_ns"), "2000000");
    CHECK_STR(meta_of(&s, "limit.memory_max"), "1000000");
    CHECK_STR(meta_of(&s, "limit.memory_high"), "900000");
    CHECK_STR(meta_of(&s, "stall.memory_high"), "3");
    CHECK_STR(meta_of(&s, "stall.memory_max"), "0");
    CHECK_STR(meta_of(&s, "stall.oom_kills"), "1");
    CHECK_STR(meta_of(&s, "pressure_of"), "cgroup");
    CHECK_STR(meta_of(&s, "stall.cpu_some_ns"), "20000");
    CHECK_STR(meta_of(&s, "stall.cpu_full_ns"), ""); /* it went backwards: another cgroup */
    CHECK_STR(meta_of(&s, "stall.memory_some_ns"), ""); /* no such file */
}

TEST(col_surroundings_compares_memory_high_of_one_cgroup_with_memory_max_of_another)
{
    struct col_surroundings s = { 0 };

    snprintf(folder, sizeof folder, "%s", test_dir());
    put("a/memory.max", "800000\n");
    put("a/memory.high", "max\n");
    put("a/b/memory.max", "max\n");
    put("a/b/memory.high", "500000\n");
    look(&s, true);
    col_surroundings_begin(&s);
    col_surroundings_stop(&s);
    CHECK_STR(meta_of(&s, "limit.memory_max"), "");
    CHECK_STR(meta_of(&s, "limit.memory_high"), "500000");
}

TEST(col_surroundings_reads_version_1)
{
    struct col_surroundings s = { 0 };

    snprintf(folder, sizeof folder, "%s", test_dir());
    put("cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
    put("memory.limit_in_bytes", "9223372036854771712\n");
    put("a/cpu.cfs_quota_us", "-1\n");
    put("a/cpu.cfs_period_us", "100000\n");
    put("a/b/cpu.cfs_quota_us", "25000\n");
    put("a/b/cpu.cfs_period_us", "100000\n");
    put("a/b/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 900\n");
    put("a/b/memory.limit_in_bytes", "4096\n");
    put("a/b/memory.failcnt", "5\n");
    put("a/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
    look(&s, false);
    col_surroundings_begin(&s);
    put("a/b/cpu.stat", "nr_periods 20\nnr_throttled 6\nthrottled_time 1900\n");
    put("a/b/memory.failcnt", "8\n");
    put("a/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    col_surroundings_stop(&s);
    CHECK_STR(meta_of(&s, "limit.cpu_max"), "0.25");
    CHECK_STR(meta_of(&s, "stall.throttled"), "2");
    CHECK_STR(meta_of(&s, "stall.throttled_ns"), "1000");
    CHECK_STR(meta_of(&s, "limit.memory_max"), "4096");
    CHECK_STR(meta_of(&s, "stall.memory_max"), "3");
    CHECK_STR(meta_of(&s, "stall.oom_kills"), "2");
    CHECK_STR(meta_of(&s, "stall.memory_high"), "");
}

TEST(col_surroundings_of_a_removed_cgroup_has_no_differences)
{
    struct col_surroundings s = { 0 };

    snprintf(folder, sizeof folder, "%s", test_dir());
    put("a/b/cpu.max", "200000 100000\n");
    put("a/b/cpu.stat", "nr_periods 1\nnr_throttled 0\nthrottled_usec 0\n");
    look(&s, true);
    col_surroundings_begin(&s);
    strcat(folder, "/a/b/cpu.stat");
    unlink(folder);
    col_surroundings_stop(&s);
    CHECK_STR(meta_of(&s, "limit.cpu_max"), "2");
    CHECK_STR(meta_of(&s, "stall.periods"), "");
}

/* The real machine: whatever its cgroups, there is a wall time and nothing runs backwards. */
TEST(col_surroundings_of_this_process_can_be_read)
{
    struct col_surroundings s;

    col_surroundings_start(&s, getpid(), 0);
    col_surroundings_allowed(&s, getpid());
    col_surroundings_stop(&s);
    CHECK(strtoull(meta_of(&s, "stall.wall_ns"), NULL, 10) > 0);
    CHECK(s.limits.n_allowed > 0);
    CHECK(s.cpu.folder[0] == '/' || !s.cpu.folder[0]);
    col_surroundings_start(&s, 1 << 30, 0); /* no such process */
    CHECK_STR(s.cpu.folder, "");
    CHECK_STR(s.pressure.folder, "");
    col_surroundings_allowed(&s, 1 << 30);
    col_surroundings_stop(&s);
    CHECK_STR(meta_of(&s, "limit.cgroup"), "");
    CHECK_STR(meta_of(&s, "limit.cpus_allowed"), "");
}
