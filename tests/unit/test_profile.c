/* test_profile.c - the model in memory and its sink.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "profile/intern.h"
#include "profile/joint.h"
#include "profile/limits.h"
#include "profile/profile.h"

static void add_string(struct sink *s, const char *text)
{
    sink_string(s, text, strlen(text));
}

/* main -> work, two samples; names "main" and "work". */
static void fill(struct sink *s)
{
    sink_meta(s, "clock", "monotonic");
    add_string(s, "cpu");
    add_string(s, "main");
    add_string(s, "work");
    sink_metric(s, &(struct metric){ .name = 1, .period = 1000 });
    sink_process(s, &(struct process){ .pid = 10, .name = 2 });
    sink_thread(s, &(struct thread){ .process = 1, .tid = 10, .name = 2 });
    sink_module(s, &(struct module){ .path = 2 });
    sink_frame(s, &(struct frame){ .module = 1, .address = 0x10 });
    sink_frame(s, &(struct frame){ .module = 1, .address = 0x20 });
    sink_stack(s, 0, 1);
    sink_stack(s, 1, 2);
    sink_sample(s, &(struct sample){ .start_ns = 5, .thread = 1, .stack = 2, .metric = 1, .weight = 7 });
    sink_sample(s, &(struct sample){ .start_ns = 6, .stack = 0, .metric = 1, .weight = 8 });
    sink_span(s, &(struct span){ .start_ns = 1, .thread = 1, .name = 3 });
    sink_counter(s, &(struct counter){ .name = 3, .value = 2.5 });
    sink_function(s, &(struct function){ .name = 2, .module = 1 });
    sink_function(s, &(struct function){ .name = 3 });
    sink_resolve(s, 1, (struct location[]){ { 1, 3 }, { 2, 9 } }, 2);
    sink_source(s, &(struct source_text){ .file = 3, .text = "int x;", .size = 6 });
    sink_code(s, &(struct code_bytes){ .module = 1, .address = 0x10,
                                     .bytes = (const unsigned char *)"\x90", .size = 1 });
    sink_update_thread(s, 1, &(struct thread){ .end_ns = 99 });
}

static void check_filled(const struct profile *p)
{
    CHECK_STR(profile_meta(p, "clock"), "monotonic");
    CHECK_STR(profile_meta(p, "nothing"), "");
    CHECK_STR(profile_string(p, 3), "work");
    CHECK_STR(profile_string(p, 0), "");
    CHECK_EQ(profile_find_metric(p, "cpu"), 1);
    CHECK_EQ(profile_find_metric(p, "heap"), 0);
    CHECK_EQ(p->sample.n, 2);
    CHECK_EQ(p->sample.v[1].weight, 8);
    CHECK_EQ(p->stack.v[1].parent, 1);
    CHECK_EQ(p->chain.n, p->frame.n);
    CHECK_EQ(p->chain.v[0].n, 2);
    CHECK_EQ(p->location.v[p->chain.v[0].first + 1].line, 9);
    CHECK_EQ(p->chain.v[1].n, 0);
    CHECK_EQ(p->thread.v[0].end_ns, 99);
    CHECK_EQ(p->thread.v[0].tid, 10);
    CHECK_STR(p->source.v[0].text, "int x;");
    CHECK_EQ(p->code.v[0].bytes[0], 0x90);
    CHECK(p->counter.v[0].value == 2.5);
    CHECK_STR(p->damage, "");
}

TEST(profile_stores_all_records_of_its_sink)
{
    struct profile *p = profile_new();
    struct err e = { 0 };

    fill(profile_sink(p));
    CHECK_EQ(sink_end(profile_sink(p), &e), 0);
    check_filled(p);
    profile_free(p);
}

TEST(profile_replay_makes_an_equal_profile)
{
    struct profile *p = profile_new(), *q = profile_new();
    struct err e = { 0 };

    fill(profile_sink(p));
    profile_replay(p, profile_sink(q));
    CHECK_EQ(sink_end(profile_sink(q), &e), 0);
    check_filled(q);
    profile_free(p);
    profile_free(q);
}

static void refused(void (*bad)(struct sink *s), const char *word)
{
    struct profile *p = profile_new();
    struct err e = { 0 };

    fill(profile_sink(p));
    bad(profile_sink(p));
    add_string(profile_sink(p), "after the failure nothing is taken in");
    CHECK_EQ(p->string.n, 3);
    CHECK_EQ(sink_end(profile_sink(p), &e), -1);
    CHECK_EQ(e.code, ERR_FORMAT);
    if (!strstr(e.msg, word))
        test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", e.msg, word);
    profile_free(p);
}

static void bad_stack(struct sink *s)
{
    sink_stack(s, 3, 1); /* itself */
}
static void bad_frame(struct sink *s)
{
    sink_stack(s, 1, 0);
}
static void bad_kind(struct sink *s)
{
    sink_frame(s, &(struct frame){ .kind = 77 });
}
static void bad_metric(struct sink *s)
{
    sink_sample(s, &(struct sample){ .metric = 2 });
}
static void bad_name(struct sink *s)
{
    sink_function(s, &(struct function){ .name = 4 });
}
static void bad_chain(struct sink *s)
{
    sink_resolve(s, 1, &(struct location){ 3, 0 }, 1);
}
static void bad_build_id(struct sink *s)
{
    sink_module(s, &(struct module){ .build_id_size = 21 });
}

TEST(profile_refuses_ids_that_are_not_defined)
{
    refused(bad_stack, "stack 3");
    refused(bad_frame, "frame");
    refused(bad_kind, "frame kind 77");
    refused(bad_metric, "metric 2");
    refused(bad_name, "string 4");
    refused(bad_chain, "function 3");
    refused(bad_build_id, "build id");
}

TEST(profile_keeps_the_last_value_of_a_meta_key)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    sink_meta(s, "samples", "1");
    sink_meta(s, "samples", "2.5");
    CHECK(profile_meta_number(p, "samples", 0) == 2.5);
    CHECK(profile_meta_number(p, "other", -1) == -1);
    profile_free(p);
}

TEST(joints_are_found_by_thread_and_place)
{
    struct joints j = { 0 };

    joint_put(&j, (struct joint){ 7, 0x401000, 0x7ffe0010 }, 3);
    CHECK_EQ(joint_find(&j, (struct joint){ 7, 0x401000, 0x7ffe0010 }), 3);
    CHECK_EQ(joint_find(&j, (struct joint){ 8, 0x401000, 0x7ffe0010 }), 0);
    CHECK_EQ(joint_find(&j, (struct joint){ 7, 0x401004, 0x7ffe0010 }), 0);
    CHECK_EQ(joint_find(&j, (struct joint){ 7, 0x401000, 0x7ffe0020 }), 0);
    joint_put(&j, (struct joint){ 7, 0x401000, 0x7ffe0010 }, 5); /* called again from elsewhere */
    CHECK_EQ(joint_find(&j, (struct joint){ 7, 0x401000, 0x7ffe0010 }), 5);
    joint_release(&j);
}

TEST(intern_keeps_apart_what_differs_in_one_field)
{
    struct sink nowhere = { 0 };
    struct intern in;
    uint32_t name, linkage;

    intern_init(&in, &nowhere);
    name = intern_cstr(&in, "f");
    linkage = intern_cstr(&in, "_Z1fv");
    CHECK_EQ(intern_cstr(&in, ""), 0);
    CHECK_EQ(intern_cstr(&in, NULL), 0);
    CHECK_EQ(intern_cstr(&in, "f"), name);
    CHECK_EQ(intern_function(&in, &(struct function){ .name = name }), 1);
    CHECK_EQ(intern_function(&in, &(struct function){ .name = name, .linkage_name = linkage }), 2);
    CHECK_EQ(intern_function(&in, &(struct function){ .name = name, .line = 3 }), 3);
    CHECK_EQ(intern_function(&in, &(struct function){ .name = name }), 1);
    CHECK_EQ(intern_module(&in, &(struct module){ .path = name, .kind = MODULE_FILE }), 1);
    CHECK_EQ(intern_module(&in, &(struct module){ .path = name, .kind = MODULE_JIT }), 2);
    CHECK_EQ(intern_module(&in, &(struct module){ .path = name, .kind = MODULE_FILE,
                                                  .build_id = { 1 }, .build_id_size = 1 }), 3);
    CHECK_EQ(intern_module(&in, &(struct module){ .path = name, .kind = MODULE_FILE }), 1);
    CHECK_EQ(intern_frame(&in, &(struct frame){ .address = 5 }), 1);
    CHECK_EQ(intern_frame(&in, &(struct frame){ .address = 5, .flags = FRAME_RETURN }), 2);
    CHECK_EQ(intern_frame(&in, &(struct frame){ .address = 5, .kind = FRAME_KERNEL }), 3);
    CHECK_EQ(intern_frame(&in, &(struct frame){ .address = 5 }), 1);
    CHECK_EQ(intern_stack(&in, 0, 1), 1);
    CHECK_EQ(intern_stack(&in, 1, 1), 2);
    CHECK_EQ(intern_stack(&in, 0, 1), 1);
    intern_release(&in);
}

TEST(profile_stores_times_only_if_a_sample_has_one)
{
    static const uint64_t start[] = { 0, 0, 70, 0, 90 };
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    sink_string(s, "cpu", 3);
    sink_metric(s, &(struct metric){ .name = 1 });
    for (size_t i = 0; i < ARRAY_LEN(start); i++) {
        sink_sample(s, &(struct sample){ .metric = 1, .start_ns = start[i], .count = i + 1,
                                         .duration_ns = start[i] / 10, .weight = (int64_t)i });
        CHECK_EQ(p->time.n, i < 2 ? 0 : i + 1);
        CHECK_EQ(profile_time(p, i).start_ns, start[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(start); i++) {
        struct sample m = profile_sample(p, i);

        CHECK_EQ(m.start_ns, start[i]);
        CHECK_EQ(m.duration_ns, start[i] / 10);
        CHECK_EQ(m.weight, (int64_t)i);
        CHECK_EQ(m.count, i + 1);
    }
    profile_move_sample(p, 1, 4);
    profile_keep_samples(p, 2);
    CHECK_EQ(p->sample.n, 2);
    CHECK_EQ(p->time.n, 2);
    CHECK_EQ(profile_time(p, 1).start_ns, 90);
    CHECK_EQ(p->sample.v[1].weight, 4);
    profile_free(p);
}

TEST(profile_without_samples_starts_with_its_first_counter)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    sink_metric(s, &(struct metric){ 0 });
    sink_counter(s, &(struct counter){ .time_ns = 600 });
    sink_counter(s, &(struct counter){ .time_ns = 400 });
    CHECK_EQ(profile_start_ns(p), 400);
    sink_sample(s, &(struct sample){ .metric = 1 }); /* without a time */
    CHECK_EQ(profile_start_ns(p), 0);
    profile_free(p);
}

TEST(profile_starts_with_its_first_sample_or_span)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    sink_metric(s, &(struct metric){ 0 });
    CHECK_EQ(profile_start_ns(p), 0);
    sink_sample(s, &(struct sample){ .metric = 1, .start_ns = 500 });
    sink_sample(s, &(struct sample){ .metric = 1 }); /* without a time */
    sink_span(s, &(struct span){ .start_ns = 700 });
    CHECK_EQ(profile_start_ns(p), 500);
    sink_span(s, &(struct span){ .start_ns = 300 });
    CHECK_EQ(profile_start_ns(p), 300);
    sink_meta(s, "start_ns", "100");
    CHECK_EQ(profile_start_ns(p), 100);
    profile_free(p);
}

TEST(profile_meta_numbers_fall_back)
{
    struct profile *p = profile_new();

    sink_meta(profile_sink(p), "n", "12.5");
    sink_meta(profile_sink(p), "text", "many");
    sink_meta(profile_sink(p), "n", "13");
    CHECK(profile_meta_number(p, "n", -1) == 13); /* the last value wins */
    CHECK(profile_meta_number(p, "text", -1) == -1);
    CHECK(profile_meta_number(p, "none", -1) == -1);
    sink_meta(profile_sink(p), "n", "nan");
    CHECK(profile_meta_number(p, "n", -1) == -1);
    sink_meta(profile_sink(p), "n", "-1e999");
    CHECK(profile_meta_number(p, "n", -1) == -1);
    CHECK_EQ(p->meta.n, 2);
    profile_free(p);
}

TEST(joint_finds_only_the_exact_place)
{
    struct joints j = { 0 };

    joint_put(&j, (struct joint){ .thread = 1, .pc = 0x1000, .sp = 0x7000 }, 5);
    CHECK_EQ(joint_find(&j, (struct joint){ .thread = 1, .pc = 0x1000, .sp = 0x7000 }), 5);
    for (uint32_t i = 0; i < 1 << 17; i++) /* try every slot */
        if (joint_find(&j, (struct joint){ .thread = 2, .pc = 0x1000, .sp = 0x7000 + i }))
            test_fail(__FILE__, __LINE__, "found another thread's place at %u", i);
    joint_release(&j);
}

TEST(profile_weights_are_cut_before_their_sum_overflows)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    sink_metric(s, &(struct metric){ 0 });
    sink_sample(s, &(struct sample){ .metric = 1, .weight = INT64_MAX - 10 });
    sink_sample(s, &(struct sample){ .metric = 1, .weight = -4 });
    sink_sample(s, &(struct sample){ .metric = 1, .weight = 100 });
    sink_sample(s, &(struct sample){ .metric = 1, .weight = 100 });
    CHECK_EQ(p->sample.v[0].weight, INT64_MAX - 10);
    CHECK_EQ(p->sample.v[1].weight, -4);
    CHECK_EQ(p->sample.v[2].weight, 6);
    CHECK_EQ(p->sample.v[3].weight, 0);
    profile_free(p);
}

TEST(profile_weights_are_cut_also_after_more_metrics)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    sink_metric(s, &(struct metric){ 0 });
    sink_sample(s, &(struct sample){ .metric = 1, .weight = INT64_MAX - 10 });
    for (int i = 0; i < 2; i++)
        sink_metric(s, &(struct metric){ 0 });
    sink_sample(s, &(struct sample){ .metric = 3, .weight = 100 });
    sink_sample(s, &(struct sample){ .metric = 1, .weight = 100 });
    CHECK_EQ(p->sample.v[1].weight, 100);
    CHECK_EQ(p->sample.v[2].weight, 10);
    profile_free(p);
}

TEST(profile_repairs_names_and_takes_updates_field_by_field)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    sink_string(s, "a\xff" "b", 3);
    CHECK_STR(profile_string(p, 1), "a\xef\xbf\xbd" "b");
    sink_process(s, &(struct process){ .pid = 7, .start_ns = 10 });
    sink_thread(s, &(struct thread){ .process = 1, .tid = 8, .start_ns = 20 });
    sink_update_thread(s, 1, &(struct thread){ .end_ns = 90 });
    CHECK_EQ(p->thread.v[0].start_ns, 20);
    CHECK_EQ(p->thread.v[0].end_ns, 90);
    CHECK_EQ(p->thread.v[0].tid, 8);
    sink_update_process(s, 1, &(struct process){ .end_ns = 80 });
    CHECK_EQ(p->process.v[0].start_ns, 10);
    CHECK_EQ(p->process.v[0].end_ns, 80);
    CHECK_EQ(p->process.v[0].pid, 7);
    sink_update_process(s, 1, &(struct process){ .parent_pid = 3 });
    CHECK_EQ(p->process.v[0].parent_pid, 3);
    sink_update_process(s, 1, &(struct process){ .pid = 9 });
    CHECK_EQ(p->process.v[0].pid, 9);
    CHECK_EQ(p->process.v[0].parent_pid, 3);
    profile_free(p);
}

TEST(profile_refuses_a_sample_of_no_metric)
{
    struct profile *p = profile_new();
    struct err e = { 0 };

    sink_metric(profile_sink(p), &(struct metric){ 0 });
    sink_sample(profile_sink(p), &(struct sample){ .weight = 1 });
    CHECK_EQ(p->sample.n, 0);
    CHECK_EQ(sink_end(profile_sink(p), &e), -1);
    profile_free(p);
}

/* Define N frames that are all the function 1. */
static void define_frames(struct sink *s, uint32_t n)
{
    sink_function(s, &(struct function){ 0 });
    for (uint32_t i = 0; i < n; i++)
        sink_frame(s, &(struct frame){ .address = i + 1 });
}

TEST(profile_counts_are_cut_before_their_sum_overflows)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    sink_metric(s, &(struct metric){ 0 });
    sink_metric(s, &(struct metric){ 0 });
    sink_sample(s, &(struct sample){ .metric = 1, .count = UINT64_MAX });
    sink_sample(s, &(struct sample){ .metric = 1, .count = 3 });
    sink_sample(s, &(struct sample){ .metric = 2, .count = 3 });
    CHECK_EQ(p->sample.v[0].count, INT64_MAX);
    CHECK_EQ(p->sample.v[1].count, 0);
    CHECK_EQ(p->sample.v[2].count, 3);
    profile_free(p);
}

TEST(profile_stacks_have_at_most_limit_depth_frames)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    define_frames(s, LIMIT_DEPTH + 3);
    for (uint32_t i = 0; i < LIMIT_DEPTH + 3; i++)
        sink_stack(s, i, i + 1);
    sink_stack(s, 5, 1);
    CHECK(sink_end(s, NULL) == 0);
    CHECK_EQ(p->depth.v[LIMIT_DEPTH - 1], LIMIT_DEPTH);
    CHECK_EQ(p->stack.v[LIMIT_DEPTH - 1].parent, LIMIT_DEPTH - 1);
    for (uint32_t i = LIMIT_DEPTH; i < LIMIT_DEPTH + 3; i++) {
        CHECK_EQ(p->stack.v[i].parent, LIMIT_DEPTH - 1); /* the innermost frame stays */
        CHECK_EQ(p->stack.v[i].frame, i + 1);
        CHECK_EQ(p->depth.v[i], LIMIT_DEPTH);
    }
    CHECK_EQ(p->depth.v[LIMIT_DEPTH + 3], 6);
    CHECK_STR(p->cut, "3 stacks of more than 8192 frames lack the frames in the middle");
    CHECK_STR(profile_meta(p, "file.cut"), p->cut);
    profile_free(p);
}

TEST(profile_frames_keep_the_outermost_functions_and_the_innermost)
{
    struct location chain[LIMIT_CHAIN + 2];
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);
    struct profile_chain c;

    define_frames(s, 2);
    for (uint32_t i = 0; i < LIMIT_CHAIN + 2; i++)
        chain[i] = (struct location){ 1, i };
    sink_resolve(s, 1, chain, LIMIT_CHAIN);
    sink_resolve(s, 2, chain, LIMIT_CHAIN + 2);
    sink_module(s, &(struct module){ 0 });
    sink_line(s, &(struct line_row){ .module = 1 }, chain, LIMIT_CHAIN + 1);
    CHECK(sink_end(s, NULL) == 0);
    CHECK_EQ(p->chain.v[0].n, LIMIT_CHAIN);
    c = p->chain.v[1];
    CHECK_EQ(c.n, LIMIT_CHAIN);
    CHECK_EQ(p->location.v[c.first + LIMIT_CHAIN - 2].line, LIMIT_CHAIN - 2);
    CHECK_EQ(p->location.v[c.first + LIMIT_CHAIN - 1].line, LIMIT_CHAIN + 1);
    CHECK_EQ(p->row.v[0].chain.n, LIMIT_CHAIN);
    CHECK_STR(p->cut, "2 frames of more than 256 inlined functions lack some of them");
    profile_free(p);
}

/* 100,000 stacks that use one frame with 200 functions: 20 million functions. */
TEST(profile_stacks_have_at_most_limit_functions_together)
{
    enum { STACKS = 100000, CHAIN = 200 };
    struct location chain[CHAIN];
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);
    uint64_t all = 0;

    define_frames(s, 2);
    for (uint32_t i = 0; i < CHAIN; i++)
        chain[i] = (struct location){ 1, i };
    sink_resolve(s, 1, chain, CHAIN);
    sink_resolve(s, 2, chain, 3);
    for (uint32_t i = 0; i < STACKS; i++)
        sink_stack(s, 0, 1);
    sink_stack(s, 0, 2);
    CHECK(sink_end(s, NULL) == 0);
    for (size_t i = 0; i < p->stack.n; i++)
        all += p->chain.v[p->stack.v[i].frame - 1].n;
    CHECK(all <= limit_functions(p->stack.n));
    CHECK(all + STACKS > limit_functions(p->stack.n)); /* not one function fewer than necessary */
    CHECK_EQ(p->location.v[p->chain.v[0].first + p->chain.v[0].n - 1].line, CHAIN - 1);
    CHECK_EQ(p->chain.v[1].n, 3);
    CHECK(strstr(p->cut, "1 frames of more than 87 inlined functions"));
    profile_free(p);
}

TEST(profile_drops_the_samples_of_metrics_after_the_limit)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    for (uint32_t i = 0; i < LIMIT_METRICS + 2; i++)
        sink_metric(s, &(struct metric){ .period = i });
    sink_sample(s, &(struct sample){ .metric = LIMIT_METRICS, .weight = 1 });
    sink_sample(s, &(struct sample){ .metric = LIMIT_METRICS + 1, .weight = 1 });
    sink_sample(s, &(struct sample){ .metric = LIMIT_METRICS + 2, .weight = 1 });
    CHECK(sink_end(s, NULL) == 0);
    CHECK_EQ(p->metric.n, LIMIT_METRICS);
    CHECK_EQ(p->sample.n, 1);
    CHECK_STR(p->cut, "2 samples of metrics after the first 256 are missing");
    profile_free(p);
    p = profile_new();
    sink_sample(profile_sink(p), &(struct sample){ .metric = 1 });
    CHECK(sink_end(profile_sink(p), NULL) < 0);
    profile_free(p);
}

/* What an earlier reader cut is kept, and what this one cuts is added. */
TEST(profile_says_what_each_reader_cut)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);

    sink_meta(s, "file.cut", "first");
    for (uint32_t i = 0; i <= LIMIT_METRICS; i++)
        sink_metric(s, &(struct metric){ 0 });
    sink_sample(s, &(struct sample){ .metric = LIMIT_METRICS + 1, .weight = 1 });
    CHECK(sink_end(s, NULL) == 0);
    CHECK_STR(p->cut, "first; 1 samples of metrics after the first 256 are missing");
    profile_free(p);
}

/* A comparison of all pairs would take hours. */
TEST(profile_finds_each_of_a_million_facts)
{
    enum { FACTS = 1000000 };
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);
    char key[24];

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < FACTS; i++) {
            snprintf(key, sizeof key, "key %d", i);
            sink_meta(s, key, round ? "new" : "old");
        }
    CHECK_EQ(p->meta.n, FACTS);
    CHECK_STR(profile_meta(p, "key 999999"), "new");
    CHECK_STR(p->meta.v[FACTS - 1].value, "new");
    profile_free(p);
}
