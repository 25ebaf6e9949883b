/* test_perf_engine.c - streams of perf records and the exact profile of each.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>

#include "base/map.h"
#include "perf_build.h"
#include "perf_text.h"
#include "test.h"

/* A program with one page of code at 0x400000, at offset 0x1000 of its file, and a library. */
#define PROG "/nonexistent/prog"
#define LIB "/nonexistent/libx.so"
enum { PAGE = 0x1000, CODE = 0x400000, LIBRARY = 0x700000 };
#define KERNEL(offset) (0xffffffff81000000u + (offset))
#define MARK_USER ((uint64_t)PERF_CONTEXT_USER)
#define MARK_KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)
#define CHAIN(...) ((const uint64_t[]){ __VA_ARGS__, 0 })

struct run {
    struct pb b;
    struct profile *profile;
    struct intern in;
    struct perf_engine e;
    struct buf text;
};

static void start(struct run *r)
{
    memset(r, 0, sizeof *r);
    pb_init(&r->b);
    r->profile = profile_new();
    intern_init(&r->in, profile_sink(r->profile));
    perf_engine_init(&r->e, &r->in, &perf_host_none);
}

/* Process PID with PROG mapped. */
static void start_program(struct run *r, uint32_t pid)
{
    pb_comm(&r->b, 1, pid, pid, "prog", true);
    pb_map(&r->b, 2, pid, CODE, PAGE, PAGE, PROG);
}

/* Process all records; returns the profile as text. */
static const char *told(struct run *r, uint64_t stop_ns)
{
    struct err e = { 0 };

    pb_attrs(&r->b, &r->e);
    pb_feed(&r->b, &r->e, stop_ns);
    CHECK_EQ(sink_end(r->in.out, &e), 0);
    perf_text(r->profile, &r->text);
    return buf_text(&r->text);
}

static void finish(struct run *r)
{
    perf_engine_release(&r->e);
    intern_release(&r->in);
    profile_free(r->profile);
    buf_release(&r->text);
    pb_release(&r->b);
}

TEST(perf_engine_calls_the_first_clock_cpu_and_names_the_second_one)
{
    struct run r;

    start(&r);
    r.b.attr[1].is_clock = true;
    r.b.attr[1].name = "task-clock:u";
    start_program(&r, 10);
    for (int event = 0; event < 2; event++)
        pb_sample(&r.b, &(struct pb_sample){ .time = 2000000, .period = 1000000, .pid = 10,
                                             .tid = 10, .event = event,
                                             .chain = CHAIN(MARK_USER, CODE + 1) });
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 prog+1001\n"
                           "10/10 task-clock:u 1000000+1000000 1000000 prog+1001\n");
    finish(&r);
}

/* --- CPU time without samples --- */

/* "TID WEIGHT" of the samples without an address. */
static const char *unsampled(struct run *r, uint64_t ns, uint64_t stop_ns)
{
    struct err e = { 0 };
    const struct profile *p = r->profile;

    pb_attrs(&r->b, &r->e);
    pb_feed(&r->b, &r->e, stop_ns);
    perf_engine_unsampled(&r->e, ns, stop_ns);
    CHECK_EQ(sink_end(r->in.out, &e), 0);
    r->text.n = 0;
    for (size_t i = 0; i < p->sample.n; i++) {
        const struct profile_sample *m = &p->sample.v[i];

        if (m->count)
            continue;
        buf_printf(&r->text, "%" PRId64 " %" PRId64 "\n", p->thread.v[m->thread - 1].tid, m->weight);
    }
    return buf_text(&r->text);
}

/* Thread TID of process 10, which lives from FROM to TO. */
static void thread_lives(struct run *r, uint32_t tid, uint64_t from, uint64_t to)
{
    pb_fork(&r->b, from, 10, 10, tid, 10);
    pb_exit(&r->b, to, 10, tid);
}

TEST(perf_engine_gives_missing_time_to_the_thread_that_created_others_without_samples)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 10000000, 10, 10, 11, 10);
    pb_fork(&r.b, 10000001, 10, 10, 12, 11);
    pb_exit(&r.b, 10100001, 10, 12);
    pb_sample(&r.b, &(struct pb_sample){ .time = 12000000, .period = 1000000, .pid = 10, .tid = 11,
                                         .chain = CHAIN(MARK_USER, CODE + 1) });
    CHECK_STR(unsampled(&r, 5100000, 30000000), "10 1000000\n11 4000000\n12 100000\n");
    finish(&r);
}

TEST(perf_engine_misses_no_time_in_a_thread_with_samples_for_all_its_life)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 10000000, 10, 10, 11, 10);
    pb_sample(&r.b, &(struct pb_sample){ .time = 11000000, .period = 1000000, .pid = 10, .tid = 11,
                                         .chain = CHAIN(MARK_USER, CODE + 1) });
    pb_exit(&r.b, 11000000, 10, 11);
    CHECK_STR(unsampled(&r, 5100000, 30000000), "10 1000000\n");
    finish(&r);
}

TEST(perf_engine_divides_missing_time_without_changing_its_sum)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    for (uint32_t tid = 11; tid <= 16; tid++)
        thread_lives(&r, tid, 10000000, 12000000);
    CHECK_STR(unsampled(&r, 5100009, 30000000),
              "10 728573\n11 728572\n12 728573\n13 728573\n14 728573\n15 728572\n16 728573\n");
    finish(&r);
}

TEST(perf_engine_gives_short_threads_what_they_lived_and_the_rest_to_their_parent)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    thread_lives(&r, 11, 10000000, 10400000);
    thread_lives(&r, 12, 11000000, 11300000);
    pb_chain(&r.b, 12000000, 10, CHAIN(CODE + 1)); /* covers 1 ms */
    CHECK_STR(unsampled(&r, 10700000, 20000000), "10 10000000\n11 400000\n12 300000\n");
    finish(&r);
}

TEST(perf_engine_divides_missing_time_evenly_if_threads_lived_longer)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    for (uint32_t i = 0; i < 9; i++)
        thread_lives(&r, 11 + i, 10000000 + i, 30000000);
    thread_lives(&r, 30, 31000000, 31200000); /* lived for only 0.2 ms */
    CHECK_STR(unsampled(&r, 5200000, 40000000), "10 500000\n11 500000\n12 500000\n13 500000\n"
                                                "14 500000\n15 500000\n16 500000\n17 500000\n"
                                                "18 500000\n19 500000\n30 200000\n");
    finish(&r);
}

TEST(perf_engine_attributes_lost_samples_and_small_amounts_to_no_thread)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_lost(&r.b, 5, 100); /* 100 ms */
    CHECK_STR(unsampled(&r, 100000000, 900000000), "");
    finish(&r);
    start(&r);
    start_program(&r, 10);
    CHECK_STR(unsampled(&r, 5000000, 900000000), ""); /* five periods */
    finish(&r);
    start(&r);
    start_program(&r, 10);
    pb_sample(&r.b, &(struct pb_sample){ .time = 2000000000, .period = 1000000000, .pid = 10,
                                         .tid = 10, .chain = CHAIN(MARK_USER, CODE + 1) });
    CHECK_STR(unsampled(&r, 9000000, 3000000000), ""); /* less than a hundredth */
    finish(&r);
}

/* --- processes and address spaces --- */

TEST(perf_engine_places_addresses_in_the_file_that_is_mapped)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 0x123, CODE + 0x456));
    pb_chain(&r.b, 3000000, 10, CHAIN(0x99));
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 prog+1456r;prog+1123\n"
                           "10/10 cpu 2000000+1000000 1000000 ?+99\n");
    CHECK_STR(profile_string(r.profile, r.profile->process.v[0].name), "prog");
    finish(&r);
}

TEST(perf_engine_gives_a_forked_child_the_maps_of_its_parent)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 20, 10, 20, 10);
    pb_chain(&r.b, 2000000, 20, CHAIN(CODE + 0x10));
    CHECK_STR(told(&r, 0), "20/20 cpu 1000000+1000000 1000000 prog+1010\n");
    CHECK_EQ(r.profile->process.v[1].parent_pid, 10);
    CHECK_STR(profile_string(r.profile, r.profile->process.v[1].name), "prog");
    CHECK_EQ(r.profile->process.v[1].start_ns, 5);
    finish(&r);
}

/* "PID COMMAND START-END" of each process, then "TID NAME PROCESS START-END" of each thread. */
static const char *items(struct run *r)
{
    const struct profile *p = r->profile;

    r->text.n = 0;
    for (size_t i = 0; i < p->process.n; i++) {
        const struct process *x = &p->process.v[i];

        buf_printf(&r->text, "%" PRId64 " %s %" PRIu64 "-%" PRIu64 "\n", x->pid,
                   profile_string(p, x->name), x->start_ns, x->end_ns);
    }
    for (size_t i = 0; i < p->thread.n; i++) {
        const struct thread *t = &p->thread.v[i];

        buf_printf(&r->text, "%" PRId64 " %s in %u %" PRIu64 "-%" PRIu64 "\n", t->tid,
                   profile_string(p, t->name), t->process, t->start_ns, t->end_ns);
    }
    return buf_text(&r->text);
}

/* Samples as "COMMAND/THREAD WEIGHT". */
static const char *owners(struct run *r)
{
    const struct profile *p = r->profile;

    r->text.n = 0;
    for (size_t i = 0; i < p->sample.n; i++) {
        const struct thread *t = &p->thread.v[p->sample.v[i].thread - 1];

        buf_printf(&r->text, "%s/%s %" PRId64 "\n",
                   profile_string(p, p->process.v[t->process - 1].name),
                   profile_string(p, t->name), p->sample.v[i].weight);
    }
    return buf_text(&r->text);
}

TEST(perf_engine_keeps_the_command_of_samples_before_exec)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_comm(&r.b, 3000000, 10, 10, "other", true);
    pb_map(&r.b, 3000001, 10, LIBRARY, PAGE, 0, LIB);
    pb_chain(&r.b, 4000000, 10, CHAIN(LIBRARY + 1));
    pb_chain(&r.b, 5000000, 10, CHAIN(CODE + 1)); /* no longer mapped */
    pb_exit(&r.b, 6000000, 10, 10);
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 prog+1001\n"
                           "10/10 cpu 3000000+1000000 1000000 libx.so+1\n"
                           "10/10 cpu 4000000+1000000 1000000 ?+400001\n");
    CHECK_STR(owners(&r), "prog/prog 1000000\nother/other 1000000\nother/other 1000000\n");
    CHECK_STR(items(&r), "10 prog 1-3000000\n10 other 3000000-6000000\n"
                         "10 prog in 1 1-3000000\n10 other in 2 3000000-6000000\n");
    finish(&r);
}

TEST(perf_engine_finds_the_items_of_a_time_before_exec)
{
    struct err e = { 0 };
    struct perf_processes *p;
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 3, 10, 10, 11, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_comm(&r.b, 3000000, 10, 10, "other", true);
    pb_chain(&r.b, 4000000, 10, CHAIN(CODE + 1));
    pb_comm(&r.b, 5000000, 10, 10, "third", true); /* without samples */
    pb_comm(&r.b, 5000010, 10, 10, "last", true);
    pb_attrs(&r.b, &r.e);
    pb_feed(&r.b, &r.e, 0);
    p = &r.e.processes;
    CHECK_EQ(perf_process_item_at(p, 10, 2, "x"), 1);
    CHECK_EQ(perf_process_item_at(p, 10, 2999999, "x"), 1);
    CHECK_EQ(perf_process_item_at(p, 10, 3000000, "x"), 2);
    CHECK_EQ(perf_process_item_at(p, 10, 5000010, "x"), 3);
    CHECK_EQ(perf_process_item_at(p, 10, 5000009, "third"), 4);
    CHECK_EQ(perf_process_item_at(p, 10, 5000001, "third"), 4);
    CHECK_EQ(perf_process_thread_at(p, 10, 10, 2, "x", "prog"), 1);
    CHECK_EQ(perf_process_thread_at(p, 10, 11, 2, "x", "x"), 2);
    CHECK_EQ(perf_process_thread_at(p, 10, 10, 4000000, "x", "other"), 3);
    CHECK_EQ(perf_process_thread_at(p, 10, 10, 6000000, "x", "x"), 4);
    CHECK_EQ(perf_process_thread_at(p, 10, 10, 5000009, "x", "third"), 5);
    CHECK_EQ(perf_process_thread_at(p, 10, 10, 5000009, "x", "third"), 5);
    CHECK_EQ(perf_process_thread_at(p, 20, 20, 2, "x", "x"), 6);
    CHECK_EQ(sink_end(r.in.out, &e), 0);
    CHECK_STR(items(&r), "10 prog 1-3000000\n10 other 3000000-5000000\n10 last 5000000-0\n"
                         "10 third 0-5000010\n20  0-0\n10 prog in 1 1-3000000\n"
                         "11 prog in 1 3-3000000\n10 other in 2 3000000-5000000\n"
                         "10 last in 3 5000000-0\n10 third in 4 0-5000010\n20  in 5 0-0\n");
    finish(&r);
}

TEST(perf_engine_makes_one_item_of_a_child_that_only_calls_exec)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 20, 10, 20, 10);
    pb_comm(&r.b, 6, 20, 20, "child", true);
    pb_chain(&r.b, 2000000, 20, CHAIN(CODE + 1));
    told(&r, 0);
    CHECK_STR(items(&r), "10 prog 1-0\n20 child 5-0\n10 prog in 1 1-0\n20 child in 2 5-0\n");
    finish(&r);
}

TEST(perf_engine_keeps_the_command_of_a_child_that_works_before_exec)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 20, 10, 20, 10);
    pb_chain(&r.b, 2000000, 20, CHAIN(CODE + 1));
    pb_comm(&r.b, 2000006, 20, 20, "child", true);
    pb_chain(&r.b, 4000000, 20, CHAIN(CODE + 1));
    told(&r, 0);
    CHECK_STR(owners(&r), "prog/prog 1000000\nchild/child 1000000\n");
    finish(&r);
}

TEST(perf_engine_keeps_when_a_thread_ended_before_exec)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 10, 10, 11, 10);
    pb_exit(&r.b, 100, 10, 11);
    pb_comm(&r.b, 3000000, 10, 10, "other", true);
    told(&r, 0);
    CHECK_EQ(r.profile->thread.v[1].end_ns, 100);
    finish(&r);
}

TEST(perf_engine_counts_the_ranges_of_all_processes)
{
    struct run r;
    uint64_t n = 0;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 20, 10, 20, 10);
    pb_map(&r.b, 6, 20, LIBRARY, PAGE, 0, LIB); /* no longer shared */
    pb_fork(&r.b, 7, 30, 20, 30, 20);
    pb_comm(&r.b, 8, 30, 30, "child", true);
    pb_comm(&r.b, 9, 20, 20, "child", true);
    pb_map(&r.b, 10, 20, LIBRARY, PAGE, 0, LIB);
    told(&r, 0);
    for (size_t i = 0; i < r.e.processes.process.n; i++)
        n += r.e.processes.process.v[i]->space->unw->n;
    CHECK_EQ(n, 2);
    CHECK_EQ(r.e.processes.n_ranges, n);
    finish(&r);
}

static bool user_of(int64_t pid, struct named_user *u)
{
    *u = (struct named_user){ .uid = (uint32_t)(1000 + pid) };
    return true;
}

static void root_of(int64_t pid, uint64_t *mount_ns, int *fd)
{
    *mount_ns = (uint64_t)pid;
}

TEST(perf_engine_gives_a_forked_child_the_user_and_root_directory_of_its_parent)
{
    static const struct perf_host host = { .user = user_of, .root = root_of };
    const struct perf_process *x;
    struct run r;

    start(&r);
    r.e.modules.host = &host;
    start_program(&r, 10);
    pb_chain(&r.b, 3, 10, CHAIN(CODE + 1));
    pb_fork(&r.b, 5, 20, 10, 20, 10);
    told(&r, 0);
    x = perf_process_find_thread(&r.e.processes, 20)->process;
    CHECK(x->user);
    CHECK_EQ(x->user->uid, 1010);
    CHECK_EQ(x->mount_ns, 10);
    finish(&r);
}

/* exec in another thread than the first: all others end, and the caller gets the first's tid. */
TEST(perf_engine_follows_exec_in_a_second_thread)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 10, 10, 11, 10);
    pb_sample(&r.b, &(struct pb_sample){ .time = 2000000, .period = 1000000, .pid = 10, .tid = 11,
                                         .chain = CHAIN(MARK_USER, CODE + 1) });
    pb_exit(&r.b, 2500000, 10, 10);
    pb_comm(&r.b, 3000000, 10, 10, "other", true);
    pb_chain(&r.b, 4000000, 10, CHAIN(CODE + 1));
    pb_fork(&r.b, 4000001, 10, 10, 12, 10);
    pb_exit(&r.b, 6000000, 10, 10);
    told(&r, 0);
    CHECK_STR(owners(&r), "prog/prog 1000000\nother/other 1000000\n");
    CHECK_STR(items(&r), "10 prog 1-3000000\n10 other 3000000-6000000\n"
                         "10 prog in 1 1-2500000\n11 prog in 1 5-3000000\n"
                         "10 other in 2 3000000-6000000\n12 other in 2 4000001-0\n");
    finish(&r);
}

TEST(perf_engine_keeps_the_name_of_samples_before_a_rename)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 10, 10, 11, 10);
    pb_comm(&r.b, 6, 10, 11, "worker", false);  /* before its first sample: still one item */
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t tid = 10; tid <= 11; tid++)
            pb_sample(&r.b, &(struct pb_sample){ .time = (2 + i) * 1000000 + tid,
                                                 .period = 1000000, .pid = 10, .tid = tid,
                                                 .chain = CHAIN(MARK_USER, CODE + 1) });
    pb_comm(&r.b, 4000000, 10, 10, "title", false);
    for (uint32_t tid = 10; tid <= 11; tid++)
        pb_sample(&r.b, &(struct pb_sample){ .time = 5000000 + tid, .period = 1000000, .pid = 10,
                                             .tid = tid, .chain = CHAIN(MARK_USER, CODE + 1) });
    pb_comm(&r.b, 6000000, 10, 11, "idle", false);
    pb_comm(&r.b, 6000001, 10, 11, "worker", false);
    pb_sample(&r.b, &(struct pb_sample){ .time = 7000000, .period = 1000000, .pid = 10, .tid = 11,
                                         .chain = CHAIN(MARK_USER, CODE + 1) });
    told(&r, 0);
    CHECK_STR(owners(&r), "prog/prog 1000000\nprog/worker 1000000\n"
                          "prog/prog 1000000\nprog/worker 1000000\n"
                          "title/title 1000000\ntitle/worker 1000000\ntitle/worker 1000000\n");
    CHECK_EQ(r.profile->thread.n, 5); /* "idle" was never sampled */
    finish(&r);
}

TEST(perf_engine_makes_one_item_of_each_name_a_thread_alternates_between)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 10, 10, 11, 10);
    for (uint32_t i = 0; i < 20; i++) {
        pb_comm(&r.b, 10000000 + 10 * i, 10, 11, i % 2 ? "odd" : "even", false);
        pb_sample(&r.b, &(struct pb_sample){ .time = 10000005 + 10 * i, .period = 1000000,
                                             .pid = 10, .tid = 11,
                                             .chain = CHAIN(MARK_USER, CODE + 1) });
    }
    told(&r, 0);
    CHECK_EQ(r.profile->sample.n, 20);
    CHECK_EQ(r.profile->thread.n, 3);
    finish(&r);
}

TEST(perf_engine_hides_maps_of_a_child_from_its_parent)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 20, 10, 20, 10);
    pb_map(&r.b, 6, 20, LIBRARY, PAGE, 0, LIB);
    pb_chain(&r.b, 2000000, 20, CHAIN(LIBRARY + 1));
    pb_chain(&r.b, 2000001, 10, CHAIN(LIBRARY + 1));
    CHECK_STR(told(&r, 0), "20/20 cpu 1000000+1000000 1000000 libx.so+1\n"
                           "10/10 cpu 1000001+1000000 1000000 ?+700001\n");
    finish(&r);
}

TEST(perf_engine_drops_all_maps_at_exec)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 0x10));
    pb_comm(&r.b, 3000000, 10, 10, "other", true);
    pb_chain(&r.b, 4000000, 10, CHAIN(CODE + 0x10));
    pb_comm(&r.b, 5000000, 10, 10, "renamed", false); /* no exec: the maps stay */
    pb_map(&r.b, 5000001, 10, CODE, PAGE, 0, LIB);
    pb_comm(&r.b, 5000002, 10, 10, "again", false);
    pb_chain(&r.b, 6000000, 10, CHAIN(CODE + 0x10));
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 prog+1010\n"
                           "10/10 cpu 3000000+1000000 1000000 ?+400010\n"
                           "10/10 cpu 5000000+1000000 1000000 libx.so+10\n");
    CHECK_EQ(r.profile->process.n, 3); /* "renamed" has no sample */
    CHECK_STR(profile_string(r.profile, r.profile->process.v[2].name), "again");
    finish(&r);
}

TEST(perf_engine_follows_an_address_from_one_library_to_the_next)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_map(&r.b, 3, 10, LIBRARY, PAGE, 0, LIB);
    pb_chain(&r.b, 2000000, 10, CHAIN(LIBRARY + 0x20, CODE + 1));
    pb_map(&r.b, 2500000, 10, LIBRARY, PAGE, 0x3000, "/nonexistent/liby.so"); /* after dlclose */
    pb_chain(&r.b, 3000000, 10, CHAIN(LIBRARY + 0x20, CODE + 1));
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 prog+1001r;libx.so+20\n"
                           "10/10 cpu 2000000+1000000 1000000 prog+1001r;liby.so+3020\n");
    finish(&r);
}

TEST(perf_engine_distinguishes_the_processes_of_a_reused_pid)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_exit(&r.b, 100, 10, 10);
    pb_fork(&r.b, 200, 10, 9, 10, 9);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 0x10));
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 ?+400010\n");
    CHECK_EQ(r.profile->process.v[0].end_ns, 100);
    CHECK_EQ(r.profile->process.n, 3); /* the first process, its unknown parent, the second */
    CHECK_EQ(r.profile->thread.v[r.profile->sample.v[0].thread - 1].process, 3);
    finish(&r);
}

TEST(perf_engine_keeps_threads_of_one_process_together)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 50, 10, 10, 11, 10);
    pb_comm(&r.b, 60, 10, 11, "worker", false);
    pb_sample(&r.b, &(struct pb_sample){ .time = 2000000, .pid = 10, .tid = 11,
                                         .chain = CHAIN(MARK_USER, CODE + 1) });
    pb_exit(&r.b, 2000001, 10, 11);
    CHECK_STR(told(&r, 0), "10/11 cpu 1000000+1000000 1000000 prog+1001\n");
    CHECK_EQ(r.profile->process.n, 1);
    CHECK_STR(profile_string(r.profile, r.profile->thread.v[1].name), "worker");
    CHECK_EQ(r.profile->thread.v[1].end_ns, 2000001);
    CHECK_EQ(r.profile->process.v[0].end_ns, 0);
    finish(&r);
}

TEST(perf_engine_can_exclude_children)
{
    struct run r;

    start(&r);
    r.e.processes.no_children = true;
    start_program(&r, 10);
    pb_fork(&r.b, 50, 10, 10, 11, 10);
    pb_fork(&r.b, 60, 20, 10, 20, 10);
    told(&r, 0);
    CHECK_EQ(r.profile->process.n, 1);
    CHECK_EQ(r.profile->thread.n, 2);
    finish(&r);
}

TEST(perf_engine_handles_code_without_a_file)
{
    static const char *const paths[] = { "//anon", "/memfd:jit (deleted)", "/SYSV00000000",
                                         "/anon_hugepage (deleted)", "/dev/zero", "[heap]" };
    struct run r;

    start(&r);
    pb_comm(&r.b, 1, 10, 10, "vm", true);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        pb_map(&r.b, 2 + i, 10, CODE + PAGE * i, PAGE, 0, paths[i]);
        pb_chain(&r.b, 2000000 + i, 10, CHAIN(CODE + PAGE * i + 5));
    }
    told(&r, 0);
    for (size_t i = 0; i < r.profile->sample.n; i++) {
        uint32_t stack = r.profile->sample.v[i].stack;
        const struct frame *f = &r.profile->frame.v[r.profile->stack.v[stack - 1].frame - 1];

        CHECK_EQ(f->kind, FRAME_JIT);
        CHECK_EQ(f->address, CODE + PAGE * i + 5);
        CHECK_STR(profile_string(r.profile, r.profile->module.v[f->module - 1].path),
                  "/tmp/perf-10.map");
    }
    finish(&r);
}

TEST(perf_engine_keeps_special_mappings_apart_from_jit_code)
{
    struct run r;

    start(&r);
    pb_comm(&r.b, 1, 10, 10, "x", true);
    pb_map(&r.b, 2, 10, CODE, PAGE, 0, "[uprobes]");
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 5));
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 [uprobes]+400005\n");
    CHECK_EQ(r.profile->frame.v[0].kind, FRAME_NATIVE);
    CHECK_EQ(r.profile->module.v[0].kind, MODULE_NONE);
    finish(&r);
}

TEST(perf_engine_names_code_by_the_jitdump_its_process_maps)
{
    struct run r;

    start(&r);
    pb_comm(&r.b, 1, 10, 10, "vm", true);
    pb_map(&r.b, 2, 10, LIBRARY, PAGE, 0, "/home/x/jit-10.dump");
    pb_map(&r.b, 3, 10, CODE, PAGE, 0, "//anon");
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 5));
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 jit-10.dump+400005\n");
    finish(&r);
}

TEST(perf_engine_keeps_the_frames_of_a_stack_through_many_modules)
{
    enum { MODULES = 100 };
    uint64_t chain[MODULES + 2] = { MARK_USER };
    struct run r;

    start(&r);
    pb_comm(&r.b, 1, 10, 10, "x", true);
    for (uint64_t i = 0; i < MODULES; i++) {
        char path[32];

        snprintf(path, sizeof path, "/lib/%d.so", (int)i);
        pb_map(&r.b, 2 + i, 10, CODE + PAGE * i, PAGE, 0, path);
        chain[i + 1] = CODE + PAGE * i + 5;
    }
    pb_sample(&r.b, &(struct pb_sample){ .time = 2000000, .pid = 10, .tid = 10, .chain = chain });
    told(&r, 0);
    CHECK_EQ(r.profile->module.n, MODULES);
    CHECK_EQ(r.profile->stack.n, MODULES);
    for (size_t i = 0; i < MODULES; i++) {
        const struct frame *f = &r.profile->frame.v[r.profile->stack.v[i].frame - 1];

        CHECK_EQ(f->address, 5);
        CHECK(f->module);
    }
    finish(&r);
}

/* A container numbers its processes on its own, and its runtime names the map by that number. */
TEST(perf_modules_of_code_without_a_file_have_the_process_number_of_their_namespace)
{
    struct perf_mapping w = { .path = "//anon", .root_fd = -1, .pid = 70, .inner_pid = 7 };
    const struct perf_module *m;
    struct run r;

    start(&r);
    m = perf_module_get(&r.e.modules, perf_module_number(&r.e.modules, &w));
    CHECK_STR(m->path, "/tmp/perf-7.map");
    CHECK_EQ(m->target_pid, 70);
    CHECK_EQ(m->pid, 7);
    finish(&r);
}

TEST(perf_engine_calls_a_deleted_file_by_its_name)
{
    struct run r;

    start(&r);
    pb_comm(&r.b, 1, 10, 10, "x", true);
    pb_map(&r.b, 2, 10, CODE, PAGE, 0, PROG " (deleted)");
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 5));
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 prog+5\n");
    finish(&r);
}

/* A main thread may end before the others; the child of another one is alive. */
TEST(perf_engine_starts_the_child_of_a_process_whose_main_thread_ended)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 10, 10, 11, 10);
    pb_exit(&r.b, 100, 10, 10);
    pb_fork(&r.b, 200, 20, 10, 20, 11);
    pb_chain(&r.b, 2000000, 20, CHAIN(CODE + 1));
    CHECK_STR(told(&r, 0), "20/20 cpu 1000000+1000000 1000000 prog+1001\n");
    CHECK_EQ(r.profile->process.n, 2);
    CHECK_EQ(r.profile->process.v[0].end_ns, 100);
    CHECK_EQ(r.profile->process.v[1].start_ns, 200);
    CHECK_EQ(r.profile->process.v[1].end_ns, 0);
    finish(&r);
}

TEST(perf_engine_makes_a_new_process_of_a_number_that_has_ended)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_exit(&r.b, 100, 10, 10);
    pb_sample(&r.b, &(struct pb_sample){ .time = 2000000, .pid = 10, .tid = 12,
                                         .chain = CHAIN(MARK_USER, CODE + 1) });
    pb_sample(&r.b, &(struct pb_sample){ .time = 3000000, .pid = 30, .tid = 12, /* reused */
                                         .chain = CHAIN(MARK_USER, CODE + 1) });
    CHECK_STR(told(&r, 0), "10/12 cpu 1000000+1000000 1000000 ?+400001\n"
                           "30/12 cpu 2000000+1000000 1000000 ?+400001\n");
    CHECK_EQ(r.profile->process.n, 3);
    finish(&r);
}

/* --- stacks --- */

TEST(perf_engine_looks_return_addresses_up_before_the_return)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_map(&r.b, 3, 10, CODE + PAGE, PAGE, 0, LIB);
    /* The last instruction of the program is a call: its return address is in the library. */
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + PAGE + 1, CODE + PAGE));
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 prog+2000r;libx.so+1\n");
    finish(&r);
}

TEST(perf_engine_distinguishes_a_leaf_from_a_caller_at_the_same_address)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1, CODE + 2, CODE + 3));
    pb_chain(&r.b, 3000000, 10, CHAIN(CODE + 2, CODE + 3));
    CHECK_STR(told(&r, 0),
              "10/10 cpu 1000000+1000000 1000000 prog+1003r;prog+1002r;prog+1001\n"
              "10/10 cpu 2000000+1000000 1000000 prog+1003r;prog+1002\n");
    finish(&r);
}

TEST(perf_engine_puts_the_kernel_on_top_of_the_program)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_sample(&r.b, &(struct pb_sample){ .time = 2000000, .pid = 10, .kernel = true,
                                         .chain = CHAIN(MARK_KERNEL, KERNEL(1), KERNEL(2),
                                                        MARK_USER, CODE + 1, CODE + 2) });
    pb_sample(&r.b, &(struct pb_sample){ .time = 3000000, .pid = 10, .kernel = true,
                                         .chain = CHAIN(KERNEL(1)) }); /* without context marks */
    pb_ksymbol(&r.b, 3500000, KERNEL(0), 16, "bpf_prog_x");
    pb_sample(&r.b, &(struct pb_sample){ .time = 4000000, .pid = 10, .kernel = true,
                                         .chain = CHAIN(MARK_KERNEL, KERNEL(1), KERNEL(0x10)) });
    CHECK_STR(told(&r, 0),
              "10/10 cpu 1000000+1000000 1000000 "
              "prog+1002r;prog+1001;[kernel]+ffffffff81000002r;[kernel]+ffffffff81000001\n"
              "10/10 cpu 2000000+1000000 1000000 [kernel]+ffffffff81000001\n"
              "10/10 cpu 3000000+1000000 1000000 bpf_prog_x;bpf_prog_x\n");
    finish(&r);
}

/* A run whose samples have registers and copies of the stack. */
static void start_walks(struct run *r)
{
    start(r);
    r->e.modules.host = &pb_host_with_program;
    pb_stacks(&r->b);
    start_program(r, 10);
}

/* A stack of three frames at 0x8000: each frame pointer points to the next, the last is 0. */
static const uint64_t whole_stack[] = { 0, 0x8020, CODE + 0x200, 0, 0x8040, CODE + 0x300, 0, 7,
                                        0, CODE + 0x400 };

static void walked(struct run *r, uint64_t time, uint64_t pc, size_t words)
{
    pb_sample(&r->b, &(struct pb_sample){ .time = time, .pid = 10, .pc = pc, .sp = 0x8000,
                                          .fp = 0x8008, .stack = whole_stack,
                                          .n_stack = words });
}

TEST(perf_engine_joins_a_cut_stack_to_the_callers_of_an_earlier_one)
{
    struct run r;

    start_walks(&r);
    walked(&r, 2000000, CODE + 0x10, ARRAY_LEN(whole_stack));
    walked(&r, 3000000, CODE + 0x20, 4); /* ends before the second frame */
    told(&r, 0);
    CHECK_EQ(r.e.stacks.counts.all, 2);
    CHECK_EQ(r.e.stacks.counts.complete, 2);
    CHECK_EQ(r.e.stacks.counts.joined, 1);
    CHECK_EQ(r.e.stacks.counts.short_copies, 1);
    CHECK_EQ(r.e.stacks.counts.cut, 0);
    CHECK_STR(buf_text(&r.text),
              "10/10 cpu 1000000+1000000 1000000 "
              "prog+1400r;prog+1300r;prog+1200r;prog+1010\n"
              "10/10 cpu 2000000+1000000 1000000 "
              "prog+1400r;prog+1300r;prog+1200r;prog+1020j\n");
    finish(&r);
}

/* The same calls a second time, on another part of the stack. */
TEST(perf_engine_joins_stacks_by_their_place_not_only_by_their_calls)
{
    uint64_t higher[ARRAY_LEN(whole_stack)];
    struct run r;

    memcpy(higher, whole_stack, sizeof higher);
    higher[1] += PAGE;
    higher[4] += PAGE;
    start_walks(&r);
    walked(&r, 2000000, CODE + 0x10, ARRAY_LEN(whole_stack));
    for (uint64_t i = 0; i < 2; i++)
        pb_sample(&r.b, &(struct pb_sample){
            .time = 3000000 + i, .pid = 10, .pc = CODE + 0x10 + i, .sp = 0x8000 + PAGE,
            .fp = 0x8008 + PAGE, .stack = higher, .n_stack = i ? 4 : ARRAY_LEN(higher) });
    told(&r, 0);
    CHECK_EQ(r.e.stacks.counts.joined, 1);
    CHECK_EQ(r.e.stacks.counts.cut, 0);
    finish(&r);
}

TEST(perf_engine_puts_a_cut_stack_without_a_match_under_a_note)
{
    struct run r;

    start_walks(&r);
    walked(&r, 2000000, CODE + 0x10, 4);
    walked(&r, 3000000, CODE + 0x20, 4); /* a truncated stack is not joined to another one */
    told(&r, 0);
    CHECK_STR(buf_text(&r.text), "10/10 cpu 1000000+1000000 1000000 "
                                 "[truncated];prog+1200r;prog+1010\n"
                                 "10/10 cpu 2000000+1000000 1000000 "
                                 "[truncated];prog+1200r;prog+1020\n");
    CHECK_EQ(r.e.stacks.counts.complete, 0);
    CHECK_EQ(r.e.stacks.counts.joined, 0);
    CHECK_EQ(r.e.stacks.counts.cut, 2);
    CHECK_EQ(r.e.stacks.counts.lost, 0);
    finish(&r);
}

TEST(perf_engine_extends_a_cut_stack_by_the_call_chain)
{
    struct run r;

    start_walks(&r);
    pb_sample(&r.b, &(struct pb_sample){
        .time = 2000000, .pid = 10, .pc = CODE + 0x10, .sp = 0x8000, .fp = 0x8008,
        .stack = whole_stack, .n_stack = 4,
        .chain = CHAIN(MARK_USER, CODE + 0x10, CODE + 0x200, CODE + 0x333) });
    told(&r, 0);
    CHECK_STR(buf_text(&r.text), "10/10 cpu 1000000+1000000 1000000 "
                                 "[truncated];prog+1333r;prog+1200r;prog+1010\n");
    finish(&r);
}

/* During a fault on a page of the stack, neither the copy nor the chain holds a caller. */
TEST(perf_engine_calls_a_stack_with_an_empty_copy_truncated)
{
    struct run r;

    start_walks(&r);
    pb_sample(&r.b, &(struct pb_sample){
        .time = 2000000, .pid = 10, .pc = CODE + 0x10, .sp = 0x8000, .fp = 0x8008,
        .chain = CHAIN(MARK_KERNEL, KERNEL(1), MARK_USER, CODE + 0x10), .kernel = true });
    told(&r, 0);
    CHECK_STR(buf_text(&r.text), "10/10 cpu 1000000+1000000 1000000 "
                                 "[truncated];prog+1010;[kernel]+ffffffff81000001\n");
    CHECK_EQ(r.e.stacks.counts.cut, 1);
    CHECK_EQ(r.e.stacks.counts.lost, 0);
    finish(&r);
}

/* A chain continues while each function keeps a frame pointer; a word of text is no caller. */
TEST(perf_engine_extends_a_stack_only_by_what_can_be_a_return_address)
{
    struct run r;

    start_walks(&r);
    pb_sample(&r.b, &(struct pb_sample){
        .time = 2000000, .pid = 10, .pc = CODE + 0x10, .sp = 0x8000, .fp = 0x8008,
        .stack = whole_stack, .n_stack = 4,
        .chain = CHAIN(MARK_USER, CODE + 0x10, CODE + 0x200, 0x66252073, CODE + 0x333) });
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 "
                           "[truncated];prog+1200r;prog+1010\n");
    finish(&r);
}

TEST(perf_engine_ends_a_chain_at_an_address_outside_code)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1, CODE + 2, 0x66252073, CODE + 3));
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 prog+1002r;prog+1001\n");
    finish(&r);
}

/* Of a file that cannot be read nothing is known: registers that look like a chain prove nothing. */
TEST(perf_engine_counts_chains_of_frame_pointers_that_end_early)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_chain(&r.b, 3000000, 10, CHAIN(CODE + 1));
    pb_attrs(&r.b, &r.e);
    pb_feed(&r.b, &r.e, 0);
    perf_engine_quality(&r.e);
    CHECK_STR(profile_meta(r.profile, "quality.unreadable"), "2");
    CHECK_STR(profile_meta(r.profile, "quality.chains_ended"), "2");
    finish(&r);
}

TEST(perf_engine_reports_stacks_that_end_in_a_module_without_unwind_information)
{
    struct run r;

    start(&r);
    pb_stacks(&r.b);
    start_program(&r, 10);
    walked(&r, 2000000, CODE + 0x10, ARRAY_LEN(whole_stack));
    told(&r, 0);
    CHECK_STR(buf_text(&r.text), "10/10 cpu 1000000+1000000 1000000 [truncated];prog+1010\n");
    CHECK_EQ(r.e.stacks.counts.complete, 0);
    CHECK_EQ(r.e.stacks.counts.bare, 1);
    perf_engine_quality(&r.e);
    CHECK_STR(profile_meta(r.profile, "quality.not_walked"), "1");
    CHECK_STR(profile_meta(r.profile, "quality.not_walked_in"), PROG);
    finish(&r);
}

/* --- samples --- */

TEST(perf_engine_gives_each_event_its_metric_and_weight)
{
    struct run r;

    start(&r);
    r.b.attr[1].period = 1; /* each page fault */
    start_program(&r, 10);
    pb_sample(&r.b, &(struct pb_sample){ .time = 5000000, .pid = 10, .event = 1,
                                         .chain = CHAIN(MARK_USER, CODE + 1) });
    pb_sample(&r.b, &(struct pb_sample){ .time = 6000000, .pid = 10, .period = 777,
                                         .chain = CHAIN(MARK_USER, CODE + 1) });
    CHECK_STR(told(&r, 0), "10/10 page-faults 5000000+0 1 prog+1001\n"
                           "10/10 cpu 5999223+777 777 prog+1001\n");
    CHECK_EQ(r.e.counts.samples, 2);
    CHECK_EQ(r.e.attrs.v.v[0]->samples, 1);
    CHECK_EQ(r.e.attrs.v.v[0]->weight, 777);
    CHECK_EQ(r.profile->metric.v[0].flags, METRIC_EXACT);
    CHECK_EQ(r.profile->metric.v[0].period, 0);
    CHECK_EQ(r.profile->metric.v[1].period, 1000000);
    finish(&r);
}

TEST(perf_engine_completes_deferred_chains_of_the_same_thread)
{
    const uint64_t mark = (uint64_t)PERF_CONTEXT_USER_DEFERRED_;
    struct run r;

    start(&r);
    start_program(&r, 10);
    for (uint32_t i = 0; i < 3; i++)
        pb_sample(&r.b, &(struct pb_sample){ .time = 2000000 + i, .pid = 10, .tid = 10 + i,
                                             .kernel = true,
                                             .chain = CHAIN(MARK_KERNEL, KERNEL(1), mark, 7) });
    pb_deferred(&r.b, 3000000, 10, 11, 7, CHAIN(CODE + 0x11, CODE + 0x22));
    pb_deferred(&r.b, 3000001, 10, 10, 7, CHAIN(CODE + 0x33));
    CHECK_STR(told(&r, 0), "10/11 cpu 1000001+1000000 1000000 "
                           "prog+1022r;prog+1011;[kernel]+ffffffff81000001\n"
                           "10/10 cpu 1000000+1000000 1000000 "
                           "prog+1033;[kernel]+ffffffff81000001\n"
                           "10/12 cpu 1000002+1000000 1000000 "
                           "[kernel]+ffffffff81000001\n"); /* its second half is missing */
    finish(&r);
}

TEST(perf_engine_completes_deferred_chains_in_order_among_many)
{
    const uint64_t mark = (uint64_t)PERF_CONTEXT_USER_DEFERRED_;
    struct run r;

    start(&r);
    for (uint64_t i = 0; i < 3000; i++) {
        for (uint32_t k = 0; k < 2; k++) /* the samples of every third cookie are never completed */
            pb_sample(&r.b, &(struct pb_sample){ .time = 10 * i + k + 1, .pid = 10, .tid = 10,
                                                 .period = 10 * i + k + 1, .kernel = true,
                                                 .chain = CHAIN(KERNEL(1), mark, 1 + i % 1500) });
        if (i % 3)
            pb_deferred(&r.b, 10 * i + 5, 10, 10, 1 + i % 1500, CHAIN(CODE + 1));
    }
    told(&r, 0);
    CHECK_EQ(r.profile->sample.n, 6000);
    for (size_t i = 0; i < 6000; i++) {
        /* i counts the samples with a user part, then the others */
        uint64_t n = i < 4000 ? i / 2 / 2 * 3 + i / 2 % 2 + 1 : (i - 4000) / 2 * 3;

        CHECK_EQ(r.profile->sample.v[i].weight, 10 * n + i % 2 + 1);
    }
    CHECK(r.e.deferred.v.cap < 6000);
    finish(&r);
}

/* A sample of 10/10 with WEIGHT whose user part has COOKIE. */
static void defer(struct run *r, uint64_t time, uint64_t weight, uint64_t cookie)
{
    pb_sample(&r->b, &(struct pb_sample){ .time = time, .pid = 10, .tid = 10, .period = weight,
                                          .kernel = true,
                                          .chain = CHAIN(MARK_KERNEL, KERNEL(1),
                                                         (uint64_t)PERF_CONTEXT_USER_DEFERRED_,
                                                         cookie) });
}

TEST(perf_engine_completes_a_deferred_chain_once_and_takes_its_cookie_again)
{
    struct run r;

    start(&r);
    defer(&r, 100, 1, 7);
    pb_deferred(&r.b, 200, 10, 10, 7, CHAIN(CODE + 1));
    pb_deferred(&r.b, 300, 10, 10, 7, CHAIN(CODE + 2));
    defer(&r, 400, 2, 7);
    pb_deferred(&r.b, 500, 10, 10, 7, CHAIN(CODE + 3));
    CHECK_STR(told(&r, 0), "10/10 cpu 99+1 1 ?+400001;[kernel]+ffffffff81000001\n"
                           "10/10 cpu 398+2 2 ?+400003;[kernel]+ffffffff81000001\n");
    finish(&r);
}

TEST(perf_engine_completes_samples_that_wait_longer_than_others)
{
    struct run r;

    start(&r);
    for (uint64_t i = 1; i <= 150; i++) {
        bool waits = i == 41 || i == 42;

        defer(&r, 10 * i, i, waits ? 5000 : i);
        if (!waits)
            pb_deferred(&r.b, 10 * i + 1, 10, 10, i, CHAIN(CODE + 1));
    }
    pb_deferred(&r.b, 5000, 10, 10, 5000, CHAIN(CODE + 1));
    told(&r, 0);
    CHECK(r.e.deferred.v.cap < 150);
    CHECK_EQ(r.profile->sample.n, 150);
    CHECK_EQ(r.profile->sample.v[147].weight, 150);
    CHECK_EQ(r.profile->sample.v[148].weight, 41);
    CHECK_EQ(r.profile->sample.v[149].weight, 42);
    finish(&r);
}

TEST(perf_engine_ignores_mappings_beyond_its_work)
{
    const uint64_t top = 0x7f0000000000;
    struct run r;

    start(&r);
    r.e.processes.work.left = 0;
    start_program(&r, 10);
    for (uint32_t i = 0; i < 2000; i++) /* each is below the last and moves it */
        pb_map(&r.b, 3 + i, 10, top - PAGE * i, PAGE, PAGE * i, LIB);
    pb_chain(&r.b, 2000000, 10, CHAIN(top - PAGE * 5 + 1, CODE + 1));
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 prog+1001r;libx.so+5001\n");
    CHECK_EQ(r.e.processes.work.ignored, 0);
    r.e.processes.work.left = 0;
    for (uint32_t i = 0; i < 3; i++)
        perf_engine_record(&r.e, &(struct perf_record){
            .type = PERF_RECORD_MMAP, .pid = 10, .tid = 10, .start = PAGE * (9 - 2 * i),
            .size = PAGE, .prot = 4, .text = LIB });
    CHECK_EQ(r.e.processes.work.ignored, 2); /* one record pays for 1024 */
    perf_engine_quality(&r.e);
    CHECK_STR(profile_meta(r.profile, "quality.mappings_ignored"), "2");
    finish(&r);
}

TEST(perf_engine_weighs_each_event_of_a_group_by_its_increase)
{
    static const uint64_t values[2][5] = { { 2, 500, 100, 3, 101 }, { 2, 800, 100, 3, 101 } };
    struct run r;

    start(&r);
    r.b.attr[0].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    pb_attrs(&r.b, &r.e);
    for (size_t i = 0; i < 2; i++)
        perf_engine_record(&r.e, &(struct perf_record){
            .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .pid = 10, .tid = 10,
            .cpu = -1, .time_ns = 1000 * (i + 1), .ip = CODE, .attr = r.e.attrs.v.v[0],
            .read = { (const unsigned char *)values[i], 5 } });
    perf_text(r.profile, &r.text);
    CHECK_STR(buf_text(&r.text), "10/10 cpu 500+500 500 ?+400000\n"
                                 "10/10 page-faults 1000+0 3 ?+400000\n"
                                 "10/10 cpu 1700+300 300 ?+400000\n");
    CHECK_EQ(r.e.counts.first_ns, 1000);
    CHECK_EQ(r.e.counts.last_ns, 2000);
    CHECK_STR(profile_string(r.profile, r.profile->metric.v[0].unit), "ns");
    CHECK_STR(profile_string(r.profile, r.profile->metric.v[1].unit), "events");
    finish(&r);
}

TEST(perf_engine_counts_lost_throttled_and_unreadable_records)
{
    struct perf_raw broken = { .type = PERF_RECORD_SAMPLE, .body = cursor_of("abc", 3) };
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_lost(&r.b, 100, 5);
    pb_lost_samples(&r.b, 200, 3);
    pb_throttle(&r.b, 300);
    pb_throttle(&r.b, 400);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    told(&r, 0);
    perf_engine_add(&r.e, &broken);
    CHECK_EQ(r.e.counts.lost, 8);
    CHECK_EQ(r.e.counts.throttled, 2);
    CHECK_EQ(r.e.counts.samples, 1);
    CHECK_EQ(r.e.counts.broken, 1);
    perf_engine_quality(&r.e);
    CHECK_STR(profile_meta(r.profile, "quality.lost"), "8");
    CHECK_STR(profile_meta(r.profile, "quality.throttled"), "2");
    CHECK_STR(profile_meta(r.profile, "quality.samples"), "1");
    CHECK_STR(profile_meta(r.profile, "quality.stacks"), "1");
    CHECK_STR(profile_meta(r.profile, "quality.unreadable"), "2"); /* one is a rootless chain */
    finish(&r);
}

TEST(perf_engine_adds_up_the_cost_of_leaves)
{
    struct run r;
    uint64_t all = 0;

    start(&r);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1, CODE + 2));
    pb_chain(&r.b, 3000000, 10, CHAIN(CODE + 1, CODE + 2));
    pb_sample(&r.b, &(struct pb_sample){ .time = 4000000, .pid = 10, .event = 1,
                                         .chain = CHAIN(MARK_USER, CODE + 1) });
    told(&r, 0);
    for (size_t i = 0; i < r.e.self.n; i++)
        all += r.e.self.v[i];
    CHECK_EQ(all, 2000000); /* of the first event only */
    CHECK_EQ(r.e.self.v[r.profile->stack.v[r.profile->sample.v[0].stack - 1].frame - 1], 2000000);
    finish(&r);
}

/* --- order --- */

TEST(perf_engine_applies_records_in_the_order_of_time)
{
    struct run r;

    start(&r);
    pb_chain(&r.b, 9000000, 10, CHAIN(CODE + 3));
    pb_chain(&r.b, 3000000, 10, CHAIN(CODE + 1));
    pb_map(&r.b, 2, 10, CODE, PAGE, PAGE, PROG);
    pb_chain(&r.b, 6000000, 10, CHAIN(CODE + 2));
    pb_map(&r.b, 7000000, 10, CODE, PAGE, 0, LIB);
    pb_comm(&r.b, 1, 10, 10, "prog", true);
    CHECK_STR(told(&r, 0), "10/10 cpu 2000000+1000000 1000000 prog+1001\n"
                           "10/10 cpu 5000000+1000000 1000000 prog+1002\n"
                           "10/10 cpu 8000000+1000000 1000000 libx.so+3\n");
    finish(&r);
}

static void note_time(void *with, const struct perf_raw *raw)
{
    struct cursor c = raw->body;

    buf_printf(with, "%u ", (unsigned)cur_u8(&c));
}

TEST(perf_order_delivers_a_round_up_to_the_newest_of_the_one_before)
{
    struct buf told_times = { 0 };
    struct perf_queue q = { .deliver = note_time, .with = &told_times };
    static const uint8_t times[] = { 5, 3, 9, 7 };
    uint8_t passing;

    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        struct perf_raw raw = { .body = cursor_of(&passing, 1), .passing = true };

        passing = times[i]; /* the queue must have copied the record before */
        perf_order_add(&q, &raw, times[i]);
        if (i == 1)
            perf_order_round(&q); /* 5 is the newest: nothing can be delivered yet */
    }
    CHECK_EQ(told_times.n, 0);
    perf_order_round(&q);
    CHECK_STR(buf_text(&told_times), "3 5 ");
    perf_order_until(&q, 8);
    CHECK_STR(buf_text(&told_times), "3 5 7 ");
    perf_order_until(&q, UINT64_MAX);
    CHECK_STR(buf_text(&told_times), "3 5 7 9 ");
    perf_order_add(&q, &(struct perf_raw){ .body = cursor_of(times, 1) }, 0);
    CHECK_STR(buf_text(&told_times), "3 5 7 9 5 "); /* without a time: delivered at once */
    perf_order_release(&q);
    buf_release(&told_times);
}

TEST(perf_order_delivers_the_older_half_of_too_many_bytes)
{
    static const uint8_t times[] = { 6, 2, 8, 4, 9, 1 };
    struct buf told_times = { 0 };
    struct perf_queue q = { .deliver = note_time, .with = &told_times, .most_copied = 4 };

    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        perf_order_add(&q, &(struct perf_raw){ .body = cursor_of(&times[i], 1), .passing = true },
                       times[i]);
    CHECK_STR(buf_text(&told_times), "2 4 6 ");
    perf_order_until(&q, UINT64_MAX);
    CHECK_STR(buf_text(&told_times), "2 4 6 1 8 9 ");
    CHECK_EQ(q.copied, 0);
    perf_order_release(&q);
    buf_release(&told_times);
}

TEST(perf_order_keeps_records_of_one_time_as_they_came)
{
    static const uint8_t names[] = { 1, 2, 3, 4 };
    struct buf order = { 0 };
    struct perf_queue q = { .deliver = note_time, .with = &order };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        perf_order_add(&q, &(struct perf_raw){ .body = cursor_of(&names[i], 1) }, i == 3 ? 1 : 5);
    perf_order_until(&q, UINT64_MAX);
    CHECK_STR(buf_text(&order), "4 1 2 3 ");
    perf_order_release(&q);
    buf_release(&order);
}

/* --- waits --- */

enum { OUT = PERF_RECORD_MISC_SWITCH_OUT,
       TAKEN = PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT };

TEST(perf_engine_stamps_a_wait_with_its_beginning)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_switch(&r.b, 3000000, 10, 10, OUT);
    pb_switch(&r.b, 7000000, 10, 10, 0);
    CHECK_STR(told(&r, 8000000), "10/10 cpu 1000000+1000000 1000000 prog+1001\n"
                                 "10/10 wait 3000000+4000000 4000000 prog+1001 wait=unknown stack=guessed\n");
    CHECK_EQ(r.profile->metric.v[1].flags, METRIC_OFF_CPU | METRIC_EXACT);
    CHECK_EQ(r.e.waits.waits, 1);
    CHECK_EQ(r.e.waits.guessed, 1);
    finish(&r);
}

TEST(perf_engine_limits_the_weight_of_a_wait)
{
    struct run r;

    start(&r);
    pb_comm(&r.b, 1, 10, 10, "prog", true);
    pb_switch(&r.b, 2, 10, 10, OUT);
    pb_switch(&r.b, UINT64_MAX - 1, 10, 10, 0);
    told(&r, UINT64_MAX);
    CHECK_EQ(r.profile->sample.v[0].weight, INT64_MAX);
    finish(&r);
}

TEST(perf_engine_distinguishes_preemption_from_a_wait)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_switch(&r.b, 3000000, 10, 10, TAKEN);
    pb_switch(&r.b, 3500000, 10, 10, 0);
    CHECK_STR(told(&r, 8000000), "10/10 cpu 1000000+1000000 1000000 prog+1001\n"
                                 "10/10 wait 3000000+500000 500000 prog+1001 wait=run queue stack=guessed\n");
    /* Only a thread that waits is inspected later. */
    CHECK(!perf_process_find_thread(&r.e.processes, 10)->guessed);
    finish(&r);
}

TEST(perf_engine_ends_open_waits_with_the_recording)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 10, 10, 11, 10);
    pb_switch(&r.b, 3000000, 10, 10, OUT);
    pb_switch(&r.b, 4000000, 10, 11, OUT);
    pb_exit(&r.b, 3999999, 10, 11); /* ended: it does not wait */
    CHECK_STR(told(&r, 9000000), "10/10 wait 3000000+6000000 6000000  wait=unknown stack=guessed\n");
    finish(&r);
}

TEST(perf_engine_puts_a_wait_where_the_switch_was_sampled)
{
    struct run r;

    start(&r);
    r.b.attr[1].at_switch = r.b.attr[1].no_metric = true;
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_sample(&r.b, &(struct pb_sample){ .time = 2999999, .pid = 10, .event = 1,
                                         .chain = CHAIN(MARK_USER, CODE + 0x50) });
    pb_switch(&r.b, 3000000, 10, 10, OUT);
    pb_switch(&r.b, 7000000, 10, 10, 0);
    pb_switch(&r.b, 8000000, 10, 10, OUT); /* without a sample: the stack of the wait before */
    pb_switch(&r.b, 8500000, 10, 10, 0);
    CHECK_STR(told(&r, 9000000), "10/10 cpu 1000000+1000000 1000000 prog+1001\n"
                                 "10/10 wait 3000000+4000000 4000000 prog+1050 wait=unknown\n"
                                 "10/10 wait 8000000+500000 500000 prog+1050 wait=unknown stack=guessed\n");
    CHECK_EQ(r.e.waits.samples, 1);
    CHECK_EQ(r.e.waits.switches, 2);
    CHECK_EQ(r.e.waits.guessed, 1);
    CHECK_EQ(r.e.stacks.counts.all, 1); /* counts running threads only */
    finish(&r);
}

TEST(perf_engine_puts_a_long_wait_where_an_earlier_one_was_sampled)
{
    struct run r;

    start(&r);
    r.b.attr[1].at_switch = r.b.attr[1].no_metric = true;
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_sample(&r.b, &(struct pb_sample){ .time = 2999999, .pid = 10, .event = 1,
                                         .chain = CHAIN(MARK_USER, CODE + 0x50) });
    pb_switch(&r.b, 3000000, 10, 10, OUT);
    pb_switch(&r.b, 7000000, 10, 10, 0);
    pb_switch(&r.b, 8000000, 10, 10, OUT);
    pb_switch(&r.b, 14000000, 10, 10, 0);
    CHECK_STR(told(&r, 15000000), "10/10 cpu 1000000+1000000 1000000 prog+1001\n"
                                  "10/10 wait 3000000+4000000 4000000 prog+1050 wait=unknown\n"
                                  "10/10 wait 8000000+6000000 6000000 prog+1050 wait=unknown stack=guessed\n");
    finish(&r);
}

/* A stack on which a function of the program waits: its frame pointer leads to the root. */
static void look(struct run *r, uint64_t time, const char *word, uint64_t pc)
{
    struct perf_record s = { .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .pid = 10,
                             .tid = 10, .cpu = -1, .time_ns = time, .ip = pc,
                             .attr = r->e.attrs.v.v[1], .waits_for = word };

    perf_engine_record(&r->e, &s);
}

static void switches(struct run *r, uint64_t time, uint16_t misc, const char *word)
{
    struct perf_record s = { .type = PERF_RECORD_SWITCH, .misc = misc, .pid = 10, .tid = 10,
                             .time_ns = time, .waits_for = word };

    perf_engine_record(&r->e, &s);
}

TEST(perf_engine_puts_a_wait_where_a_look_saw_it)
{
    struct run r;

    start(&r);
    r.b.attr[1].in_wait = r.b.attr[1].no_metric = true;
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_attrs(&r.b, &r.e);
    pb_feed(&r.b, &r.e, 0);
    switches(&r, 3000000, OUT, "sleep");
    look(&r, 4000000, "sleep", CODE + 0x50);
    switches(&r, 7000000, 0, NULL);
    switches(&r, 8000000, OUT, "sleep"); /* without a look: as before */
    switches(&r, 8500000, 0, NULL);
    switches(&r, 9000000, OUT, "futex"); /* another call: somewhere else */
    switches(&r, 9500000, 0, NULL);
    look(&r, 9200000, "futex", CODE + 0x60); /* too late for that wait */
    switches(&r, 10000000, OUT, NULL);
    switches(&r, 10500000, 0, NULL);
    switches(&r, 11000000, OUT, "read");
    look(&r, 10900000, "futex", CODE + 0x60); /* of an earlier wait */
    switches(&r, 11500000, 0, NULL);
    CHECK_EQ(sink_end(r.in.out, &(struct err){ 0 }), 0);
    perf_text(r.profile, &r.text);
    CHECK_STR(buf_text(&r.text),
              "10/10 cpu 1000000+1000000 1000000 prog+1001\n"
              "10/10 wait 3000000+4000000 4000000 prog+1050 wait=sleep\n"
              "10/10 wait 8000000+500000 500000 prog+1050 wait=sleep stack=guessed\n"
              "10/10 wait 9000000+500000 500000 prog+1050 wait=futex stack=guessed\n"
              "10/10 wait 10000000+500000 500000 prog+1060 wait=futex stack=guessed\n"
              "10/10 wait 11000000+500000 500000 prog+1060 wait=read stack=guessed\n");
    CHECK_EQ(r.e.counts.samples, 1);
    CHECK_EQ(r.e.stacks.counts.all, 1); /* counts running threads only */
    finish(&r);
}

TEST(perf_engine_does_not_count_a_running_thread_as_waiting)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_switch(&r.b, 3000000, 10, 10, OUT); /* the record of its return is lost */
    pb_chain(&r.b, 5000000, 10, CHAIN(CODE + 1));
    pb_switch(&r.b, 7000000, 10, 10, 0);
    pb_switch(&r.b, 7500000, 0, 0, OUT); /* the idle thread */
    CHECK_STR(told(&r, 9000000), "10/10 cpu 4000000+1000000 1000000 prog+1001\n");
    finish(&r);
}

TEST(perf_engine_distinguishes_processes_with_the_same_pid)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_exit(&r.b, 2500000, 10, 10);
    pb_sample(&r.b, &(struct pb_sample){ .time = 4000000, .pid = 10, .tid = 12, .period = 1,
                                         .chain = CHAIN(MARK_USER, CODE + 1) }); /* another one */
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 prog+1001\n"
                           "10/12 cpu 3999999+1 1 ?+400001\n");
    CHECK_EQ(r.profile->process.n, 2);
    CHECK_EQ(r.profile->process.v[0].end_ns, 2500000);
    finish(&r);
}

TEST(perf_engine_assigns_a_reused_tid_to_its_current_process)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 10, 10, 30, 10);
    pb_comm(&r.b, 6, 20, 20, "other", true);
    pb_sample(&r.b, &(struct pb_sample){ .time = 2000000, .pid = 10, .tid = 30, .period = 1,
                                         .chain = CHAIN(MARK_USER, CODE + 1) });
    pb_sample(&r.b, &(struct pb_sample){ .time = 3000000, .pid = 20, .tid = 30, .period = 1,
                                         .chain = CHAIN(MARK_USER, CODE + 1) });
    CHECK_STR(told(&r, 0), "10/30 cpu 1999999+1 1 prog+1001\n"
                           "20/30 cpu 2999999+1 1 ?+400001\n");
    finish(&r);
}

TEST(perf_engine_joins_nothing_to_a_stack_that_was_cut_itself)
{
    struct run r;

    start_walks(&r);
    walked(&r, 2000000, CODE + 0x10, 4);
    walked(&r, 3000000, CODE + 0x20, 4);
    told(&r, 0);
    CHECK_EQ(r.e.stacks.counts.joined, 0);
    CHECK_EQ(r.e.stacks.counts.cut, 2);
    finish(&r);
}

/* The record of a switch may arrive after the sample of the next one. */
TEST(perf_engine_ignores_the_sample_of_a_later_switch)
{
    struct run r;

    start(&r);
    r.b.attr[1].at_switch = r.b.attr[1].no_metric = true;
    pb_attrs(&r.b, &r.e);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_sample(&r.b, &(struct pb_sample){ .time = 2999999, .pid = 10, .event = 1,
                                         .chain = CHAIN(MARK_USER, CODE + 0x50) });
    pb_switch(&r.b, 2500000, 10, 10, OUT);
    pb_switch(&r.b, 2600000, 10, 10, 0);
    pb_switch(&r.b, 3000000, 10, 10, OUT);
    pb_switch(&r.b, 3100000, 10, 10, 0);
    for (size_t i = 0; i < r.b.record.n; i++) {
        struct perf_raw raw = pb_raw(&r.b, i);

        perf_engine_add(&r.e, &raw);
        perf_engine_until(&r.e, UINT64_MAX);
    }
    perf_text(r.profile, &r.text);
    CHECK_STR(buf_text(&r.text),
              "10/10 cpu 1000000+1000000 1000000 prog+1001\n"
              "10/10 wait 2500000+100000 100000 prog+1050 wait=unknown stack=guessed\n"
              "10/10 wait 3000000+100000 100000 prog+1050 wait=unknown\n");
    finish(&r);
}

/* The path of a perf map in the folder of this test, which holds TEXT. */
static const char *map_of_names(const char *text)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/perf-1.map", test_dir());
    test_write(path, text, strlen(text));
    return path;
}

TEST(perf_engine_looks_kernel_callers_up_before_the_return)
{
    struct run r;

    start(&r);
    r.b.attr[1].at_switch = r.b.attr[1].no_metric = true;
    snprintf(r.e.stacks.kernel_path, sizeof r.e.stacks.kernel_path, "%s",
             map_of_names("81000000 10 schedule\n81000010 10 futex_wait\n81000020 10 do_sys_poll\n"));
    r.e.stacks.kernel_shift = 0x81000000 - KERNEL(0);
    start_program(&r, 10);
    pb_sample(&r.b, &(struct pb_sample){ .time = 2999999, .pid = 10, .event = 1, .kernel = true,
                                         .chain = CHAIN(MARK_KERNEL, KERNEL(8), KERNEL(0x20),
                                                        MARK_USER, CODE + 0x50) });
    pb_switch(&r.b, 3000000, 10, 10, OUT);
    pb_switch(&r.b, 3100000, 10, 10, 0);
    CHECK_STR(told(&r, 9000000), "10/10 wait 3000000+100000 100000 prog+1050 wait=futex\n");
    finish(&r);
}

/* A frame of the only module, where N frame-pointer chains ended. */
static void chains_end(struct run *r, uint64_t address, uint32_t flags, uint64_t n)
{
    uint32_t id = intern_frame(&r->in, &(struct frame){ .kind = FRAME_NATIVE, .module = 1,
                                                        .flags = (uint16_t)flags,
                                                        .address = address });

    umap_put(&r->e.stacks.ends, id, n);
}

TEST(perf_names_take_a_chain_for_complete_if_a_root_made_the_call)
{
    struct sym_resolve names;
    struct run r;

    start(&r);
    intern_path(&r.in, intern_cstr(&r.in, map_of_names("1000 10 _start\n1010 10 main\n"
                                                       "1020 10 start_thread\n")));
    chains_end(&r, 0x1010, FRAME_RETURN, 1); /* called by the last instruction of _start */
    chains_end(&r, 0x1010, 0, 2);
    chains_end(&r, 0x1020, FRAME_RETURN, 4); /* called by main */
    chains_end(&r, 0x1020, 0, 8);
    r.e.stacks.counts = (struct perf_stack_counts){ .all = 20, .complete = 5, .lost = 15,
                                                        .chains = 12 };
    perf_names(&r.e, &names);
    CHECK_EQ(r.e.stacks.counts.complete, 5 + 1 + 8);
    CHECK_EQ(r.e.stacks.counts.lost, 15 - 1 - 8);
    CHECK_EQ(r.e.stacks.counts.chains, 12 - 1 - 8);
    sym_resolve_release(&names);
    finish(&r);
}

TEST(perf_names_unpack_the_debug_files_of_hot_modules_only)
{
    static const char *const paths[] = { "/nonexistent/hot", "/nonexistent/cold", "/nonexistent/even" };
    static const uint64_t weights[] = { 61, 19, 20 };
    struct sym_resolve names;
    struct run r;

    start(&r);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t id = intern_module(&r.in, &(struct module){ .kind = MODULE_FILE,
                                                             .path = intern_cstr(&r.in, paths[i]) });

        intern_frame(&r.in, &(struct frame){ .kind = FRAME_NATIVE, .module = id, .address = 1 });
        vec_push(&r.e.self, weights[i]);
    }
    perf_names(&r.e, &names);
    CHECK(!sym_resolve_facts(&names, 1)->quick);
    CHECK(sym_resolve_facts(&names, 2)->quick);
    CHECK(!sym_resolve_facts(&names, 3)->quick);
    sym_resolve_release(&names);
    finish(&r);
}

static int open_this_program(const struct perf_mapping *w)
{
    return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

TEST(perf_modules_unwind_by_the_mapped_file_only)
{
    static const struct perf_host host = { .open = open_this_program };
    struct perf_mapping w = { .path = "/made/prog", .root_fd = -1, .device = 1, .inode = 5 };
    uint8_t id[20];
    struct perf_module *m;
    struct run r;

    start(&r);
    r.e.modules.host = &host;
    m = perf_module_get(&r.e.modules, perf_module_number(&r.e.modules, &w));
    perf_module_load(&r.e.modules, m);
    CHECK(m->table != NULL);
    CHECK_EQ(m->build_id_size, sizeof id); /* of the file */
    memcpy(id, m->build_id, sizeof id);
    id[0] ^= 1;
    w.build_id = id;
    w.build_id_size = sizeof id;
    m = perf_module_get(&r.e.modules, perf_module_number(&r.e.modules, &w));
    perf_module_load(&r.e.modules, m);
    CHECK(m->table == NULL); /* replaced since it was mapped */
    id[0] ^= 1;
    m = perf_module_get(&r.e.modules, perf_module_number(&r.e.modules, &w));
    perf_module_load(&r.e.modules, m);
    CHECK(m->table != NULL);
    finish(&r);
}

TEST(perf_modules_are_identified_by_device_inode_and_build_id)
{
    static const uint8_t one[20] = { 1 }, two[20] = { 2 };
    struct run r;
    struct perf_mapping w = { .path = PROG, .root_fd = -1, .device = 1, .inode = 5 };

    start(&r);
    CHECK_EQ(perf_module_number(&r.e.modules, &w), 1);
    CHECK_EQ(perf_module_number(&r.e.modules, &w), 1);
    w.device = 2;
    CHECK_EQ(perf_module_number(&r.e.modules, &w), 2);
    w.inode = 6;
    CHECK_EQ(perf_module_number(&r.e.modules, &w), 3);
    w.build_id = one;
    w.build_id_size = sizeof one;
    CHECK_EQ(perf_module_number(&r.e.modules, &w), 4);
    w.build_id = two;
    CHECK_EQ(perf_module_number(&r.e.modules, &w), 5);
    w.build_id = one;
    CHECK_EQ(perf_module_number(&r.e.modules, &w), 4);
    finish(&r);
}

TEST(perf_engine_weighs_a_group_by_the_increase_of_its_counters)
{
    static const uint64_t values[] = { 50, 80, 80, 95 };
    struct run r;
    uint64_t words[3] = { 1, 0, 100 }; /* one counter: value, id */
    struct perf_record sample = { .type = PERF_RECORD_SAMPLE, .pid = 10, .tid = 10, .cpu = -1,
                                  .read = { (const unsigned char *)words, 3 } };

    start(&r);
    pb_attrs(&r.b, &r.e);
    sample.attr = r.e.attrs.v.v[0];
    r.e.attrs.v.v[0]->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        words[1] = values[i];
        sample.time_ns = 1000 * (i + 1);
        perf_engine_record(&r.e, &sample);
    }
    CHECK_EQ(r.profile->sample.n, 3); /* one with a count of 0 */
    CHECK_EQ(r.profile->sample.v[0].weight, 50);
    CHECK_EQ(r.profile->sample.v[1].weight, 30);
    CHECK_EQ(r.profile->sample.v[2].weight, 15);
    CHECK_EQ(r.e.counts.first_ns, 1000);
    CHECK_EQ(r.e.counts.last_ns, 4000);
    finish(&r);
}

TEST(perf_engine_completes_a_sample_by_the_later_record_of_its_own_thread)
{
    const uint64_t chain[] = { MARK_KERNEL, KERNEL(1), (uint64_t)PERF_CONTEXT_USER_DEFERRED_, 7 };
    const uint64_t user[] = { 0x400010 };
    struct run r;
    struct perf_record sample = { .type = PERF_RECORD_SAMPLE, .pid = 10, .cpu = -1, .period = 1,
                                  .misc = PERF_RECORD_MISC_KERNEL,
                                  .chain = { (const unsigned char *)chain, 4 } };
    struct perf_record later = { .type = PERF_RECORD_CALLCHAIN_DEFERRED_, .pid = 10, .tid = 11,
                                 .cookie = 7, .chain = { (const unsigned char *)user, 1 } };

    start(&r);
    pb_attrs(&r.b, &r.e);
    sample.attr = later.attr = r.e.attrs.v.v[0];
    for (sample.tid = 10; sample.tid <= 11; sample.tid++)
        perf_engine_record(&r.e, &sample); /* both are pending, with the same cookie */
    CHECK_EQ(r.profile->sample.n, 0);
    perf_engine_record(&r.e, &later);
    CHECK_EQ(r.profile->sample.n, 1);
    CHECK_EQ(r.profile->thread.v[r.profile->sample.v[0].thread - 1].tid, 11);
    perf_engine_finish(&r.e, 0); /* the record of the other thread is missing */
    CHECK_EQ(r.profile->sample.n, 2);
    perf_text(r.profile, &r.text);
    CHECK_STR(buf_text(&r.text), "10/11 cpu 0+0 1 ?+400010;[kernel]+ffffffff81000001\n"
                                 "10/10 cpu 0+0 1 [kernel]+ffffffff81000001\n");
    finish(&r);
}

TEST(perf_engine_passes_over_the_losses_of_a_group)
{
    struct run r;
    uint64_t words[7] = { 2, 50, 100, 3, 20, 101, 4 }; /* two counters: value, id, lost */
    struct perf_record sample = { .type = PERF_RECORD_SAMPLE, .pid = 10, .tid = 10, .cpu = -1,
                                  .time_ns = 1000, .read = { (const unsigned char *)words, 7 } };

    start(&r);
    pb_attrs(&r.b, &r.e);
    sample.attr = r.e.attrs.v.v[0];
    r.e.attrs.v.v[0]->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
    perf_engine_record(&r.e, &sample);
    CHECK_EQ(r.profile->sample.n, 2);
    CHECK_EQ(r.profile->sample.v[0].weight, 50);
    CHECK_EQ(r.profile->sample.v[1].weight, 20);
    CHECK_EQ(r.profile->sample.v[1].metric, 2);
    finish(&r);
}

TEST(perf_engine_expects_samples_of_the_events_of_a_group_that_occurred)
{
    struct run r;
    uint64_t words[6] = { 100, 2, 0, 100, 7, 101 }; /* id of the leader, two values with ids */
    struct perf_raw raw = { .type = PERF_RECORD_SAMPLE, .body = cursor_of(words, sizeof words) };
    struct perf_raw other = { .type = PERF_RECORD_COMM, .body = raw.body };

    start(&r);
    pb_attrs(&r.b, &r.e);
    for (size_t i = 0; i < 2; i++) {
        r.e.attrs.v.v[i]->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ;
        r.e.attrs.v.v[i]->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    }
    CHECK(!perf_engine_expect(&r.e, &other));
    CHECK(perf_engine_expect(&r.e, &raw));
    CHECK(!perf_engine_expect(&r.e, &raw));
    CHECK(!r.e.attrs.v.v[0]->expected && r.e.attrs.v.v[1]->expected);
    words[2] = 1;
    CHECK(perf_engine_expect(&r.e, &raw));
    CHECK(r.e.attrs.v.v[0]->expected);
    CHECK_EQ(r.profile->sample.n + r.profile->metric.n, 0);
    finish(&r);
}

TEST(perf_engine_counts_a_sample_without_a_period_as_one)
{
    struct run r;
    struct perf_record sample = { .type = PERF_RECORD_SAMPLE, .pid = 10, .tid = 10, .cpu = -1,
                                  .time_ns = 5000 };

    start(&r);
    pb_attrs(&r.b, &r.e);
    sample.attr = r.e.attrs.v.v[1];
    perf_engine_record(&r.e, &sample);
    sample.time_ns = 3000;
    perf_engine_record(&r.e, &sample);
    CHECK_EQ(r.profile->sample.v[0].weight, 1);
    CHECK_EQ(r.e.counts.first_ns, 3000);
    CHECK_EQ(r.e.counts.last_ns, 5000);
    finish(&r);
}

TEST(perf_engine_names_a_process_after_its_main_thread)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 10, 10, 11, 10);
    pb_comm(&r.b, 6, 10, 11, "worker", false);
    pb_chain(&r.b, 2000000, 0, CHAIN(CODE + 1));
    pb_chain(&r.b, 3000000, UINT32_MAX, CHAIN(CODE + 1)); /* all but gone */
    told(&r, 0);
    CHECK_STR(profile_string(r.profile, r.profile->process.v[0].name), "prog");
    CHECK_STR(profile_string(r.profile, r.profile->thread.v[1].name), "worker");
    CHECK_EQ(r.profile->thread.v[1].start_ns, 5);
    CHECK_STR(profile_string(r.profile, r.profile->process.v[1].name), "swapper");
    CHECK_STR(profile_string(r.profile, r.profile->process.v[2].name), "[ended]");
    finish(&r);
}

static long newest_name(int64_t pid, int64_t tid, char *name, size_t cap)
{
    static int asked;

    return snprintf(name, cap, asked++ ? "late" : "early");
}

/* Its records are applied when it has executed another program already. */
TEST(perf_engine_names_a_noted_process_as_when_it_was_noted)
{
    static const struct perf_host host = { .comm = newest_name };
    struct run r;

    start(&r);
    r.e.modules.host = &host;
    perf_process_note(&r.e.processes, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_comm(&r.b, 3000000, 10, 10, "late", true);
    pb_chain(&r.b, 4000000, 10, CHAIN(CODE + 1));
    told(&r, 0);
    CHECK_STR(owners(&r), "early/early 1000000\nlate/late 1000000\n");
    finish(&r);
}

static long command_of(int64_t pid, char *text, size_t cap)
{
    static int asked;

    return asked++ ? -1 : snprintf(text, cap, "prog --fast");
}

TEST(perf_engine_gives_the_command_line_only_to_the_program_that_had_it)
{
    static const struct perf_host host = { .command = command_of };
    struct run r;

    start(&r);
    r.e.modules.host = &host;
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_fork(&r.b, 2500000, 20, 10, 20, 10);
    pb_fork(&r.b, 2600000, 30, 20, 30, 20);
    pb_chain(&r.b, 4000000, 20, CHAIN(CODE + 1)); /* still the program of its parent */
    pb_comm(&r.b, 5000000, 10, 10, "other", true); /* its command line is not known */
    pb_chain(&r.b, 6000000, 30, CHAIN(CODE + 1));
    pb_fork(&r.b, 6100000, 40, 30, 40, 30);
    pb_comm(&r.b, 6200000, 40, 40, "child", true);
    pb_chain(&r.b, 7000000, 40, CHAIN(CODE + 1));
    told(&r, 0);
    CHECK_STR(profile_string(r.profile, r.profile->process.v[0].command), "prog --fast");
    CHECK_STR(profile_string(r.profile, r.profile->process.v[1].command), "prog --fast");
    CHECK_EQ(r.profile->process.v[2].pid, 30); /* a child of a child */
    CHECK_STR(profile_string(r.profile, r.profile->process.v[2].command), "prog --fast");
    CHECK_STR(profile_string(r.profile, r.profile->process.v[3].command), "");
    CHECK_EQ(r.profile->process.v[4].pid, 40);
    CHECK_STR(profile_string(r.profile, r.profile->process.v[4].command), "");
    finish(&r);
}

TEST(perf_engine_follows_a_file_that_is_mapped_again_at_another_offset)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_map(&r.b, 2500000, 10, CODE, PAGE, 3 * PAGE, PROG);
    pb_chain(&r.b, 3000000, 10, CHAIN(CODE + 1));
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 prog+1001\n"
                           "10/10 cpu 2000000+1000000 1000000 prog+3001\n");
    finish(&r);
}

TEST(perf_engine_takes_a_hypervisor_for_a_kernel)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_sample(&r.b, &(struct pb_sample){ .time = 2000000, .pid = 10, .kernel = true,
                                         .chain = CHAIN((uint64_t)PERF_CONTEXT_HV, KERNEL(1),
                                                        KERNEL(2), MARK_USER, CODE + 1) });
    CHECK_STR(told(&r, 0), "10/10 cpu 1000000+1000000 1000000 "
                           "prog+1001;[kernel]+ffffffff81000002r;[kernel]+ffffffff81000001\n");
    finish(&r);
}

TEST(perf_engine_prefers_a_page_fault_to_the_disk_it_needs)
{
    struct run r;

    start(&r);
    r.b.attr[1].at_switch = r.b.attr[1].no_metric = true;
    snprintf(r.e.stacks.kernel_path, sizeof r.e.stacks.kernel_path, "%s",
             map_of_names("81000000 10 io_schedule\n81000010 10 exc_page_fault\n"
                          "81000020 10 vfs_read\n"));
    r.e.stacks.kernel_shift = 0x81000000 - KERNEL(0);
    start_program(&r, 10);
    pb_sample(&r.b, &(struct pb_sample){ .time = 2999999, .pid = 10, .event = 1, .kernel = true,
                                         .chain = CHAIN(MARK_KERNEL, KERNEL(8), KERNEL(0x18),
                                                        KERNEL(0x28), MARK_USER, CODE + 1) });
    pb_switch(&r.b, 3000000, 10, 10, OUT);
    pb_switch(&r.b, 3100000, 10, 10, 0);
    CHECK_STR(told(&r, 9000000), "10/10 wait 3000000+100000 100000 prog+1001 wait=page fault\n");
    finish(&r);
}

TEST(perf_engine_keeps_a_wait_that_begins_with_a_sample_and_drops_those_of_ended_threads)
{
    struct run r;

    start(&r);
    start_program(&r, 10);
    pb_fork(&r.b, 5, 10, 10, 11, 10);
    pb_switch(&r.b, 3000000, 10, 10, OUT);
    pb_chain(&r.b, 3000000, 10, CHAIN(CODE + 1)); /* taken while it left */
    pb_switch(&r.b, 4000000, 10, 10, 0);
    pb_exit(&r.b, 5000000, 10, 11);
    pb_switch(&r.b, 5000001, 10, 11, OUT);
    pb_switch(&r.b, 5500000, 10, 11, 0);
    CHECK_STR(told(&r, 9000000),
              "10/10 cpu 2000000+1000000 1000000 prog+1001\n"
              "10/10 wait 3000000+1000000 1000000 prog+1001 wait=unknown stack=guessed\n");
    finish(&r);
}

/* Another look at the thread may have found it elsewhere. */
TEST(perf_engine_puts_only_short_waits_where_the_thread_was_seen_to_wait)
{
    struct perf_thread *t;
    struct run r;

    start(&r);
    pb_attrs(&r.b, &r.e);
    start_program(&r, 10);
    pb_chain(&r.b, 2000000, 10, CHAIN(CODE + 1));
    pb_chain(&r.b, 3000000, 10, CHAIN(CODE + 2));
    pb_feed(&r.b, &r.e, 0);
    t = perf_process_thread(&r.e.processes, 10, 10);
    t->block_stack = r.profile->sample.v[0].stack;
    t->block_word = intern_cstr(&r.in, "futex");
    for (uint64_t i = 0; i < 2; i++) {
        struct perf_record s = { .type = PERF_RECORD_SWITCH, .misc = OUT, .pid = 10, .tid = 10,
                                 .time_ns = 10000000 + i * 10000000 };

        perf_engine_record(&r.e, &s);
        s.misc = 0;
        s.time_ns += 2 * PERF_WAIT_LONG_NS - 1 + i;
        perf_engine_record(&r.e, &s);
    }
    CHECK_EQ(r.profile->sample.v[2].stack, r.profile->sample.v[0].stack);
    CHECK_EQ(r.profile->sample.v[3].stack, r.profile->sample.v[1].stack);
    finish(&r);
}
