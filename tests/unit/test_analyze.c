/* test_analyze.c - tables, groups, trees and filters over small known profiles.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/an_filter.h"
#include "analyze/an_flat.h"
#include "analyze/an_group.h"
#include "analyze/an_list.h"
#include "analyze/an_quality.h"
#include "analyze/an_source.h"
#include "build_profile.h"
#include "profile/intern.h"
#include "test.h"

static const char split[] = "app/main@0 app!main:9;app!one:3;app!spin:5 70\n"
                            "app/main@1 app!main:10;app!two:4;app!spin:5 20\n"
                            "app/work@2 app!main:10;app!two:4;libc!memcpy 10\n";

struct flat {
    struct profile *p;
    struct an_symbols s;
    struct an_flat f;
};

static struct flat flat_of(const char *text, enum an_by by)
{
    static struct flat x;
    struct an_view v;

    x.p = build_profile(text);
    v = an_view_of(x.p, 1);
    an_symbols_init(&x.s, x.p);
    an_flat_build(&x.f, &x.s, &v, by);
    an_flat_sort(&x.f, x.p, "self");
    return x;
}

static const struct an_row *row_of(const struct flat *x, const char *name)
{
    for (size_t i = 0; i < x->f.row.n; i++)
        if (strcmp(x->f.row.v[i].name, name) == 0)
            return &x->f.row.v[i];
    test_fail(__FILE__, __LINE__, "no row %s", name);
}

static void release(struct flat *x)
{
    an_flat_release(&x->f);
    an_symbols_release(&x->s);
    profile_free(x->p);
}

TEST(an_flat_computes_self_and_total_by_function)
{
    struct flat x = flat_of(split, AN_BY_FUNCTION);
    char place[64];

    CHECK_EQ(x.f.row.n, 5);
    CHECK_STR(x.f.row.v[0].name, "spin");
    CHECK_EQ(row_of(&x, "spin")->self, 90);
    CHECK_EQ(row_of(&x, "spin")->samples, 2);
    CHECK_EQ(row_of(&x, "two")->self, 0);
    CHECK_EQ(row_of(&x, "two")->total, 30);
    CHECK_EQ(row_of(&x, "main")->total, 100);
    CHECK_STR(an_row_place(x.p, row_of(&x, "main"), place, sizeof place), "a.c:1");
    CHECK_STR(an_row_place(x.p, row_of(&x, "memcpy"), place, sizeof place), "");
    release(&x);
}

TEST(an_flat_counts_recursion_once)
{
    struct flat x = flat_of("t f;f;g;f 5\nt f;g 3\nt g;f;g 2\n", AN_BY_FUNCTION);

    CHECK_EQ(row_of(&x, "f")->total, 10);
    CHECK_EQ(row_of(&x, "g")->total, 10);
    CHECK_EQ(row_of(&x, "f")->self, 5);
    CHECK_EQ(row_of(&x, "g")->self, 5);
    release(&x);
}

TEST(an_flat_attributes_cost_to_inlined_functions)
{
    struct flat x = flat_of("t main;a+b+c 4\nt main;a+b 2\nt main;a 1\n", AN_BY_FUNCTION);

    CHECK_EQ(row_of(&x, "a")->total, 7);
    CHECK_EQ(row_of(&x, "a")->self, 1);
    CHECK_EQ(row_of(&x, "b")->total, 6);
    CHECK_EQ(row_of(&x, "c")->self, 4);
    release(&x);
}

TEST(an_flat_by_line_and_module)
{
    struct flat x = flat_of(split, AN_BY_LINE);

    CHECK_EQ(x.f.row.n, 6); /* main has two lines */
    release(&x);
    x = flat_of(split, AN_BY_MODULE);
    CHECK_EQ(x.f.row.n, 2);
    CHECK_EQ(row_of(&x, "app")->self, 90);
    CHECK_EQ(row_of(&x, "app")->total, 100);
    CHECK_EQ(row_of(&x, "libc")->total, 10);
    release(&x);
}

TEST(an_flat_names_an_unresolved_frame_by_module_and_address)
{
    struct flat x = flat_of("t main;? 5\n", AN_BY_FUNCTION);

    CHECK(strstr(x.f.row.v[0].name, "+0x") != NULL);
    release(&x);
}

TEST(an_flat_prefers_the_module_of_a_function_to_that_of_its_frame)
{
    struct profile *p = profile_new();
    struct intern in;
    struct flat x = { .p = p };
    struct an_view v;
    uint32_t metric, lib, prog, function;

    intern_init(&in, profile_sink(p));
    metric = intern_metric(&in, &(struct metric){ .name = intern_cstr(&in, "cpu") });
    lib = intern_module(&in, &(struct module){ .path = intern_cstr(&in, "/lib/x.so") });
    prog = intern_module(&in, &(struct module){ .path = intern_cstr(&in, "/bin/prog") });
    for (uint32_t i = 0; i < 2; i++) { /* a function of the library, and one of no module */
        uint32_t frame = intern_frame(&in, &(struct frame){ .module = prog, .address = i + 1 });

        function = intern_function(&in, &(struct function){ .name = intern_cstr(&in, i ? "b" : "a"),
                                                            .module = i ? 0 : lib });
        sink_resolve(in.out, frame, &(struct location){ function, 1 }, 1);
        sink_sample(in.out, &(struct sample){ .stack = intern_stack(&in, 0, frame), .count = 1,
                                              .metric = metric, .weight = 1, .cpu = -1 });
    }
    v = an_view_of(p, metric);
    an_symbols_init(&x.s, p);
    an_flat_build(&x.f, &x.s, &v, AN_BY_FUNCTION);
    CHECK_EQ(row_of(&x, "a")->module, lib);
    CHECK_EQ(row_of(&x, "b")->module, prog);
    intern_release(&in);
    release(&x);
}

TEST(an_share_interval_narrows_with_samples)
{
    struct an_sum few = { 100, 100, 100 }, many = { 100, 10000, 10000 };
    struct interval a = an_share_interval(50, &few), b = an_share_interval(50, &many);

    CHECK(a.low > 40 && a.low < 41 && a.high > 59 && a.high < 60);
    CHECK(fabs((b.high - b.low) - 1.96) < 0.01);
}

TEST(an_groups_divide_the_samples_completely)
{
    struct profile *p = build_profile(split);
    struct an_view v = an_view_of(p, 1);
    struct an_levels levels;
    struct an_symbols s;
    struct an_groups g;
    struct err e = { 0 };

    CHECK(an_levels_parse(&levels, "thread,module,function", &e) == 0);
    an_symbols_init(&s, p);
    an_groups_build(&g, &s, &v, &levels);
    CHECK_EQ(g.group.n, 6);
    CHECK_STR(g.group.v[0].name, "main (101)");
    CHECK_EQ(g.group.v[0].weight, 90);
    CHECK_STR(g.group.v[2].name, "spin");
    CHECK_EQ(g.group.v[2].parent, 1);
    CHECK_STR(g.group.v[4].name, "libc");
    CHECK_EQ(g.group.v[4].depth, 1);
    CHECK(an_levels_parse(&levels, "thread,color", &e) < 0 && e.code == ERR_USAGE);
    an_groups_release(&g);
    an_symbols_release(&s);
    profile_free(p);
}

static const char *symbol_at(const struct an_symbols *s, const struct an_tree *t,
                             const struct an_list *l, size_t i)
{
    return s->symbol.v[t->trie.node.v[l->line.v[i].node].key].name;
}

TEST(an_list_puts_the_heaviest_child_first_and_hides_small_ones)
{
    struct profile *p = build_profile(split);
    struct an_view v = an_view_of(p, 1);
    struct an_symbols s;
    struct an_tree t;
    struct an_list l;
    int64_t *self;

    an_symbols_init(&s, p);
    an_tree_build(&t, &s, NULL);
    self = an_tree_self(&t, &v, NULL);
    an_list_build(&l, &t, &s, self, NULL, 15);
    CHECK_EQ(l.line.n, 5);
    CHECK_STR(symbol_at(&s, &t, &l, 0), "main");
    CHECK_STR(symbol_at(&s, &t, &l, 1), "one");
    CHECK_STR(symbol_at(&s, &t, &l, 3), "two");
    CHECK_EQ(l.line.v[3].total, 30);
    CHECK(l.line.v[3].last && !l.line.v[1].last);
    CHECK_EQ(l.hidden.n, 1);
    free(self);
    an_list_release(&l);
    an_tree_release(&t);
    an_symbols_release(&s);
    profile_free(p);
}

TEST(an_callers_counts_the_outermost_call)
{
    struct profile *p = build_profile("t main;f;f;g 5\nt main;h+f;x 3\nt main;y 2\n");
    struct err e = { 0 };
    struct an_symbols s;
    struct an_tree t;
    struct an_list l;
    struct an_view v = an_view_of(p, 1);
    int64_t *self, *wait;

    an_symbols_init(&s, p);
    CHECK(an_callers_build(&t, &self, &wait, &s, &v, "f", &e) == 0);
    an_list_build(&l, &t, &s, self, wait, 0);
    CHECK_STR(symbol_at(&s, &t, &l, 0), "f");
    CHECK_STR(symbol_at(&s, &t, &l, 1), "main");
    CHECK_EQ(l.line.v[0].total, 5);
    CHECK_EQ(l.line.n, 5); /* f inlined in h is a separate symbol */
    free(self);
    free(wait);
    an_list_release(&l);
    an_tree_release(&t);
    CHECK(an_callers_build(&t, &self, &wait, &s, &v, "nothing", &e) < 0 && e.code == ERR_MISSING);
    free(self);
    free(wait);
    an_tree_release(&t);
    an_symbols_release(&s);
    profile_free(p);
}

static int64_t weight_after(struct an_filter f, enum err_code *code)
{
    struct profile *p = build_profile(split);
    struct an_view v = an_view_of(p, 1);
    struct err e = { 0 };
    int64_t w = an_filter_apply(p, &f, &e) < 0 ? -1 : an_sum_of(&v).weight;

    *code = e.code;
    profile_free(p);
    return w;
}

TEST(an_filter_keeps_matching_samples)
{
    enum err_code code;

    CHECK_EQ(weight_after((struct an_filter){ 0 }, &code), 100);
    CHECK_EQ(weight_after((struct an_filter){ .thread = { { "work" }, 1 } }, &code), 10);
    CHECK_EQ(weight_after((struct an_filter){ .thread = { { "101" }, 1 } }, &code), 90);
    CHECK_EQ(weight_after((struct an_filter){ .process = { { "app" }, 1 } }, &code), 100);
    CHECK_EQ(weight_after((struct an_filter){ .module = { { "libc" }, 1 } }, &code), 10);
    CHECK_EQ(weight_after((struct an_filter){ .function = { { "^two$" }, 1 } }, &code), 30);
    CHECK_EQ(weight_after((struct an_filter){ .function = { { "two", "one" }, 2 } }, &code), 100);
    CHECK_EQ(weight_after((struct an_filter){ .exclude = { { "mem" }, 1 } }, &code), 90);
    CHECK_EQ(weight_after((struct an_filter){ .time = "0.5-1.5" }, &code), 20);
    CHECK_EQ(weight_after((struct an_filter){ .time = "0.5-" }, &code), 30);
    CHECK_EQ(weight_after((struct an_filter){ .time = "-0.5" }, &code), 70);
}

/* A wait from 1 s to 3 s, and a timer sample that begins at 1 s. */
static int64_t weight_of_window(const char *window, uint32_t metric)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);
    struct an_view v = an_view_of(p, metric);
    struct err e = { 0 };
    int64_t w;

    sink_string(s, "wait", 4);
    sink_string(s, "ns", 2);
    sink_meta(s, "start_ns", "1000");
    sink_metric(s, &(struct metric){ .name = 1, .unit = 2, .flags = METRIC_EXACT | METRIC_OFF_CPU });
    sink_metric(s, &(struct metric){ .name = 2, .unit = 2, .period = 2000000000 });
    for (uint32_t i = 1; i <= 2; i++)
        sink_sample(s, &(struct sample){ .start_ns = 1000001000, .duration_ns = 2000000000,
                                         .metric = i, .cpu = -1, .weight = 2000000000,
                                         .count = 1 });
    CHECK_EQ(sink_end(s, &e), 0);
    w = an_filter_apply(p, &(struct an_filter){ .time = window }, &e) < 0 ? -1
                                                                         : an_sum_of(&v).weight;
    CHECK(w >= 0 || strstr(e.msg, "no samples match the filters"));
    profile_free(p);
    return w;
}

/* The sums of zones say nothing about a part of the recording. */
TEST(an_filter_drops_sums_over_the_whole_recording_from_a_window)
{
    struct profile *p = profile_new();
    struct sink *s = profile_sink(p);
    struct an_filter start = { .time = "0-1" }, app = { .exclude = { { "x" }, 1 } };
    struct err e = { 0 };

    sink_string(s, "zones", 5);
    sink_meta(s, "start_ns", "1000");
    sink_metric(s, &(struct metric){ .name = 1, .flags = METRIC_EXACT | METRIC_WHOLE });
    sink_sample(s, &(struct sample){ .start_ns = 1000, .metric = 1, .cpu = -1, .weight = 5,
                                     .count = 1 });
    CHECK_EQ(sink_end(s, &e), 0);
    CHECK_EQ(an_filter_apply(p, &app, &e), 0);
    CHECK_EQ(p->sample.n, 1);
    CHECK_EQ(an_filter_apply(p, &start, &e), -1);
    CHECK(strstr(e.msg, "only sums over the whole recording"));
    profile_free(p);
}

TEST(an_filter_clips_measured_samples_to_the_window)
{
    CHECK_EQ(weight_of_window("1.5-2", 1), 500000000);
    CHECK_EQ(weight_of_window("2-", 1), 1000000000);
    CHECK_EQ(weight_of_window("-1.25", 1), 250000000);
    CHECK_EQ(weight_of_window("0.5-9", 1), 2000000000);
    CHECK_EQ(weight_of_window("-1", 1), 0);
    CHECK_EQ(weight_of_window("-1", 2), 2000000000);
    CHECK_EQ(weight_of_window("1.5-2", 2), 0);
    CHECK_EQ(weight_of_window("3-4", 1), -1);
}

/* Two processes with spans and counters around one sample.  The clock starts at 1 s. */
static struct profile *trace(void)
{
    struct profile *p = profile_new();
    struct intern in;
    uint32_t process[2], thread[3], red, zone, name, module;

    intern_init(&in, profile_sink(p));
    sink_meta(in.out, "start_ns", "1000000000");
    intern_metric(&in, &(struct metric){ .name = intern_cstr(&in, "time"), .flags = METRIC_EXACT });
    for (uint32_t i = 0; i < 2; i++)
        process[i] = intern_process(&in, &(struct process){
            .pid = 10 + i, .name = intern_cstr(&in, i ? "db" : "app") });
    for (uint32_t i = 0; i < 3; i++)
        thread[i] = intern_thread(&in, &(struct thread){
            .process = process[i / 2], .tid = 20 + i,
            .name = intern_cstr(&in, i ? "work" : "main") });
    red = intern_tag(&in, 0, "color", "red");
    name = intern_cstr(&in, "load");
    module = intern_module(&in, &(struct module){ .path = intern_cstr(&in, "/app") });
    zone = intern_function(&in, &(struct function){ .name = name, .module = module });
    zone = intern_stack(&in, 0, intern_named_frame(&in, FRAME_ZONE, zone, 0));
    sink_sample(in.out, &(struct sample){ .start_ns = 1000000000, .thread = thread[0],
                                          .metric = 1, .cpu = -1, .weight = 1, .count = 1 });
    sink_span(in.out, &(struct span){ .start_ns = 2000000000, .duration_ns = 2000000000,
                                      .thread = thread[0], .name = name, .stack = zone });
    sink_span(in.out, &(struct span){ .start_ns = 3000000000, .thread = thread[1],
                                      .name = intern_cstr(&in, "tick"), .tags = red });
    sink_span(in.out, &(struct span){ .start_ns = 5000000000, .duration_ns = 1, .thread = thread[2],
                                      .name = intern_cstr(&in, "save") });
    for (uint32_t i = 0; i < 3; i++)
        sink_counter(in.out, &(struct counter){ .time_ns = (i + 2) * 1000000000ull,
                                                .process = i ? process[i - 1] : 0, .name = name,
                                                .tags = i == 1 ? red : 0 });
    CHECK_EQ(sink_end(in.out, NULL), 0);
    intern_release(&in);
    return p;
}

/* The names of the spans and the processes of the counters that are left. */
static const char *trace_after(struct an_filter f)
{
    static char left[64];
    struct profile *p = trace();
    struct err e = { 0 };
    size_t n = 0;

    f.is_trace = true;
    if (an_filter_apply(p, &f, &e) < 0) {
        CHECK_EQ(e.code, ERR_MISSING);
        profile_free(p);
        return "none";
    }
    left[0] = 0;
    for (size_t i = 0; i < p->span.n; i++)
        n += (size_t)snprintf(left + n, sizeof left - n, "%s ",
                              profile_string(p, p->span.v[i].name));
    for (size_t i = 0; i < p->counter.n; i++)
        n += (size_t)snprintf(left + n, sizeof left - n, "%u", p->counter.v[i].process);
    profile_free(p);
    return left;
}

TEST(an_filter_keeps_matching_spans_and_counters)
{
    CHECK_STR(trace_after((struct an_filter){ 0 }), "load tick save 012");
    CHECK_STR(trace_after((struct an_filter){ .process = { { "app" }, 1 } }), "load tick 1");
    CHECK_STR(trace_after((struct an_filter){ .process = { { "11" }, 1 } }), "save 2");
    CHECK_STR(trace_after((struct an_filter){ .thread = { { "20" }, 1 } }), "load 01");
    CHECK_STR(trace_after((struct an_filter){ .thread = { { "work" }, 1 } }), "tick save 012");
    CHECK_STR(trace_after((struct an_filter){ .thread = { { "work" }, 1 },
                                              .process = { { "db" }, 1 } }), "save 2");
    CHECK_STR(trace_after((struct an_filter){ .tag = { { "color=red" }, 1 } }), "tick 1");
    CHECK_STR(trace_after((struct an_filter){ .function = { { "^load$" }, 1 } }), "load 012");
    CHECK_STR(trace_after((struct an_filter){ .function = { { "^tick$" }, 1 } }), "tick 012");
    CHECK_STR(trace_after((struct an_filter){ .exclude = { { "a" }, 1 } }), "tick 012");
    CHECK_STR(trace_after((struct an_filter){ .module = { { "app" }, 1 } }), "load 012");
    CHECK_STR(trace_after((struct an_filter){ .time = "2-" }), "load tick save 12");
    CHECK_STR(trace_after((struct an_filter){ .time = "2.5-3" }), "load 2");
    CHECK_STR(trace_after((struct an_filter){ .time = "-1" }), "0");
    CHECK_STR(trace_after((struct an_filter){ .time = "6-" }), "none");
    CHECK_STR(trace_after((struct an_filter){ .thread = { { "idle" }, 1 } }), "none");
}

TEST(an_filter_cuts_spans_to_the_window)
{
    struct profile *p = trace();

    CHECK_EQ(an_filter_apply(p, &(struct an_filter){ .time = "1.5-2.25", .is_trace = true }, NULL),
             0);
    CHECK_EQ(p->sample.n, 0);
    CHECK_EQ(p->span.n, 2);
    CHECK_EQ(p->span.v[0].start_ns, 2500000000);
    CHECK_EQ(p->span.v[0].duration_ns, 750000000);
    CHECK_EQ(p->span.v[1].start_ns, 3000000000);
    CHECK_EQ(p->span.v[1].duration_ns, 0);
    profile_free(p);
}

TEST(an_filter_requires_samples_unless_spans_are_shown)
{
    struct profile *p = trace();
    struct err e = { 0 };

    CHECK_EQ(an_filter_apply(p, &(struct an_filter){ .time = "1.5-" }, &e), -1);
    CHECK_EQ(e.code, ERR_MISSING);
    profile_free(p);
}

TEST(an_filter_refuses_invalid_values)
{
    enum err_code code;

    CHECK_EQ(weight_after((struct an_filter){ .function = { { "(" }, 1 } }, &code), -1);
    CHECK_EQ(code, ERR_USAGE);
    CHECK_EQ(weight_after((struct an_filter){ .time = "soon" }, &code), -1);
    CHECK_EQ(code, ERR_USAGE);
    CHECK_EQ(weight_after((struct an_filter){ .time = "3-2" }, &code), -1);
    CHECK_EQ(weight_after((struct an_filter){ .time = "5" }, &code), -1);
    CHECK_EQ(code, ERR_USAGE);
    CHECK_EQ(weight_after((struct an_filter){ .tag = { { "=x" }, 1 } }, &code), -1);
    CHECK_EQ(code, ERR_USAGE);
    CHECK_EQ(weight_after((struct an_filter){ .tag = { { "color=red" }, 1 } }, &code), -1);
    CHECK_EQ(code, ERR_MISSING);
    CHECK_EQ(weight_after((struct an_filter){ .thread = { { "none" }, 1 } }, &code), -1);
    CHECK_EQ(code, ERR_MISSING);
}

TEST(profile_sums_of_weights_cannot_overflow)
{
    struct profile *p = build_profile("t a;b 9223372036854775807\nt a;c 9223372036854775807\n"
                                      "t a -9223372036854775808\n");
    struct an_symbols s;
    struct an_view v = an_view_of(p, 1);
    struct an_flat f;

    an_symbols_init(&s, p);
    an_flat_build(&f, &s, &v, AN_BY_FUNCTION);
    CHECK(f.all.weight == INT64_MAX);
    an_flat_release(&f);
    an_symbols_release(&s);
    profile_free(p);
}

TEST(an_groups_nest_at_most_six_levels)
{
    struct an_levels l;
    struct err e = { 0 };

    CHECK_EQ(an_levels_parse(&l, "process,thread,module,function,line,command", &e), 0);
    CHECK_EQ(l.n, 6);
    CHECK_EQ(an_levels_parse(&l, "process,thread,module,function,line,command,line", &e), -1);
    CHECK_EQ(e.code, ERR_USAGE);
}

/* The caller frees the result. */
static char *quality_of(const char *const (*meta)[2])
{
    struct profile *p = build_profile("app/main main 1\n");
    struct out o = out_memory();

    for (; (*meta)[0]; meta++)
        sink_meta(profile_sink(p), (*meta)[0], (*meta)[1]);
    an_quality_lines(p, &o);
    profile_free(p);
    return buf_text(&o.buf);
}

TEST(an_quality_names_the_modules_whose_code_was_not_walked)
{
    static const char *const meta[][2] = {
        { "quality.samples", "1000" }, { "quality.not_walked", "12" },
        { "quality.not_walked_in", "/bin/a, /bin/b" }, { NULL, NULL },
    };
    char *text = quality_of(meta);

    CHECK(strstr(text, "note: 12 stacks not walked: no unwind information in /bin/a, /bin/b\n"));
    free(text);
}

TEST(an_quality_does_not_call_chains_without_frame_pointers_unreadable)
{
    static const char *const meta[][2] = {
        { "quality.samples", "1000" }, { "quality.unreadable", "15" },
        { "quality.chains_ended", "12" }, { NULL, NULL },
    };
    char *text = quality_of(meta);

    CHECK(strstr(text, " 3 unreadable\n") != NULL);
    CHECK(strstr(text, "note: 12 frame-pointer chains are incomplete: code without frame pointers "
                       "hides its callers; record with --call-graph dwarf\n") != NULL);
    free(text);
}

TEST(an_quality_divides_by_the_right_totals)
{
    static const char *const meta[][2] = {
        { "quality.samples", "1000" }, { "quality.lost", "7" }, { "rate_asked", "999" },
        { "rate_achieved", "498.6" }, { "quality.stacks", "800" }, { "quality.complete", "600" },
        { "quality.truncated", "50" }, { "quality.recorder_cpu_ns", "20000000" },
        { "quality.target_cpu_ns", "200000000" }, { "quality.throttled", "3" }, { NULL, NULL },
    };
    char *said = quality_of(meta);

    CHECK(strstr(said, "1,000 samples"));
    CHECK(strstr(said, "7 lost"));
    CHECK(strstr(said, "499 of 999 Hz"));
    CHECK(strstr(said, "75.0 %"));
    CHECK(strstr(said, "50 truncated"));
    CHECK(strstr(said, "(10.0 %)"));
    CHECK(strstr(said, "3 times"));
    free(said);
}

/* Each key once with each value; undefined conversions end the test in the build with sanitizers. */
TEST(an_quality_takes_numbers_of_any_size)
{
    static const char *const keys[] = {
        "quality.samples", "quality.lost", "quality.stacks", "quality.complete",
        "quality.truncated", "quality.joined", "quality.unreadable", "quality.not_walked",
        "quality.throttled", "quality.threads_missed", "quality.unsampled_ns",
        "quality.target_cpu_ns", "quality.recorder_cpu_ns", "rate_asked", "rate_achieved",
    };
    static const char *const values[] = { "nan", "inf", "-inf", "1e300", "-1e300", "1e19" };

    for (size_t v = 0; v < ARRAY_LEN(values); v++) {
        const char *meta[ARRAY_LEN(keys) + 1][2] = { { NULL } };
        bool is_large = strncmp(values[v], "1e", 2) == 0;
        char *text;

        for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
            meta[k][0] = keys[k];
            meta[k][1] = values[v];
        }
        text = quality_of(meta);
        CHECK(!strstr(text, "-9,223,372,036,854,775,808"));
        CHECK_EQ(strstr(text, "9,223,372,036,854,775,807 samples") != NULL, is_large);
        CHECK_EQ(strstr(text, "9,223,372,036,854,775,807 lost") != NULL, is_large);
        CHECK_EQ(strstr(text, "9,223,372,036,854,775,807 truncated") != NULL, is_large);
        CHECK_EQ(strstr(text, "9,223,372,036,854,775,807 stacks not walked") != NULL, is_large);
        CHECK_EQ(strstr(text, "9,223,372,036,854,775,807 threads") != NULL, is_large);
        free(text);
    }
}

TEST(an_source_takes_a_name_with_its_parameters)
{
    struct profile *p = build_profile("app/main main;run(int) 5\napp/main main;runner 9\n"
                                      "app/main main;run<int> 1\n");
    struct an_source_query q = { p, an_view_of(p, 1) };
    uint32_t id[4];

    CHECK_EQ(an_source_named(&q, "run", id, 4), 2);
    CHECK_STR(profile_string(p, p->function.v[id[0] - 1].name), "run(int)");
    CHECK_STR(profile_string(p, p->function.v[id[1] - 1].name), "run<int>");
    CHECK_EQ(an_source_named(&q, "runn", id, 4), 1); /* a partial match, if no name is equal */
    profile_free(p);
}
