/* test_chrome.c - Chrome traces: the order of calls, the keys of their arguments, and counters.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/formats.h"
#include "formats/tags.h"
#include "profile/profile.h"
#include "test.h"

static struct profile *imported(const char *text)
{
    struct import_input in = { .data = (const uint8_t *)text, .size = strlen(text) };
    struct profile *p = profile_new();
    struct err e = { 0 };

    CHECK_EQ(format_find("chrome")->import(&in, profile_sink(p), &e), 0);
    return p;
}

static const char *name_of(const struct profile *p, size_t span)
{
    return profile_string(p, p->span.v[span].name);
}

/* The self times of the samples, in order of the ends of their calls. */
static const char *self_times(const struct profile *p)
{
    static char text[256];
    int n = 0;

    for (size_t i = 0; i < p->sample.n; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld", i ? " " : "",
                      (long long)p->sample.v[i].weight);
    return text;
}

/* Tracers write a complete event when its call ends, so the callee comes first. */
TEST(chrome_nests_calls_that_are_listed_after_their_callees)
{
    struct profile *p = imported(
        "[{\"ph\":\"X\",\"name\":\"leaf\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":3},"
        "{\"ph\":\"X\",\"name\":\"other\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":4},"
        "{\"ph\":\"X\",\"name\":\"work\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":9}]");

    CHECK_EQ(p->span.n, 3);
    CHECK_STR(name_of(p, 0), "work");
    CHECK_STR(name_of(p, 1), "leaf");
    CHECK_STR(name_of(p, 2), "other");
    CHECK_STR(self_times(p), "3000 6000 4000");
    profile_free(p);
}

/* Sorting must not exchange them: the first one is the caller. */
TEST(chrome_keeps_equal_calls_in_the_order_of_the_file)
{
    struct profile *p = imported(
        "[{\"ph\":\"X\",\"name\":\"late\",\"pid\":1,\"tid\":1,\"ts\":9,\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":3},"
        "{\"ph\":\"X\",\"name\":\"middle\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":3},"
        "{\"ph\":\"X\",\"name\":\"inner\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":3}]");

    CHECK_EQ(p->span.n, 4);
    CHECK_STR(name_of(p, 0), "outer");
    CHECK_STR(name_of(p, 1), "middle");
    CHECK_STR(name_of(p, 2), "inner");
    CHECK_STR(name_of(p, 3), "late");
    CHECK_EQ(p->stack.v[p->span.v[2].stack - 1].parent, p->span.v[1].stack);
    profile_free(p);
}

static uint32_t key_of(const struct profile *p, size_t span)
{
    CHECK(p->span.v[span].tags);
    return p->tag.v[p->span.v[span].tags - 1].key;
}

TEST(chrome_tells_keys_apart_that_differ_after_a_nul)
{
    struct profile *p = imported(
        "[{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,"
        "\"args\":{\"ab\\u0000c\":\"x\"}},"
        "{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":1,\"args\":{\"ab\":\"x\"}},"
        "{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1,\"args\":{\"ab\":\"x\"}},"
        "{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":7,\"dur\":1,\"args\":{\"ac\":\"x\"}}]");

    CHECK_EQ(p->span.n, 4);
    CHECK(key_of(p, 0) != key_of(p, 1));
    CHECK_EQ(key_of(p, 1), key_of(p, 2));
    CHECK(key_of(p, 2) != key_of(p, 3));
    profile_free(p);
}

/* "NAME LABEL UNIT VALUE" of each counter. */
static const char *counters(const struct profile *p)
{
    static char text[512];
    int n = 0;

    text[0] = 0;
    for (size_t i = 0; i < p->counter.n; i++) {
        const struct counter *c = &p->counter.v[i];

        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s '%s' '%s' %g", i ? ", " : "",
                      profile_string(p, c->name), tags_label(p, c->tags),
                      profile_string(p, c->unit), c->value);
    }
    return text;
}

TEST(chrome_reads_every_argument_of_a_counter_as_a_series)
{
    struct profile *p = imported(
        "[{\"ph\":\"C\",\"name\":\"heap\",\"pid\":1,\"ts\":1,\"args\":{\"used\":5,\"free\":2.5}},"
        "{\"args\":{\"used\":7,\"name\":1},\"ph\":\"C\",\"name\":\"gpu\",\"id\":\"a\",\"ts\":2},"
        "{\"ph\":\"C\",\"name\":\"heap\",\"pid\":1,\"ts\":3,\"args\":{\"free\":1}}]");

    CHECK_STR(counters(p), "heap 'used' '' 5, heap 'free' '' 2.5, gpu 'a used' '' 7, "
                           "gpu 'a name' '' 1, heap 'free' '' 1");
    profile_free(p);
}

TEST(chrome_reads_the_argument_of_a_counter_as_its_unit)
{
    struct profile *p = imported(
        "[{\"ph\":\"C\",\"name\":\"heap\",\"pid\":1,\"ts\":1,\"args\":{\"bytes\":5,\"why\":\"x\"}},"
        "{\"ph\":\"C\",\"name\":\"heap\",\"id\":7,\"ts\":2,\"args\":{\"value\":6}},"
        "{\"ph\":\"C\",\"name\":\"none\",\"ts\":3,\"args\":{}}]");

    CHECK_STR(counters(p), "heap '' 'bytes' 5, heap '7' '' 6");
    profile_free(p);
}

TEST(chrome_reads_quoted_numbers_as_numbers)
{
    struct profile *p = imported(
        "[{\"ph\":\"X\",\"name\":\"f\",\"pid\":\"12\",\"tid\":\"-3\",\"ts\":\"700\",\"dur\":\"1.5e1\"},"
        "{\"ph\":\"X\",\"name\":\"g\",\"pid\":12,\"tid\":-3,\"ts\":702.5,\"dur\":2}]");

    CHECK_EQ(p->span.n, 2);
    CHECK_EQ(p->span.v[0].start_ns, 700000);
    CHECK_EQ(p->span.v[0].duration_ns, 15000);
    CHECK_STR(self_times(p), "2000 13000");
    CHECK_EQ(p->process.n, 1);
    CHECK_EQ(p->process.v[0].pid, 12);
    CHECK_EQ(p->thread.n, 1);
    CHECK_EQ(p->thread.v[0].tid, -3);
    profile_free(p);
}

TEST(chrome_numbers_threads_whose_ids_are_not_numbers)
{
    struct profile *p = imported(
        "[{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":\"1-2\",\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":\"nan\",\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":\"0x1\",\"ts\":\"inf\",\"dur\":1}]");

    CHECK_EQ(p->thread.n, 3);
    for (size_t i = 0; i < p->thread.n; i++)
        CHECK(p->thread.v[i].tid > (int64_t)1 << 40);
    CHECK_EQ(p->span.v[2].start_ns, 0);
    profile_free(p);
}

TEST(chrome_ends_open_calls_at_the_end_of_the_trace)
{
    struct profile *p = imported(
        "[{\"ph\":\"B\",\"name\":\"A\",\"pid\":1,\"tid\":1,\"ts\":1},"
        "{\"ph\":\"B\",\"name\":\"B\",\"pid\":1,\"tid\":1,\"ts\":1},"
        "{\"ph\":\"B\",\"name\":\"C\",\"pid\":1,\"tid\":1,\"ts\":2},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":4},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":3,\"ts\":4},"
        "{\"ph\":\"X\",\"name\":\"other\",\"pid\":1,\"tid\":2,\"ts\":3,\"dur\":8}");

    CHECK_EQ(p->span.n, 4);
    CHECK_STR(name_of(p, 0), "A");
    CHECK_STR(name_of(p, 1), "B");
    CHECK_EQ(p->span.v[0].duration_ns, 10000);
    CHECK_EQ(p->span.v[1].duration_ns, 10000);
    CHECK_STR(self_times(p), "2000 8000 8000");
    CHECK_EQ(profile_meta_number(p, "quality.unmatched", 0), 3);
    profile_free(p);
}

TEST(chrome_counts_no_unmatched_calls_in_a_complete_trace)
{
    struct profile *p = imported(
        "[{\"ph\":\"B\",\"name\":\"A\",\"pid\":1,\"tid\":1,\"ts\":1},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":4},"
        "{\"ph\":\"C\",\"name\":\"heap\",\"ts\":9,\"args\":{\"bytes\":1}}]");

    CHECK_STR(self_times(p), "3000");
    CHECK_STR(profile_meta(p, "quality.unmatched"), "");
    profile_free(p);
}

/* As viewers do.  The thread's other calls and the other threads stay as they are. */
TEST(chrome_sorts_begins_and_ends_by_time)
{
    struct profile *p = imported(
        "[{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":60},"
        "{\"ph\":\"B\",\"name\":\"A\",\"pid\":1,\"tid\":1,\"ts\":0},"
        "{\"ph\":\"X\",\"name\":\"X\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":5},"
        "{\"ph\":\"B\",\"name\":\"B\",\"pid\":1,\"tid\":1,\"ts\":10},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":100},"
        "{\"ph\":\"C\",\"name\":\"n\",\"ts\":1,\"args\":{\"value\":1}},"
        "{\"ph\":\"X\",\"name\":\"Y\",\"pid\":1,\"tid\":3,\"ts\":20,\"dur\":7},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":50},"
        "{\"ph\":\"B\",\"name\":\"C\",\"pid\":1,\"tid\":2,\"ts\":30}]");

    CHECK_EQ(p->span.n, 5);
    CHECK_EQ(p->sample.n, 5);
    CHECK_EQ(p->counter.n, 1);
    CHECK_STR(name_of(p, 0), "C");
    CHECK_EQ(p->span.v[0].duration_ns, 30000);
    CHECK_STR(name_of(p, 1), "A");
    CHECK_EQ(p->span.v[1].duration_ns, 100000);
    CHECK_STR(name_of(p, 2), "B");
    CHECK_EQ(p->span.v[2].duration_ns, 40000);
    CHECK_STR(self_times(p), "30000 5000 35000 60000 7000");
    CHECK_STR(profile_meta(p, "quality.unmatched"), "");
    profile_free(p);
}

TEST(chrome_sorts_begins_and_ends_of_equal_time_in_the_order_of_the_file)
{
    struct profile *p = imported(
        "[{\"ph\":\"B\",\"name\":\"late\",\"pid\":1,\"tid\":1,\"ts\":9},"
        "{\"ph\":\"B\",\"name\":\"A\",\"pid\":1,\"tid\":1,\"ts\":1},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5},"
        "{\"ph\":\"B\",\"name\":\"B\",\"pid\":1,\"tid\":1,\"ts\":5},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":8},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":10}");

    CHECK_EQ(p->span.n, 3);
    CHECK_STR(self_times(p), "4000 3000 1000");
    CHECK_STR(profile_meta(p, "quality.unmatched"), "");
    profile_free(p);
}

/* Clocks with a coarse resolution give a caller and its callee the same times. */
TEST(chrome_nests_begins_and_ends_of_equal_times_in_the_order_of_the_file)
{
    struct profile *p = imported(
        "[{\"ph\":\"B\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":1},"
        "{\"ph\":\"B\",\"name\":\"inner\",\"pid\":1,\"tid\":1,\"ts\":1},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":4},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":4}]");

    CHECK_EQ(p->span.n, 2);
    CHECK_STR(name_of(p, 0), "outer");
    CHECK_STR(name_of(p, 1), "inner");
    CHECK_EQ(p->stack.v[p->span.v[1].stack - 1].parent, p->span.v[0].stack);
    CHECK_STR(self_times(p), "3000");
    profile_free(p);
}

/* A complete event that begins with a pair but lasts longer is its caller, in either order. */
TEST(chrome_nests_pairs_and_complete_events_of_equal_start_by_duration)
{
    static const char *const order[] = {
        "[{\"ph\":\"B\",\"name\":\"pair\",\"ts\":1},"
        "{\"ph\":\"X\",\"name\":\"whole\",\"ts\":1,\"dur\":9},{\"ph\":\"E\",\"ts\":4}]",
        "[{\"ph\":\"X\",\"name\":\"whole\",\"ts\":1,\"dur\":9},"
        "{\"ph\":\"B\",\"name\":\"pair\",\"ts\":1},{\"ph\":\"E\",\"ts\":4}]",
    };

    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        struct profile *p = imported(order[i]);

        CHECK_STR(name_of(p, 0), "whole");
        CHECK_STR(self_times(p), "3000 6000");
        profile_free(p);
    }
}

TEST(chrome_puts_a_counter_into_its_process_if_it_has_one)
{
    struct profile *p = imported(
        "[{\"ph\":\"C\",\"name\":\"heap\",\"pid\":1,\"ts\":1,\"args\":{\"used\":5}},"
        "{\"ph\":\"C\",\"name\":\"load\",\"ts\":2,\"args\":{\"value\":9}}]");

    CHECK_EQ(p->counter.n, 2);
    CHECK_EQ((int64_t)p->counter.v[0].value, 5);
    CHECK_STR(profile_string(p, p->counter.v[0].unit), "used");
    CHECK_EQ(p->counter.v[0].process, 1);
    CHECK_EQ((int64_t)p->counter.v[1].value, 9);
    CHECK_EQ(p->counter.v[1].unit, 0);
    CHECK_EQ(p->counter.v[1].process, 0);
    CHECK_EQ(p->process.n, 1);
    profile_free(p);
}

/* The sample is a part of its caller's, the span is as in the file. */
TEST(chrome_cuts_a_call_that_outlasts_its_caller)
{
    struct profile *p = imported(
        "[{\"ph\":\"X\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":4},"
        "{\"ph\":\"X\",\"name\":\"inner\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":9}]");

    CHECK_STR(self_times(p), "2000 2000");
    CHECK_EQ(profile_sample(p, 0).start_ns, 3000);
    CHECK_EQ(profile_sample(p, 0).duration_ns, 2000);
    CHECK_EQ(profile_sample(p, 1).duration_ns, 4000);
    CHECK_EQ(p->span.v[1].duration_ns, 9000);
    profile_free(p);
}

TEST(chrome_rounds_times_to_nanoseconds)
{
    struct profile *p = imported(
        "[{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":1.0016,\"dur\":0.0026},"
        "{\"ph\":\"X\",\"name\":\"g\",\"pid\":1,\"tid\":1,\"ts\":2.0014,\"dur\":0.0024}]");

    CHECK_EQ(p->span.v[0].start_ns, 1002);
    CHECK_EQ(p->span.v[0].duration_ns, 3);
    CHECK_EQ(p->span.v[1].start_ns, 2001);
    CHECK_EQ(p->span.v[1].duration_ns, 2);
    profile_free(p);
}
