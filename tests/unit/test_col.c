/* test_col.c - the recorder's parsers and tables.  SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/col_event.h"
#include "collect/col_guard.h"
#include "collect/col_perf.h"
#include "collect/col_probe.h"
#include "collect/col_proc.h"
#include "collect/col_ring.h"
#include "collect/col_zones.h"
#include "collect/collect.h"
#include "live_region.h"
#include "perf/perf_event.h"
#include "profile/profile.h"
#include "test.h"

/* --- events --- */

TEST(col_event_parses_names_modifiers_and_raw_numbers)
{
    struct col_events ev = { 0 };
    struct err e = { 0 };

    CHECK_EQ(col_event_parse("cpu-clock,page-faults:u,r1c2,cycles:k", &ev, &e), 0);
    CHECK_EQ(ev.n, 4);
    CHECK(ev.v[0].is_clock);
    CHECK_STR(ev.v[0].name, "cpu-clock");
    CHECK(ev.v[1].no_kernel && !ev.v[1].no_user);
    CHECK_EQ(ev.v[2].config, 0x1c2);
    CHECK_EQ(ev.v[2].type, PERF_TYPE_RAW);
    CHECK(ev.v[3].no_user && ev.v[3].is_hardware);
    vec_release(&ev);
}

TEST(col_event_keeps_two_clocks_apart)
{
    struct col_events ev = { 0 };
    struct err e = { 0 };

    CHECK_EQ(col_event_parse("cpu-clock,task-clock", &ev, &e), 0);
    CHECK_STR(ev.v[0].name, "cpu-clock");
    CHECK_STR(ev.v[1].name, "task-clock");
    vec_release(&ev);
}

TEST(col_event_knows_the_generic_events_by_name_and_by_number)
{
    static const struct {
        const char *name, *canonical;
        uint32_t type;
        uint64_t config;
    } events[] = {
        { "cpu", "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
        { "faults", "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
        { "branch-misses", "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
        { "LLC-loads", "LLC-loads", PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_LL },
    };

    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        const struct perf_event *e = perf_event_find(events[i].name, strlen(events[i].name));

        CHECK_STR(e->name, events[i].canonical);
        CHECK_EQ(e->type, events[i].type);
        CHECK_EQ(e->config, events[i].config);
        CHECK(perf_event_of(e->type, e->config) == e);
    }
    CHECK(!perf_event_find("cpu-cloc", 8) && !perf_event_of(PERF_TYPE_RAW, 0));
}

TEST(col_event_refuses_unknown_names)
{
    static const char *const bad[] = { "", "nonsense", "cycles,", "cpu-clock,,cycles",
                                       "../../etc:passwd", "nopmu/event=1/" };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct col_events ev = { 0 };
        struct err e = { 0 };

        CHECK(col_event_parse(bad[i], &ev, &e) < 0 && e.msg[0]);
        vec_release(&ev);
    }
}

TEST(col_parse_graph_takes_modes_and_their_numbers)
{
    struct col_options o = { 0 };
    struct err e = { 0 };

    CHECK_EQ(col_parse_graph("", &o, &e), 0);
    CHECK_EQ(o.graph, COL_GRAPH_AUTO);
    CHECK_EQ(col_parse_graph("dwarf,16384", &o, &e), 0);
    CHECK_EQ(o.graph, COL_GRAPH_DWARF);
    CHECK_EQ(o.copy_bytes, 16384);
    CHECK_EQ(col_parse_graph("fp,20", &o, &e), 0);
    CHECK_EQ(o.depth, 20);
    CHECK(col_parse_graph("dwarf,70000", &o, NULL) < 0);
    CHECK(col_parse_graph("dwar", &o, NULL) < 0);
    CHECK(col_parse_graph("lbr,3", &o, NULL) < 0);
}

/* --- /proc --- */

TEST(col_proc_reads_lines_of_a_maps_file)
{
    struct perf_mapping w;
    char file[] = "7f00-8f00 r-xp 00001000 08:02 42   /usr/lib/a b.so (deleted)\n";
    char anon[] = "7f00-8f00 rwxp 00000000 00:00 0 \n", data[] = "7f00-8f00 r--p 0 08:02 42 /x\n";
    char broken[] = "7f00-8f00", backwards[] = "8f00-7f00 r-xp 0 08:02 42 /x\n";
    char call[] = "ffffffffff600000-ffffffffff601000 --xp 0 00:00 0 [vsyscall]\n";

    CHECK(col_proc_maps_line(file, &w));
    CHECK_EQ(w.start, 0x7f00);
    CHECK_EQ(w.file_offset, 0x1000);
    CHECK_EQ(w.inode, 42);
    CHECK_EQ(w.device, makedev(8, 2));
    CHECK_STR(w.path, "/usr/lib/a b.so (deleted)");
    CHECK(col_proc_maps_line(anon, &w));
    CHECK_STR(w.path, "//anon");
    CHECK(!col_proc_maps_line(data, &w));
    CHECK(!col_proc_maps_line(broken, &w));
    CHECK(!col_proc_maps_line(backwards, &w));
    CHECK(!col_proc_maps_line(call, &w));
}

TEST(col_proc_parses_lists_of_cpus)
{
    static const char *const bad[] = { "", "\n", "x", "0-", "1-", "- 5", "3-2", "-1", "0,2 3", "0-99999" };
    struct col_cpus cpus = { 0 };

    CHECK_EQ(col_proc_cpus("0,2-4\n", &cpus), 0);
    CHECK_EQ(cpus.n, 4);
    CHECK(cpus.v[0] == 0 && cpus.v[1] == 2 && cpus.v[3] == 4);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cpus.n = 0;
        CHECK_EQ(col_proc_cpus(bad[i], &cpus), -1);
    }
    vec_release(&cpus);
}

TEST(col_proc_finds_the_parent_of_a_process_with_any_name)
{
    CHECK_EQ(prctl(PR_SET_NAME, "a) R 7 ("), 0);
    CHECK_EQ(col_proc_parent(getpid()), getppid());
}

/* --- what the engine is told about the events --- */

TEST(col_perf_describes_its_events_to_the_engine)
{
    struct col_events events = { 0 };
    struct col_plan plan = { .events = &events, .frequency_hz = 1000, .copy_bytes = 4096 };
    struct sink nothing = { 0 };
    struct perf_engine engine;
    struct perf_attr **attr;
    struct col_perf p;
    struct intern in;

    CHECK_EQ(col_event_parse("cpu-clock,page-faults", &events, NULL), 0);
    intern_init(&in, &nothing);
    perf_engine_init(&engine, &in, &perf_host_none);
    col_perf_init(&p, &plan, &engine);
    attr = engine.attrs.v.v;
    CHECK_EQ(engine.attrs.v.n, 3);
    CHECK_EQ(attr[0]->period, 1000000);
    CHECK(attr[0]->is_clock && !attr[0]->is_frequency && attr[1]->is_frequency);
    CHECK(attr[0]->sample_type & PERF_SAMPLE_STACK_USER && attr[0]->regs_user);
    CHECK(attr[2]->at_switch && attr[2]->no_metric && attr[2]->period == 1);
    CHECK(p.n_cpus > 0);
    col_perf_use_big(&p); /* without events for larger copies */
    CHECK(!p.big);
    col_perf_release(&p);
    perf_engine_release(&engine);
    intern_release(&in);
    vec_release(&events);
}

TEST(col_event_has_a_number_for_each_name)
{
    struct col_events v = { 0 };
    struct err e = { 0 };

    CHECK_EQ(col_event_parse("branches,branch-misses,cache-misses,faults", &v, &e), 0);
    CHECK_EQ(v.n, 4);
    CHECK_EQ(v.v[0].config, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
    CHECK_EQ(v.v[1].config, PERF_COUNT_HW_BRANCH_MISSES);
    CHECK_EQ(v.v[2].config, PERF_COUNT_HW_CACHE_MISSES);
    CHECK_EQ(v.v[3].config, PERF_COUNT_SW_PAGE_FAULTS);
    CHECK(v.v[1].is_hardware && !v.v[3].is_hardware);
    vec_release(&v);
}

TEST(col_event_keeps_the_terms_of_a_pmu_together)
{
    struct col_events v = { 0 };
    struct err e = { 0 };

    CHECK_EQ(col_event_parse("nosuchpmu/event=1,umask=2/", &v, &e), -1);
    CHECK(!strstr(e.msg, "event=1\"")); /* not parsed as an event name */
    CHECK_EQ(v.n, 1);
    vec_release(&v);
}

TEST(col_ring_joins_a_record_that_wraps_around)
{
    enum { SIZE = 4096 };
    static struct perf_event_mmap_page page;
    static unsigned char data[SIZE], scratch[1 << 16];
    struct col_ring r = { .page = &page, .data = data, .size = SIZE, .scratch = scratch };
    struct perf_event_header h = { .type = 9, .size = 24 };
    const unsigned char *got;
    size_t n;

    r.tail = SIZE - 16;
    memcpy(data + SIZE - 16, &h, sizeof h);
    memset(data + SIZE - 8, 0xaa, 8);
    memset(data, 0xbb, 8);
    page.data_head = SIZE + 8;
    CHECK(col_ring_look(&r));
    got = col_ring_record(&r, &n);
    CHECK(got && n == 24);
    CHECK_EQ(got[15], 0xaa);
    CHECK_EQ(got[16], 0xbb);
    CHECK_EQ(got[23], 0xbb);
    col_ring_next(&r, n);
    CHECK(!col_ring_record(&r, &n));
}

/* --- zones --- */

/* A recorder that is recorded itself has the folder of the outer one in its environment. */
TEST(col_zones_pass_their_own_folder_to_the_command)
{
    struct col_zones z = { 0 };
    struct col_source s = col_zones_source(&z);

    CHECK_EQ(setenv("FATHOM_RECORD_DIR", "/nonexistent/outer", 1), 0);
    col_zones_open(&z);
    CHECK(z.guard.folder[0]);
    CHECK_STR(getenv("FATHOM_RECORD_DIR"), z.guard.folder);
    CHECK_EQ(access(z.guard.folder, W_OK), 0);
    col_zones_hide(&z);
    CHECK(getenv("FATHOM_RECORD_DIR") == NULL);
    CHECK(z.guard.pid > 0);
    s.release(s.with);
    CHECK_STR(z.guard.folder, "");
}

TEST(col_zones_report_what_was_dropped_if_there_were_any)
{
    struct col_zones z = { .into = { .dropped = 3 } };
    struct col_source s = col_zones_source(&z);
    struct profile *p = profile_new();

    s.quality(s.with, profile_sink(p));
    CHECK_STR(profile_meta(p, "quality.dropped"), "");
    z.into.regions = 1;
    s.quality(s.with, profile_sink(p));
    CHECK_STR(profile_meta(p, "quality.dropped"), "3");
    profile_free(p);
}

/* --- the guard of a temporary folder -------------------------------------------------------- */

TEST(col_guard_removes_the_folders_of_killed_recorders_only)
{
    struct col_guard g = { 0 }, other = { 0 };
    char orphan[4096], inner[4200], strange[4200];
    const char *tmp = test_dir();

    snprintf(orphan, sizeof orphan, "%s/guard-test-orphan", tmp);
    snprintf(inner, sizeof inner, "%s/zones.1", orphan);
    snprintf(strange, sizeof strange, "%s/guard-test-file", tmp);
    CHECK_EQ(setenv("TMPDIR", tmp, 1), 0);
    CHECK_EQ(mkdir(orphan, 0700), 0);
    close(open(inner, O_CREAT | O_WRONLY, 0600));
    close(open(strange, O_CREAT | O_WRONLY, 0600));
    col_guard_open(&g, "guard-test-");
    CHECK(access(orphan, F_OK) != 0);
    CHECK_EQ(access(strange, F_OK), 0); /* not a folder */
    col_guard_open(&other, "guard-test-");
    CHECK_EQ(access(g.folder, W_OK), 0); /* locked */
    snprintf(orphan, sizeof orphan, "%s", g.folder);
    col_guard_start(&g);
    CHECK(g.pid > 0);
    col_guard_close(&g);
    CHECK(access(orphan, F_OK) != 0);
    CHECK_EQ(access(other.folder, W_OK), 0);
    col_guard_close(&other);
    unsetenv("TMPDIR");
}

static void make_file(const char *folder, const char *name)
{
    char path[4400];
    int fd;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0);
    close(fd);
}

static bool has_file(const char *folder, const char *name)
{
    char path[4400];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

TEST(col_guard_removes_whole_folders_and_only_its_own)
{
    static const char *const names[] = { "guard-test-orphan", "guard-other", "guard-test-foreign",
                                         "folder" };
    struct col_guard g = { 0 };
    char path[ARRAY_LEN(names)][4200], link[4200];
    const char *tmp = test_dir();

    CHECK_EQ(setenv("TMPDIR", tmp, 1), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", tmp, names[i]);
        CHECK_EQ(mkdir(path[i], 0700), 0);
        make_file(path[i], "file");
        make_file(path[i], ".hidden");
    }
    snprintf(link, sizeof link, "%s/guard-test-link", tmp);
    CHECK_EQ(symlink("folder", link), 0);
    if (geteuid() == 0)
        CHECK_EQ(chown(path[2], 65534, 65534), 0);
    col_guard_open(&g, "guard-test-");
    CHECK(access(path[0], F_OK) < 0);
    CHECK(has_file(path[1], "file"));
    CHECK_EQ(has_file(path[2], "file"), geteuid() == 0);
    CHECK(has_file(path[3], "file")); /* behind the link */
    col_guard_close(&g);
    unsetenv("TMPDIR");
}

static int count_open(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

TEST(col_guard_is_in_a_session_of_its_own_without_files_of_the_recorder)
{
    struct col_guard g = { 0 };
    int ends[2], before;
    pid_t pid;
    char byte;

    CHECK_EQ(setenv("TMPDIR", test_dir(), 1), 0);
    before = count_open();
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    col_guard_open(&g, "guard-test-");
    col_guard_start(&g);
    pid = g.pid;
    CHECK(pid > 0);
    close(ends[1]);
    CHECK_EQ(read(ends[0], &byte, 1), 0); /* the guard has closed it */
    CHECK_EQ(getsid(pid), pid);
    CHECK_EQ(waitpid(pid, NULL, WNOHANG), 0);
    col_guard_close(&g);
    CHECK_EQ(waitpid(pid, NULL, WNOHANG), -1);
    close(ends[0]);
    CHECK_EQ(count_open(), before);
    unsetenv("TMPDIR");
}

TEST(col_zones_remove_their_folder_even_if_the_recorder_exits_early)
{
    static struct col_zones z;
    char folder[256] = "";
    int ends[2];

    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(setenv("TMPDIR", test_dir(), 1), 0);
    if (fork() == 0) {
        col_zones_open(&z);
        CHECK_EQ(write(ends[1], z.guard.folder, sizeof folder), sizeof folder);
        exit(0);
    }
    close(ends[1]);
    CHECK_EQ(read(ends[0], folder, sizeof folder), sizeof folder);
    CHECK_EQ(read(ends[0], folder + 255, 1), 0); /* it has ended */
    CHECK(folder[0] && access(folder, F_OK) < 0);
    unsetenv("TMPDIR");
}

/* --- regions of libfathom that change while they are read --------------------------------- */

static struct intern zone_ids;
static int zone_file;
static bool truncates;
static size_t n_samples; /* imported */

static uint32_t process_of_zone(struct region_zones *z, const struct live_header *h)
{
    return intern_process(z->in, &(struct process){ .pid = h->pid });
}

static uint32_t thread_of_zone(struct region_zones *z, const struct live_header *h, uint32_t tid,
                               const char *name)
{
    /* Nobody can keep the program from doing this while we read. */
    CHECK(!truncates || ftruncate(zone_file, 0) == 0);
    return intern_thread(z->in, &(struct thread){ .process = process_of_zone(z, h),
                                                  .tid = tid, .name = intern_cstr(z->in, name) });
}

/* Import what the folder of zones holds after CHANGE, and return the number of regions. */
static uint64_t regions_after(void (*change)(int folder))
{
    struct col_zones z = { .into = { .in = &zone_ids, .thread = thread_of_zone,
                                     .process = process_of_zone } };
    struct col_source s = col_zones_source(&z);
    struct profile *p = profile_new();
    int folder, before;

    intern_init(&zone_ids, profile_sink(p));
    col_zones_open(&z);
    folder = open(z.guard.folder, O_RDONLY | O_DIRECTORY);
    zone_file = openat(folder, "1.live", O_RDWR | O_CREAT, 0600);
    CHECK_EQ(write(zone_file, live_region(), REGION_BYTES), REGION_BYTES);
    change(folder);
    before = count_open();
    s.finish(s.with, 0);
    CHECK(z.guard.folder[0] == 0); /* removed */
    CHECK_EQ(count_open(), before - 1);
    s.release(s.with);
    close(zone_file);
    close(folder);
    n_samples = p->sample.n + p->span.n + p->counter.n;
    intern_release(&zone_ids);
    profile_free(p);
    return z.into.regions;
}

static void nothing(int folder)
{
}

TEST(col_zones_read_a_region_that_is_truncated_meanwhile)
{
    size_t all;

    CHECK_EQ(regions_after(nothing), 1);
    all = n_samples;
    truncates = true;
    CHECK_EQ(regions_after(nothing), 1);
    CHECK(all > 0);
    CHECK_EQ(n_samples, all);
}

static void to_fifo(int folder)
{
    CHECK(mkfifoat(folder, "2.live", 0600) == 0); /* reading it would block */
}

static void to_link(int folder)
{
    CHECK(renameat(folder, "1.live", folder, "../1.live") == 0);
    CHECK(symlinkat("../1.live", folder, "1.live") == 0);
}

static void to_others(int folder)
{
    CHECK(fchmodat(folder, "1.live", 0666, 0) == 0);
}

TEST(col_zones_ignore_files_that_are_not_regular)
{
    CHECK_EQ(regions_after(to_fifo), 1);
}

TEST(col_zones_ignore_links)
{
    setenv("TMPDIR", test_dir(), 1);
    CHECK_EQ(regions_after(to_link), 0);
}

TEST(col_zones_ignore_files_that_every_user_can_write)
{
    CHECK_EQ(regions_after(to_others), 0);
}
