/* test_slices.c - convert samples to calls.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/slices.h"

#include <stdio.h>
#include <string.h>

#include "analyze/an_tags.h"
#include "build_profile.h"
#include "profile/limits.h"
#include "test.h"

enum { MS = 1000000, START = 1000 /* where the clock of build_profile starts */ };

struct made {
    struct profile *p;
    struct an_labels labels;
    struct timeline line;
    struct slices slices;
};

static void convert(struct made *m, bool with_waits)
{
    struct an_view v;

    an_labels_init(&m->labels, m->p);
    CHECK_EQ(an_view_open(&v, m->p, NULL, with_waits ? AN_VIEW_BOTH : AN_VIEW_PLAIN, NULL), 0);
    timeline_build(&m->line, &v, TIMELINE_TAGS);
    an_view_release(&v);
    slices_init(&m->slices);
    for (size_t i = 0; i < m->line.run.n; i++)
        CHECK_EQ(slices_add(&m->slices, &m->labels, &m->line, &m->line.run.v[i], true, NULL), 0);
}

static void make(struct made *m, const char *lines, bool with_waits)
{
    memset(m, 0, sizeof *m);
    m->p = build_profile(lines);
    an_waits_draw(m->p);
    convert(m, with_waits);
}

static void release(struct made *m)
{
    slices_release(&m->slices);
    timeline_release(&m->line);
    an_labels_release(&m->labels);
    profile_free(m->p);
}

static uint64_t time_in(const struct made *m, const char *name)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < m->slices.v.n; i++)
        if (strcmp(an_labels_get(&m->labels, m->slices.v.v[i].label).name, name) == 0)
            sum += m->slices.v.v[i].duration_ns;
    return sum;
}

TEST(slices_last_as_long_as_the_samples_weigh)
{
    struct made m;

    /* evenly, late, after a gap, too early, at the same time */
    make(&m,
         "a/t@0.001 main;f 1000000\na/t@0.0020 main;f 1000000\na/t@0.0034 main;g 1000000\n"
         "a/t@0.0200 main;f 1000000\na/t@0.0203 main;f 1000000\na/t@0.0203 main;g 1000000\n",
         false);
    CHECK_EQ(time_in(&m, "main"), 6 * MS);
    CHECK_EQ(time_in(&m, "f"), 4 * MS);
    CHECK_EQ(time_in(&m, "g"), 2 * MS);
    release(&m);
}

/* "NAME START-END TAGS" of each call, in milliseconds. */
static const char *calls_of(const struct made *m)
{
    static char text[512];
    size_t n = 0;

    text[0] = 0;
    for (size_t i = 0; i < m->slices.v.n; i++) {
        const struct slice *x = &m->slices.v.v[i];

        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %d-%d %u", i ? ", " : "",
                              an_labels_get(&m->labels, x->label).name,
                              (int)((x->start_ns - START) / MS),
                              (int)((x->start_ns + x->duration_ns - START) / MS), x->tags);
    }
    return text;
}

TEST(slices_end_where_the_tags_of_their_samples_change)
{
    static const uint32_t tags[] = { 1, 1, 2, 2, 0, 1 };
    struct made m = { .p = build_profile("a/t@0.001 main;f 1000000\na/t@0.002 main;f 1000000\n"
                                         "a/t@0.003 main;f 1000000\na/t@0.004 main 1000000\n"
                                         "a/t@0.005 main 1000000\na/t@0.006 main;f 1000000\n") };

    for (int64_t i = 0; i < 2; i++)
        sink_tag(profile_sink(m.p), &(struct tag){ .value = i });
    for (size_t i = 0; i < m.p->sample.n; i++)
        m.p->sample.v[i].tags = tags[i];
    convert(&m, false);
    CHECK_STR(calls_of(&m), "main 0-3 0, f 0-2 1, f 2-3 2, main 3-4 2, main 4-6 0, f 5-6 1");
    release(&m);
}

TEST(slices_without_times_are_summed_by_stack_and_tags)
{
    static const uint32_t tags[] = { 2, 1, 2 };
    struct made m = { .p = build_profile("a/t main;f 1000000\na/t main;f 2000000\n"
                                         "a/t main;f 3000000\n") };

    for (int64_t i = 0; i < 2; i++)
        sink_tag(profile_sink(m.p), &(struct tag){ .value = i });
    for (size_t i = 0; i < m.p->sample.n; i++)
        m.p->sample.v[i].tags = tags[i];
    convert(&m, false);
    CHECK_EQ(m.slices.v.n, 3);
    CHECK_EQ(m.slices.v.v[0].duration_ns, 6 * MS);
    CHECK_EQ(m.slices.v.v[1].tags, 1);
    CHECK_EQ(m.slices.v.v[1].duration_ns, 2 * MS);
    CHECK_EQ(m.slices.v.v[2].tags, 2);
    CHECK_EQ(m.slices.v.v[2].duration_ns, 4 * MS);
    release(&m);
}

TEST(slices_close_small_gaps_and_keep_large_ones)
{
    struct made m;
    size_t mains = 0;

    make(&m,
         "a/t@0.001 main 1000000\na/t@0.0024 main 1000000\na/t@0.0200 main 1000000\n", false);
    for (size_t i = 0; i < m.slices.v.n; i++)
        mains += m.slices.v.v[i].depth == 0;
    CHECK_EQ(mains, 2);
    CHECK_EQ(m.slices.v.v[0].start_ns, START);
    CHECK_EQ(m.slices.v.v[1].start_ns, 19 * MS + START);
    release(&m);
}

/* The thread runs 1 ms, waits from 1 to 41 ms and runs again, all in one call of main. */
TEST(slices_show_waiting_where_it_was_measured)
{
    static const char lines[] = "a/t@0.001 main;work 1000000\na/t@0.001 main;lock;[futex] 40000000w\n"
                                "a/t@0.042 main;work 1000000\na/t@0.043 main;work 1000000\n";
    struct made m;

    make(&m, lines, true);
    CHECK_EQ(time_in(&m, "main"), 43 * MS);
    CHECK_EQ(time_in(&m, "[futex]"), 40 * MS);
    CHECK_EQ(time_in(&m, "work"), 3 * MS);
    CHECK_EQ(m.slices.v.v[0].duration_ns, 43 * MS);
    CHECK_EQ(m.slices.v.v[2].start_ns, MS + START);
    release(&m);
    make(&m, lines, false);
    CHECK_EQ(time_in(&m, "main"), 3 * MS);
    CHECK_EQ(time_in(&m, "[futex]"), 0);
    release(&m);
}

/* A sample covers CPU time before and after a short wait. */
TEST(slices_stay_together_over_waits_shorter_than_a_sample)
{
    struct made m;

    make(&m,
         "a/t@0.001 main;work 1000000\na/t@0.0017 main;[futex] 20000w\n"
         "a/t@0.00202 main;work 1000000\na/t@0.00302 main;work 1000000\n",
         true);
    CHECK_EQ(m.slices.v.v[0].duration_ns, 3 * MS + 20000);
    CHECK_EQ(time_in(&m, "work"), 3 * MS);
    release(&m);
}

TEST(slices_of_samples_at_one_time_lie_side_by_side)
{
    struct made m;

    make(&m, "a/t@0.5 main;f 300\na/t@0.5 main;g 200\na/t@0.5 main;f 100\n", false);
    CHECK_EQ(m.slices.v.n, 3);
    CHECK_EQ(m.slices.v.v[0].start_ns, 500 * MS + START);
    CHECK_EQ(m.slices.v.v[0].duration_ns, 600);
    CHECK_EQ(time_in(&m, "f"), 400);
    release(&m);
}

/* Convert the only run of LINES with smaller limits. */
static int convert_within(const char *lines, bool is_time, uint64_t most, uint64_t most_sorted,
                          struct err *e)
{
    struct made m;
    int rc;

    make(&m, lines, false);
    slices_release(&m.slices);
    slices_init(&m.slices);
    CHECK(m.slices.most == LIMIT_SLICES && m.slices.most_sorted == LIMIT_SORTED_FRAMES);
    m.slices.most = most;
    m.slices.most_sorted = most_sorted;
    CHECK_EQ(m.line.run.n, 1);
    *e = (struct err){ 0 };
    rc = slices_add(&m.slices, &m.labels, &m.line, &m.line.run.v[0], is_time, e);
    CHECK(rc == 0 || e->code == ERR_LIMIT);
    release(&m);
    return rc;
}

TEST(slices_have_limits)
{
    static const char timed[] = "a/t@0.001 main;f 1000000\na/t@0.002 main;g 1000000\n"
                                "a/t@0.003 main;f 1000000\n";
    static const char beside[] = "a/t@0.5 main;f 300\na/t@0.5 main;g 200\na/t@0.5 main;f 100\n";
    struct err e;

    for (int is_time = 0; is_time < 2; is_time++) { /* main, f and g are open before the last f */
        CHECK_EQ(convert_within(timed, is_time, 3, 0, &e), 0);
        CHECK_EQ(convert_within(timed, is_time, 2, 0, &e), -1);
        CHECK_STR(e.msg, "the timeline of a thread has more than 2 calls");
    }
    CHECK_EQ(convert_within(beside, true, 3, 2, &e), 0); /* two stacks */
    CHECK_EQ(convert_within(beside, true, 1, 2, &e), -1);
    CHECK_EQ(convert_within(beside, true, 3, 1, &e), -1);
    CHECK_STR(e.msg, "the timeline of a thread has more than 1 functions without times");
}

TEST(slices_end_with_the_limit_of_the_whole_export)
{
    struct made m;

    make(&m, "a/t@0.5 main;f 300\n", false);
    m.labels.listed = LIMIT_EXPORT_FRAMES + 1;
    CHECK_EQ(slices_add(&m.slices, &m.labels, &m.line, &m.line.run.v[0], true, NULL), -1);
    release(&m);
}
