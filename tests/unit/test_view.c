/* test_view.c - running and waiting as one view; which threads are idle.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analyze/an_tags.h"
#include "analyze/an_filter.h"
#include "analyze/an_flat.h"
#include "analyze/an_group.h"
#include "analyze/an_list.h"
#include "analyze/an_report.h"
#include "analyze/an_threads.h"
#include "build_profile.h"
#include "test.h"

static const char pool[] = "app/main app!main;app!work 600\n"
                           "app/main app!main;app!work;[run queue] 100\n"
                           "app/main app!main;libc!read;[read] 200\n"
                           "app/main app!main;libc!read;[run queue] 100\n"
                           "app/worker app!start;app!loop;libc!cond_wait;[futex] 990\n"
                           "app/worker app!start;app!loop 10\n";

static struct an_view view_of(const struct profile *p, const char *name, enum an_view_way way)
{
    struct err e = { 0 };
    struct an_view v;

    if (an_view_open(&v, p, name, way, &e) < 0)
        test_fail(__FILE__, __LINE__, "%s", e.msg);
    return v;
}

static int64_t kind_of(const struct an_view *v, const int64_t *kind, const char *name)
{
    for (unsigned i = 0; i < v->n_kinds; i++)
        if (strcmp(v->kind[i], name) == 0)
            return kind[i];
    return -1;
}

static const struct an_row *find(const struct an_flat *f, const char *name)
{
    for (size_t i = 0; i < f->row.n; i++)
        if (strcmp(f->row.v[i].name, name) == 0)
            return &f->row.v[i];
    return NULL;
}

TEST(view_is_exact_if_its_only_metric_is)
{
    struct profile *p = build_profile(pool);
    struct an_view v;

    p->metric.v[0].flags |= METRIC_EXACT;
    v = an_view_of(p, 1);
    CHECK(an_view_is_exact(&v));
    v = view_of(p, "wall", AN_VIEW_KINDS);
    CHECK(!an_view_is_exact(&v));
    an_view_release(&v);
    profile_free(p);
}

TEST(view_calls_an_unknown_wait_as_its_tag_does)
{
    struct profile *p = build_profile("t main 5\nt main;[unknown] 7\nt main 3w\n");
    struct an_view v = view_of(p, NULL, AN_VIEW_KINDS);

    CHECK_EQ(v.n_kinds, 2);
    CHECK_STR(v.kind[1], "unknown");
    an_view_release(&v);
    profile_free(p);
}

TEST(view_an_unknown_wait_is_not_drawn_as_an_unknown_function)
{
    struct profile *p = build_profile("t main 5\nt main;[unknown] 7\n");
    struct an_view v = view_of(p, "wall", AN_VIEW_PLAIN);
    struct an_symbols s;
    struct an_flat f;

    an_waits_draw(p);
    an_symbols_init(&s, p);
    an_flat_build(&f, &s, &v, AN_BY_FUNCTION);
    CHECK(find(&f, "[unknown wait]") && find(&f, "[unknown wait]")->self == 7);
    an_flat_release(&f);
    an_symbols_release(&s);
    an_view_release(&v);
    profile_free(p);
}

TEST(report_counts_idle_threads_if_asked)
{
    struct profile *p = build_profile(pool);

    for (int idle = 0; idle < 2; idle++) {
        struct an_report_query q = { .sort = "self", .rows = UINT64_MAX, .min_pct = 0,
                                     .idle = idle };
        struct an_view v = view_of(p, NULL, AN_VIEW_KINDS);
        struct an_report r;
        struct err e = { 0 };

        CHECK_EQ(an_report_build(&r, &v, &q, &e), 0);
        CHECK_EQ(r.all.weight, idle ? 2000 : 1010);
        an_report_release(&r);
        an_view_release(&v);
    }
    profile_free(p);
}

/* A shell that executes another program is two items of the profile with one id. */
TEST(report_counts_a_thread_once_that_executed_another_program)
{
    struct profile *p = build_profile("sh/sh main 500\n"
                                      "sh/sh main;[disk] 500w\n"
                                      "gzip/gzip main;[disk] 500w\n"
                                      "sh/worker main 300\n"
                                      "cat/cat main 300\n");
    struct an_report_query q = { .sort = "self", .rows = UINT64_MAX };
    struct an_view v;
    struct an_report r;
    struct err e = { 0 };

    CHECK_EQ(p->thread.n, 4);
    p->process.v[1].pid = p->process.v[0].pid;
    p->thread.v[1].tid = p->thread.v[0].tid;
    p->thread.v[3].tid = 0;
    v = view_of(p, NULL, AN_VIEW_KINDS);
    CHECK_EQ(an_report_build(&r, &v, &q, &e), 0);
    CHECK(strstr(buf_text(&r.result.head), "wall: 2.10 us of 3 threads = ") != NULL);
    CHECK_EQ(r.threads.v.n, 4);
    an_report_release(&r);
    an_view_release(&v);
    profile_free(p);
}

TEST(report_divides_running_and_each_wait_by_the_whole)
{
    struct profile *p = build_profile(pool);
    struct an_report_query q = { .sort = "self", .rows = UINT64_MAX, .idle = true };
    struct an_view v = view_of(p, NULL, AN_VIEW_KINDS);
    struct an_report r;
    struct err e = { 0 };

    CHECK_EQ(an_report_build(&r, &v, &q, &e), 0);
    CHECK(strstr(buf_text(&r.result.head),
                 "wall: 2.00 us of 2 threads = running 610 ns (30.5 %) + waiting 1.39 us (69.5 %)"));
    CHECK(strstr(buf_text(&r.result.head),
                 "\nwaiting: futex 990 ns (49.5 %), run queue 200 ns (10.0 %), "
                 "read 200 ns (10.0 %)\n"));
    an_report_release(&r);
    an_view_release(&v);
    profile_free(p);
}

static bool head_has(const char *profile, const char *text)
{
    struct profile *p = build_profile(profile);
    struct an_report_query q = { .sort = "self", .rows = UINT64_MAX };
    struct an_view v = view_of(p, NULL, AN_VIEW_KINDS);
    struct an_report r;
    struct err e = { 0 };
    bool has;

    CHECK_EQ(an_report_build(&r, &v, &q, &e), 0);
    has = strstr(buf_text(&r.result.head), text) != NULL;
    an_report_release(&r);
    an_view_release(&v);
    profile_free(p);
    return has;
}

TEST(report_says_how_much_of_the_waiting_was_not_observed)
{
#define SEEN "t main 900\nt main;[read] 50\n"
    CHECK(head_has(SEEN "t main;[unknown];[guessed] 70\nt main;[run queue];[guessed] 400\n",
                   "\n70.0 ns of the waiting was not observed; "));
    /* a preempted thread is in the run queue; nothing else has to be observed */
    CHECK(!head_has(SEEN "t main;[run queue];[guessed] 400\n", "observed"));
}

TEST(report_names_the_place_of_an_idle_thread_without_a_stack)
{
    CHECK(head_has("a/m main;work 900\na/m main;write;[write] 100\na/w [sleep] 1000\n",
                   "1 idle thread not counted (--idle): 1 in [no stack] (sleep)\n"));
}

TEST(report_divides_the_cost_of_a_row_into_running_and_waiting)
{
    struct profile *p = build_profile(pool);
    struct an_report_query q = { .sort = "self", .rows = 1 };
    struct an_view v = view_of(p, "wall", AN_VIEW_KINDS);
    struct out o = out_memory();
    struct an_report r;
    struct err e = { 0 };

    CHECK_EQ(an_report_build(&r, &v, &q, &e), 0);
    result_print(&r.result, RESULT_AS_CSV, &o, NULL);
    CHECK(strstr(buf_text(&o.buf), ",self,self_pct,running,waiting,") != NULL);
    CHECK(strstr(buf_text(&o.buf), "\nwork,app,,0,700,69.3069,600,100,") != NULL);
    out_close(&o, NULL);
    an_report_release(&r);
    an_view_release(&v);
    profile_free(p);
}

TEST(report_counts_the_modules_without_symbols_that_it_hides)
{
    for (uint32_t n = 10; n <= 11; n++) {
        struct buf lines = { 0 };
        struct an_report_query q = { .sort = "self", .rows = 1 };
        struct out o = out_memory();
        struct profile *p;
        struct an_report r;
        struct an_view v;
        struct err e = { 0 };

        for (uint32_t i = 0; i < n; i++)
            buf_printf(&lines, "t m%u!f %u\n", i, i + 1);
        p = build_profile(buf_text(&lines));
        sink_string(profile_sink(p), "none", 4);
        for (size_t i = 0; i < p->module.n; i++)
            p->module.v[i].symbols = (uint32_t)p->string.n;
        v = view_of(p, "cpu", AN_VIEW_PLAIN);
        CHECK_EQ(an_report_build(&r, &v, &q, &e), 0);
        result_print(&r.result, RESULT_AS_TEXT, &o, &(struct term){ 0 });
        CHECK(strstr(buf_text(&o.buf), "modules without full symbols\n") != NULL);
        CHECK_EQ(strstr(buf_text(&o.buf), "... 1 more; --json lists all\n") != NULL, n == 11);
        CHECK_EQ(strstr(buf_text(&o.buf), "more; --json") != NULL, n == 11);
        out_close(&o, NULL);
        an_report_release(&r);
        an_view_release(&v);
        profile_free(p);
        buf_release(&lines);
    }
}

TEST(report_shows_no_modules_without_symbols_that_hardly_matter)
{
    static const struct {
        const char *lines;
        bool any, more;
    } cases[] = {
        { "t m!f 995\nt x!f 5\n", true, false },
        { "t m!f 996\nt x!f 4\n", true, true },
        { "t f 996\nt x!f 4\n", false, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct profile *p = build_profile(cases[i].lines);
        struct an_report_query q = { .sort = "self", .rows = 1 };
        struct out o = out_memory(), json = out_memory();
        struct an_report r;
        struct an_view v;
        struct err e = { 0 };

        sink_string(profile_sink(p), "none", 4);
        for (size_t m = 0; m < p->module.n; m++)
            p->module.v[m].symbols = (uint32_t)p->string.n;
        v = view_of(p, "cpu", AN_VIEW_PLAIN);
        CHECK_EQ(an_report_build(&r, &v, &q, &e), 0);
        result_print(&r.result, RESULT_AS_TEXT, &o, &(struct term){ 0 });
        result_print(&r.result, RESULT_AS_JSON, &json, NULL);
        CHECK_EQ(strstr(buf_text(&o.buf), "without full symbols") != NULL, cases[i].any);
        CHECK_EQ(strstr(buf_text(&o.buf), "... 1 more; --json lists all\n") != NULL, cases[i].more);
        CHECK(strstr(buf_text(&json.buf), "{\"module\":\"/lib/x\",") != NULL);
        out_close(&o, NULL);
        out_close(&json, NULL);
        an_report_release(&r);
        an_view_release(&v);
        profile_free(p);
    }
}

/* The hidden group moves those after it. */
TEST(report_links_groups_to_their_parents_after_hiding_some)
{
    struct profile *p = build_profile("one/t a 60\none/t b 1\ntwo/t c 39\n");
    struct an_report_query q = { .sort = "self", .rows = UINT64_MAX, .min_pct = 10,
                                 .levels = { .by = { AN_BY_PROCESS, AN_BY_FUNCTION }, .n = 2 } };
    struct an_view v = view_of(p, "cpu", AN_VIEW_PLAIN);
    struct an_report r;
    struct err e = { 0 };

    CHECK_EQ(an_report_build(&r, &v, &q, &e), 0);
    CHECK_EQ(r.groups.group.n, 4);
    CHECK(strncmp(r.groups.group.v[2].name, "two", 3) == 0);
    CHECK_STR(r.groups.group.v[3].name, "c");
    CHECK_EQ(r.groups.group.v[1].parent, 0);
    CHECK_EQ(r.groups.group.v[3].parent, 2);
    CHECK_EQ(r.hidden_rows, 1);
    CHECK_EQ(r.hidden_weight, 1);
    an_report_release(&r);
    an_view_release(&v);
    profile_free(p);
}

TEST(view_defaults_to_wall_if_both_metrics_exist)
{
    struct profile *p = build_profile(pool);
    struct an_view v = view_of(p, NULL, AN_VIEW_KINDS);

    CHECK_STR(an_view_name(&v), "wall");
    CHECK_STR(an_view_unit(&v), "ns");
    CHECK(!an_view_is_exact(&v));
    CHECK_EQ(an_sum_of(&v).weight, 1010); /* without waits of the idle thread */
    v.all_threads = true;
    CHECK_EQ(an_sum_of(&v).weight, 2000);
    an_view_release(&v);

    v = view_of(p, NULL, AN_VIEW_PLAIN);
    CHECK_STR(an_view_name(&v), "cpu");
    CHECK_EQ(an_sum_of(&v).weight, 610);
    an_view_release(&v);
    v = view_of(p, "wait", AN_VIEW_KINDS);
    CHECK_STR(an_view_name(&v), "wait");
    CHECK(an_view_is_exact(&v));
    CHECK_EQ(an_sum_of(&v).weight, 1390);
    an_view_release(&v);
    profile_free(p);
}

TEST(view_a_wait_belongs_to_the_function_that_waits)
{
    struct profile *p = build_profile(pool);
    struct an_view v = view_of(p, NULL, AN_VIEW_KINDS);
    struct an_symbols s;
    struct an_flat f;
    const struct an_row *r;

    an_symbols_init(&s, p);
    an_flat_build(&f, &s, &v, AN_BY_FUNCTION);
    r = find(&f, "read");
    CHECK(r && r->self == 300 && r->wait == 300 && r->wait_total == 300);
    CHECK_EQ(kind_of(&v, r->kind, "read"), 200);
    CHECK_EQ(kind_of(&v, r->kind, "run queue"), 100);
    r = find(&f, "main");
    CHECK(r && r->self == 0 && r->total == 1000 && r->wait == 0 && r->wait_total == 400);
    CHECK(!r->kind);
    CHECK(!find(&f, "[read]") && !find(&f, "[futex]"));
    an_flat_release(&f);
    an_symbols_release(&s);
    an_view_release(&v);
    profile_free(p);
}

TEST(view_a_plain_wall_keeps_idle_threads_and_waits_can_be_drawn)
{
    struct profile *p = build_profile(pool);
    struct an_view v = view_of(p, "wall", AN_VIEW_PLAIN);
    struct an_symbols s;
    struct an_flat f;
    size_t stacks;

    an_waits_draw(p);
    stacks = p->stack.n;
    an_waits_draw(p); /* already drawn */
    CHECK_EQ(p->stack.n, stacks);
    an_symbols_init(&s, p);
    an_flat_build(&f, &s, &v, AN_BY_FUNCTION);
    CHECK_EQ(f.all.weight, 2000);
    CHECK(find(&f, "[futex]") && find(&f, "[futex]")->self == 990);
    an_flat_release(&f);
    an_symbols_release(&s);
    an_view_release(&v);
    profile_free(p);
}

/* In a frame with inlined calls, the innermost one may be the note. */
TEST(view_draws_no_wait_that_the_innermost_call_shows)
{
    struct profile *p = build_profile("t main+[futex];[futex] 10\nt read+f;[read] 20\n");

    CHECK_EQ(p->stack.n, 2);
    an_waits_draw(p);
    CHECK_EQ(p->stack.n, 3); /* only [read] was added */
    CHECK_EQ(p->sample.v[0].stack, 1);
    CHECK_EQ(p->sample.v[1].stack, 3);
    profile_free(p);
}

TEST(view_trees_and_groups_divide_waiting_from_running)
{
    struct profile *p = build_profile(pool);
    struct an_view v = view_of(p, NULL, AN_VIEW_KINDS);
    struct an_levels by = { .by = { AN_BY_THREAD }, .n = 1 };
    int64_t *self, *wait, *kinds, *callers, *waiting;
    struct an_symbols s;
    struct an_groups g;
    struct an_tree t, c;
    struct an_list l;
    struct err e = { 0 };

    an_symbols_init(&s, p);
    an_tree_build(&t, &s, NULL);
    self = an_tree_self(&t, &v, NULL);
    wait = an_tree_waits(&t, &v, &kinds);
    an_list_build(&l, &t, &s, self, wait, 0);
    CHECK_EQ(l.line.v[0].total, 1000);
    CHECK_EQ(l.line.v[0].wait, 400);
    CHECK_EQ(kind_of(&v, &kinds[(size_t)l.line.v[1].node * AN_KINDS], "run queue"), 100);
    an_list_release(&l);

    CHECK(an_callers_build(&c, &callers, &waiting, &s, &v, "read", &e) == 0);
    an_list_build(&l, &c, &s, callers, waiting, 0);
    CHECK(l.line.v[0].total == 300 && l.line.v[0].wait == 300);
    an_list_release(&l);

    v.all_threads = true;
    an_groups_build(&g, &s, &v, &by);
    CHECK_EQ(g.group.n, 2);
    CHECK(g.group.v[0].weight == 1000 && g.group.v[0].wait == 400 && !g.group.v[0].idle);
    CHECK(g.group.v[1].weight == 1000 && g.group.v[1].wait == 990 && g.group.v[1].idle);
    an_groups_release(&g);
    free(self), free(wait), free(kinds), free(callers), free(waiting);
    an_tree_release(&t);
    an_tree_release(&c);
    an_symbols_release(&s);
    an_view_release(&v);
    profile_free(p);
}

static size_t idle_in(const char *text)
{
    struct profile *p = build_profile(text);
    struct an_view v = view_of(p, "wall", AN_VIEW_KINDS);
    struct an_threads t;
    size_t n;

    an_threads_build(&t, &v);
    n = t.n_idle;
    an_threads_release(&t);
    an_view_release(&v);
    profile_free(p);
    return n;
}

TEST(view_only_threads_that_wait_for_work_are_idle)
{
#define BUSY "a/m main;work 900\na/m main;write;[write] 100\n"
    CHECK_EQ(idle_in(pool), 1);
    CHECK_EQ(idle_in(BUSY "a/w start;clock_nanosleep;[sleep] 1000\n"), 1);
    /* a thread that waits for a lock is of interest */
    CHECK_EQ(idle_in(BUSY "a/w start;pthread_mutex_lock;lll;[futex] 1000\n"), 0);
    CHECK_EQ(idle_in(BUSY "a/w start;block_on;park;[futex] 1000\n"), 1);
    CHECK_EQ(idle_in(BUSY "a/w start;fsync;[disk] 1000\n"), 0);
    /* a thread that runs, or waits in several places */
    CHECK_EQ(idle_in(BUSY "a/w start;cond;[futex] 900\na/w start 100\n"), 0);
    CHECK_EQ(idle_in(BUSY "a/w start;cond;[futex] 500\na/w start;poll;[poll] 500\n"), 0);
    /* waiting for a CPU is not idling */
    CHECK_EQ(idle_in(BUSY "a/w start;cond;[futex] 900\na/w start;[run queue] 100\n"), 0);
    /* otherwise nothing would remain */
    CHECK_EQ(idle_in("a/m main;poll;[poll] 1000\na/dns start;work 10\n"), 0);
    CHECK_EQ(idle_in("a/m main;[child] 1000\nb/m main;[sleep] 1000\na/m main 1\n"), 0);
}

TEST(view_threads_come_busiest_first_and_idle_ones_last)
{
    struct profile *p = build_profile("a/m main;work 500\na/m main;write;[write] 100\n"
                                      "a/n main;work 900\na/w start;cond;[futex] 2000\n");
    struct an_view v = view_of(p, "wall", AN_VIEW_KINDS);
    struct an_threads t;

    an_threads_build(&t, &v);
    CHECK_EQ(t.v.n, 3);
    CHECK_EQ(t.v.v[0].thread, 2);
    CHECK_EQ(t.v.v[1].thread, 1);
    CHECK(t.v.v[2].idle && t.v.v[2].thread == 3);
    CHECK_EQ(t.v.v[1].waiting, 100);
    CHECK_EQ(t.v.v[0].waiting, 0);
    CHECK_EQ(t.waiting, 100); /* without the idle one's */
    CHECK_EQ(t.kind[0], 1400);
    an_threads_release(&t);
    an_view_release(&v);
    profile_free(p);
}

TEST(view_a_filter_by_module_keeps_the_waits_of_its_functions)
{
    struct profile *p = build_profile(pool);
    struct an_filter f = { .module = { { "libc" }, 1 } };
    struct an_view v;
    struct err e = { 0 };

    CHECK(an_filter_apply(p, &f, &e) == 0);
    v = view_of(p, "wait", AN_VIEW_KINDS);
    CHECK_EQ(an_sum_of(&v).weight, 1290); /* read and cond_wait, not work */
    an_view_release(&v);
    profile_free(p);
}

TEST(view_unknown_names_are_refused)
{
    struct profile *p = build_profile("t main 5\n");
    struct an_view v;
    struct err e = { 0 };

    CHECK(an_view_open(&v, p, "wall", AN_VIEW_KINDS, &e) < 0 && e.code == ERR_MISSING);
    an_view_release(&v);
    v = view_of(p, NULL, AN_VIEW_KINDS);
    CHECK_STR(an_view_name(&v), "cpu");
    CHECK_EQ(an_sum_of(&v).weight, 5);
    an_view_release(&v);
    profile_free(p);
}

TEST(view_sums_of_two_metrics_cannot_overflow)
{
    struct profile *p = build_profile("t main 9000000000000000000\nt main;[x] 9000000000000000000\n");
    struct an_view v = view_of(p, NULL, AN_VIEW_KINDS);

    CHECK_STR(an_view_name(&v), "cpu");
    an_view_release(&v);
    profile_free(p);
}
