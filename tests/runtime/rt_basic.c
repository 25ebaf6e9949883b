/* rt_basic.c - counting, nesting, modes, contexts, schedules, all in one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "rt_test.h"

static void leaf(void)
{
    FATHOM_ZONE("leaf");
}

static void branch(int n)
{
    FATHOM_ZONE("branch");
    for (int i = 0; i < n; i++)
        leaf();
}

static void counts(void)
{
    fathom_enable();
    for (int i = 0; i < 100; i++)
        branch(10);
    leaf();
    show("branch", (double)count_of("branch"));
    show("branch/leaf", (double)count_of("branch/leaf"));
    show("leaf", (double)count_of("leaf"));
    show("self_fits", line_of("branch").self_ns <= line_of("branch").total_ns);
}

static void off(void)
{
    leaf();
    show("before", fathom_enabled());
    fathom_enable();
    leaf();
    fathom_disable();
    leaf();
    fathom_enable();
    leaf();
    show("leaf", (double)count_of("leaf"));
}

static void clear(void)
{
    fathom_enable();
    branch(3);
    fathom_clear();
    show("after", (double)count_of("branch/leaf"));
    branch(5);
    show("again", (double)count_of("branch/leaf"));
}

static void modes(void)
{
    fathom_enable();
    show("matched", fathom_mode("leaf", FATHOM_MODE_OFF));
    branch(4);
    show("off", (double)count_of("branch/leaf"));
    fathom_mode("leaf", FATHOM_MODE_COUNT);
    branch(4);
    show("counted", (double)count_of("branch/leaf"));
    show("timed", (double)line_of("branch/leaf").timed);
    fathom_mode("leaf", FATHOM_MODE_PRECISE);
    branch(4);
    show("precise", (double)count_of("branch/leaf"));
    fathom_mode("app", FATHOM_MODE_OFF);
    branch(4);
    show("group_off", (double)count_of("branch/leaf"));
}

static void sampled_leaf(void)
{
    FATHOM_ZONE_N("sampled", 16);
}

static void sampling(void)
{
    struct fathom_stat s;

    fathom_enable();
    for (int i = 0; i < 16000; i++)
        sampled_leaf();
    s = line_of("sampled");
    show("count", (double)s.count);
    show("timed", (double)s.timed);
}

static void lap(void)
{
    fathom_enable();
    FATHOM_BEGIN(z, "one");
    FATHOM_LAP(z, "two");
    FATHOM_LAP(z, "three");
    FATHOM_END(z);
    leaf();
    show("one", (double)count_of("one"));
    show("two", (double)count_of("two"));
    show("three", (double)count_of("three"));
    show("leaf", (double)count_of("leaf"));
}

static void in_request(void)
{
    FATHOM_CONTEXT("request");
    leaf();
    {
        FATHOM_CONTEXT("query");
        branch(2);
    }
}

static void count_lines(const struct fathom_stat *s, void *arg)
{
    *(double *)arg += (double)s->count;
}

static double in_context(const char *name)
{
    double n = 0;

    fathom_each(name, 0, count_lines, &n);
    return n;
}

static void contexts(void)
{
    fathom_enable();
    leaf();
    in_request();
    in_request();
    show("request", in_context("request"));
    show("query", in_context("query"));
    show("all", in_context(NULL));
    show("none_left", fathom_context_now());
}

static void pick(const struct fathom_stat *s, void *arg)
{
    (void)arg;
    printf("line %s %s %s %llu %.10g\n", s->name, s->backend[0] ? s->backend : "-",
           s->label[0] ? s->label : "-", (unsigned long long)s->count, s->bytes);
}

static void ops(void)
{
    fathom_enable();
    for (int i = 0; i < 4; i++) {
        FATHOM_OP_V(o, "gemm", 1000, i & 1 ? "cpu" : "gpu");
        if (i == 3)
            fathom_op_bytes(&o, 5000);
    }
    {
        FATHOM_OP_V(o, "gemm", 10, "cpu");
        fathom_op_backend(&o, "avx2");
        fathom_op_label(&o, "worker=\"7\"");
    }
    fathom_each(NULL, 0, pick, NULL);
}

static void values(void)
{
    struct fathom_stat s;

    fathom_enable();
    for (int i = 0; i < 10; i++) {
        FATHOM_COUNT("items", i);
        FATHOM_GAUGE("depth", 10 - i);
        FATHOM_INSTANT("tick");
        FATHOM_FRAME("frame");
        FATHOM_FLOW("flow", (uint64_t)i);
        FATHOM_ALLOC("pool", 100);
        if (i > 5)
            FATHOM_FREE("pool", 100);
    }
    show("items", line_of("items").bytes);
    show("depth", line_of("depth").bytes);
    show("tick", (double)count_of("tick"));
    show("frames", (double)count_of("frame"));
    s = line_of("pool");
    show("pool", s.bytes);
    for (int i = 0; i < 100; i++) {
        char label[32];

        snprintf(label, sizeof label, "n=\"%d\"", i);
        FATHOM_COUNT_L("labelled", 1, label);
    }
    show("labelled", (double)count_of("labelled"));
    show("lost_labels", (double)fathom_lost(FATHOM_LOST_LABEL));
}

static void locks(void)
{
    struct fathom_lock l = { "queue", NULL, NULL, 0 };
    int kinds[2] = { 0, 0 };

    fathom_enable();
    for (int i = 0; i < 3; i++) {
        struct fathom_zone z = fathom_lock_wait(&l);

        fathom_lock_got(&l, &z);
        leaf();
        fathom_lock_release(&l);
    }
    (void)kinds;
    show("queue", (double)count_of("queue"));
    show("leaf", (double)count_of("leaf"));
}

static int ready_calls;
static double ready_counts;

static void ready(void *arg)
{
    (void)arg;
    ready_calls++;
    ready_counts += (double)count_of("leaf");
}

static void schedule(void)
{
    struct fathom_plan plan = { 2, 1, 1, 3, 2 };

    fathom_schedule(&plan, ready, NULL);
    for (int i = 0; i < 30; i++) {
        leaf();
        fathom_step();
    }
    show("ready", ready_calls);
    show("leaves", ready_counts);
    show("on_at_end", fathom_enabled());
}

static void open_zone(void)
{
    struct fathom_stat s;

    fathom_enable();
    FATHOM_ZONE("still_open");
    leaf();
    spin_ns(2000000);
    s = line_of("still_open");
    show("open", (double)s.open);
    show("has_time", s.total_ns > 1000000);
}

static void long_zone(void)
{
    fathom_enable();
    for (int depth = 0; depth < 3; depth++) {
        FATHOM_ZONE("a");
        FATHOM_ZONE_V(b, "b");
        leaf();
    }
    show("deep", (double)count_of("a/b/leaf"));
}

static void statistics(void)
{
    struct fathom_stat s;

    fathom_enable();
    for (int i = 0; i < 1000; i++) {
        FATHOM_ZONE("work");
        spin_ns(i % 10 == 9 ? 100000 : 10000);
    }
    s = line_of("work");
    show("ordered", s.min_ns <= s.p50_ns && s.p50_ns <= s.p90_ns && s.p90_ns <= s.p99_ns &&
                       s.p99_ns <= s.p999_ns && s.p999_ns <= s.max_ns + 1 &&
                       s.min_ns <= s.mean_ns && s.mean_ns <= s.max_ns);
    show("min_ns", s.min_ns);
    show("p50_ns", s.p50_ns);
    show("sum_fits", s.total_ns >= 1000 * 10000.0 * 0.99);
}

static void reserved(void)
{
    static char text[1 << 16];

    fathom_enable();
    branch(2);
    for (int f = FATHOM_TABLE; f <= FATHOM_CSV; f++)
        show("length", fathom_report_text(text, sizeof text, (enum fathom_format)f, NULL) > 20);
    show("bad_format", fathom_report_text(text, sizeof text, FATHOM_CHROME, NULL));
    fathom_report_text(text, sizeof text, FATHOM_JSON, NULL);
    fputs(text, stdout);
}

/* Everything in a report that does not depend on the clock. */
static void figures(void)
{
    static char text[1 << 16], cut[64];

    fathom_enable();
    for (int i = 0; i < 1000; i++)
        sampled_leaf();
    values();
    memset(cut, '#', sizeof cut);
    fathom_report_text(cut, 40, FATHOM_JSON, NULL);
    show("cut", (double)strlen(cut));
    fathom_report_text(text, sizeof text, FATHOM_JSON, NULL);
    fputs(text, stdout);
    puts("CSV");
    fathom_report_text(text, sizeof text, FATHOM_CSV, NULL);
    fputs(text, stdout);
}

static const struct rt_case cases[] = {
    { "counts", counts },     { "off", off },         { "clear", clear },
    { "modes", modes },       { "sampling", sampling }, { "lap", lap },
    { "contexts", contexts }, { "ops", ops },         { "values", values },
    { "locks", locks },       { "schedule", schedule }, { "open", open_zone },
    { "deep", long_zone },    { "statistics", statistics }, { "formats", reserved },
    { "figures", figures },
    { NULL, NULL } };

int main(int argc, char **argv)
{
    return rt_main(argc, argv, cases);
}
