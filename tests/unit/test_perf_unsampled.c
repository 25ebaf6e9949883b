/* test_perf_unsampled.c - CPU time without samples, and whose it is.
 * SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_unsampled.h"

#include "base/buf.h"
#include "profile/profile.h"
#include "test.h"

enum { MS = 1000000, STOP = 1000 * MS, THREADS = 4 };

static struct profile *profile;
static struct intern in;
static struct perf_modules modules;
static struct perf_processes p;
static struct perf_thread *thread[THREADS];

/* Process 10 with its first thread, which lives long, and others that it created: they live for 2,
 * 100 and 1 ms. */
static void start(void)
{
    static const uint64_t end_ns[THREADS] = { 0, 2 * MS, 100 * MS, MS };

    profile = profile_new();
    intern_init(&in, profile_sink(profile));
    perf_module_init(&modules, &in, &perf_host_none);
    perf_process_init(&p, &in, &modules);
    for (int i = 0; i < THREADS; i++) {
        thread[i] = perf_process_thread(&p, 10, 10 + i);
        thread[i]->since_ns = 0;
        thread[i]->info.end_ns = end_ns[i];
        thread[i]->parent = i ? thread[0] : NULL;
    }
    sink_metric(in.out, &(struct metric){ .name = intern_cstr(&in, "cpu") });
}

/* Add MISSING_MS without samples, of which lost samples stand for LOST_MS, and return what each
 * thread got, in us. */
static const char *shares_of(uint64_t sampled_ms, uint64_t missing_ms, uint64_t lost_ms,
                             bool some_unknown)
{
    static struct buf text;

    perf_unsampled_add(&p, &(struct perf_unsampled){
        .metric = 1, .period_ns = 10 * MS, .stop_ns = STOP, .sampled_ns = sampled_ms * MS,
        .unsampled_ns = missing_ms * MS, .lost_ns = lost_ms * MS, .some_unknown = some_unknown });
    CHECK_EQ(sink_end(in.out, NULL), 0);
    text.n = 0;
    for (size_t i = 0; i < profile->sample.n; i++) {
        const struct profile_sample *x = &profile->sample.v[i];

        buf_printf(&text, "%s%d: %d", i ? ", " : "", (int)profile->thread.v[x->thread - 1].tid,
                   (int)((x->weight + 500) / 1000));
    }
    perf_process_release(&p);
    perf_module_release(&modules);
    intern_release(&in);
    profile_free(profile);
    return buf_text(&text);
}

static const char *shares(uint64_t missing_ms, uint64_t lost_ms, bool some_unknown)
{
    return shares_of(500, missing_ms, lost_ms, some_unknown);
}

TEST(perf_unsampled_time_is_a_period_of_each_thread_at_most)
{
    start();
    CHECK_STR(shares(60, 0, true), "10: 47000, 11: 2000, 12: 10000, 13: 1000");
}

TEST(perf_unsampled_time_is_shared_equally_if_all_have_room)
{
    start();
    CHECK_STR(shares(60, 45, false), "10: 6000, 11: 2000, 12: 6000, 13: 1000");
}

TEST(perf_unsampled_time_beyond_that_belongs_to_those_who_created_threads_without_samples)
{
    start();
    thread[1]->sampled_ns = MS;
    thread[3]->parent = thread[2];
    CHECK_STR(shares(60, 0, false), "10: 29000, 11: 1000, 12: 29000, 13: 1000");
    start();
    thread[2]->info.end_ns = 15 * MS; /* it cannot have used more */
    thread[3]->parent = thread[2];
    CHECK_STR(shares(80, 0, false), "10: 48000, 11: 2000, 12: 15000, 13: 1000");
}

TEST(perf_unsampled_time_belongs_to_the_first_thread_if_nothing_was_sampled)
{
    start();
    thread[0]->info.end_ns = 12 * MS; /* its events ended when it executed a setuid program */
    CHECK_STR(shares_of(0, 60, 0, false), "10: 47000, 11: 2000, 12: 10000, 13: 1000");
}

TEST(perf_unsampled_time_that_is_noise_or_lost_is_not_shown)
{
    start();
    CHECK_STR(shares(50, 0, true), "");
    start();
    CHECK_STR(shares(60, 60, true), "");
}
