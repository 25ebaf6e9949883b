/* rt_exact.c - figures that must be exact to the nanosecond, with a fake clock.
 * SPDX-License-Identifier: Apache-2.0 */
#include "rt_fake_clock.h"
#include "rt_test.h"

static void work(uint64_t ns)
{
    FATHOM_ZONE("work");
    pass_ns(ns);
}

/* The slow calls come first, so that the page still open at the end has fast ones only. */
static void percentiles(void)
{
    fathom_enable();
    for (int i = 0; i < 1000; i++)
        work(i == 0 ? 40 : i < 50 ? 14 : i < 200 ? 12 : 10);
    fathom_report(stdout, FATHOM_JSON, NULL);
}

static void without_percentiles(void)
{
    struct fathom_config c = { .size = sizeof c, .no_percentiles = 1 };

    fathom_start(&c);
    fathom_enable();
    for (int i = 0; i < 1000; i++)
        work(10);
    fathom_report(stdout, FATHOM_JSON, NULL);
}

static void show_lock(const struct fathom_stat *s, void *arg)
{
    (void)arg;
    show(s->kind == 7 ? "hold" : "wait", s->total_ns);
}

static void locks(void)
{
    struct fathom_lock l = { "queue", NULL, NULL, 0 };

    fathom_enable();
    for (int i = 0; i < 10; i++) {
        struct fathom_zone z = fathom_lock_wait(&l);

        pass_ns(300);
        fathom_lock_got(&l, &z);
        pass_ns(70);
        fathom_lock_release(&l);
    }
    fathom_each(NULL, 0, show_lock, NULL);
}

static void fit(void)
{
    fathom_enable();
    for (unsigned i = 0; i < 100; i++) {
        FATHOM_OP("send", 1000 + i, "cpu");
        pass_ns(5000 + 2 * (1000 + i));
    }
    fathom_report(stdout, FATHOM_JSON, NULL);
}

static fathom_context query_in(const char *name)
{
    FATHOM_CONTEXT(name);
    FATHOM_CONTEXT("query");
    return fathom_context_now();
}

static void contexts(void)
{
    fathom_context a, b;

    fathom_enable();
    a = query_in("request");
    b = query_in("job");
    show("differ", a != b);
    show("stay", query_in("request") == a && query_in("job") == b);
}

static void descend(int levels)
{
    FATHOM_ZONE("level");
    if (levels > 1)
        descend(levels - 1);
}

static void add_count(const struct fathom_stat *s, void *arg)
{
    *(double *)arg += (double)s->count;
}

/* More call paths than fit. */
static void lost_nodes(void)
{
    struct fathom_config c = { .size = sizeof c, .memory_bytes = 1 << 20, .no_percentiles = 1 };
    double counted = 0;

    fathom_start(&c);
    fathom_enable();
    descend(9000);
    fathom_each(NULL, 0, add_count, &counted);
    show("counted", counted);
    show("lost", (double)fathom_lost(FATHOM_LOST_NODE));
}

static const struct rt_case cases[] = {
    { "percentiles", percentiles }, { "without-percentiles", without_percentiles },
    { "locks", locks },             { "fit", fit },
    { "contexts", contexts },       { "lost-nodes", lost_nodes },
    { NULL, NULL } };

int main(int argc, char **argv)
{
    return rt_main(argc, argv, cases);
}
