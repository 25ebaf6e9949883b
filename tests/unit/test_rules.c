/* test_rules.c - each rule on hand-made rows: one row that it must fire on, and a near miss.  A
 * rule without a case here does not compile.  SPDX-License-Identifier: Apache-2.0 */
#include "rules/rules.h"

#include "base/mem.h"
#include "test.h"

/* ---- Rows made by hand ---- */

static struct zone_row rows[8];
static uint64_t hist[8][LIVE_BUCKETS];
static struct zone_rows zones;

static struct zone_row *add_row(const char *name, int kind, uint32_t parent, double count, double mean)
{
    struct zone_row *w = &rows[zones.n];

    *w = (struct zone_row){ .parent = parent, .child = LIVE_NO_NODE, .next = LIVE_NO_NODE,
                       .kind = (uint32_t)kind, .name = name, .file = "", .backend = "",
                       .label = "", .thread = "", .count = (uint64_t)count, .threads = 1,
                       .mean = mean, .total = count * mean, .self = count * mean, .p50 = mean,
                       .p90 = mean, .p99 = mean, .p999 = mean, .max = mean, .first = mean,
                       .thread_max = count * mean, .hist = hist[zones.n] };
    zones.n++;
    return w;
}

static void start(void)
{
    memset(&zones, 0, sizeof zones);
    memset(hist, 0, sizeof hist);
    zones.row = rows;
    zones.ns_per_tick = 1;
    zones.view.head.cost[0] = (struct live_cost){ 10, 22 };
    add_row("", LIVE_ROOT, LIVE_NO_NODE, 0, 0);
    add_row("rest", LIVE_ZONE, 0, 1000, 100000); /* 100 ms of other work */
}

static void sums(struct zone_row *w, const double *bytes, const double *ticks, int n)
{
    for (int i = 0; i < n; i++) {
        double x = bytes[i], y = ticks[i], lx = __builtin_log2(x), ly = __builtin_log2(y);

        w->n++, w->x += x, w->y += y, w->xx += x * x, w->xy += x * y, w->yy += y * y;
        w->ln++, w->lx += lx, w->ly += ly, w->lxx += lx * lx, w->lxy += lx * ly;
        w->t += i, w->tt += (double)i * i, w->ty += (double)i * y;
        w->bytes += x;
    }
}

/* ---- Cases: case_x sets up a row "it" that rule x fires on, or with NEAR just misses ---- */

static void case_share(bool near)
{
    add_row("it", LIVE_ZONE, 0, 10, near ? 1e6 : 6e6); /* 9 % against 37 % */
}

static void case_batch(bool near)
{
    struct zone_row *parent = add_row("loop", LIVE_ZONE, 0, 1, 1e8), *w;
    double bytes[100], ticks[100];

    for (int i = 0; i < 100; i++) {
        bytes[i] = 4000 + 10 * i;
        ticks[i] = near ? 100 * bytes[i] : 600000 + 20 * bytes[i]; /* no fixed cost / much */
    }
    w = add_row("it", LIVE_OP, 2, 100, 700000);
    sums(w, bytes, ticks, 100);
    parent->self = 1e6;
}

static void case_tiny_zone(bool near)
{
    add_row("it", LIVE_ZONE, 0, 100000, near ? 400 : 20);
}

static void case_tail(bool near)
{
    struct zone_row *w = add_row("it", LIVE_ZONE, 0, 1000, 50000);

    w->p50 = 10000;
    w->p99 = near ? 40000 : 900000;
    hist[2][live_bucket(10000)] = 970;
    hist[2][live_bucket(near ? 40000 : 900000)] = 30;
}

static void case_bimodal(bool near)
{
    add_row("it", LIVE_ZONE, 0, 1000, 50000);
    hist[2][live_bucket(10000)] = 500;
    hist[2][live_bucket(near ? 12000 : 100000)] = 500;
}

static void case_first_call(bool near)
{
    struct zone_row *w = add_row("it", LIVE_ZONE, 0, 100, 10000);

    w->first = near ? 90000 : 9000000;
}

static void case_repeat_work(bool near)
{
    struct zone_row *w = add_row("it", LIVE_OP, 0, 100, 1e6);

    w->repeats = near ? 20 : 90;
}

static void case_growth(bool near)
{
    double bytes[40], ticks[40];

    for (int i = 0; i < 40; i++) {
        bytes[i] = 1000 * (1 + i % 10);
        ticks[i] = near ? 100 * bytes[i] : bytes[i] * bytes[i] / 10;
    }
    sums(add_row("it", LIVE_OP, 0, 40, 1e6), bytes, ticks, 40);
}

static void case_backend(bool near)
{
    double bytes[10], slow[10], fast[10];
    struct zone_row *a = add_row("it", LIVE_OP, 0, 10, 5e6);
    struct zone_row *b = add_row("it", LIVE_OP, 0, 10, near ? 4e6 : 1e6);

    for (int i = 0; i < 10; i++) {
        bytes[i] = 1e6 + 1e5 * i;
        slow[i] = 5 * bytes[i];
        fast[i] = (near ? 4 : 1) * bytes[i];
    }
    a->backend = "cpu";
    b->backend = "gpu";
    sums(a, bytes, slow, 10);
    sums(b, bytes, fast, 10);
}

static void case_imbalance(bool near)
{
    struct zone_row *w = add_row("it", LIVE_ZONE, 0, 4, 2e7);

    w->threads = 4;
    w->thread_max = near ? 2.2e7 : 5e7;
}

static void case_alloc(bool near)
{
    struct zone_row *w = add_row("it", LIVE_ZONE, 0, 100, 1e6);

    w->allocs = near ? 100 : 5000;
    w->alloc_bytes = 64 * w->allocs;
}

static void case_drift(bool near)
{
    double bytes[100], ticks[100];

    for (int i = 0; i < 100; i++) {
        bytes[i] = 1000;
        ticks[i] = 1e6 * (near ? 1 + (i * 37 % 100) / 1000.0 : 1 + i / 100.0);
    }
    sums(add_row("it", LIVE_OP, 0, 100, 1e6), bytes, ticks, 100);
}

static void case_lock_wait(bool near)
{
    add_row("it", LIVE_LOCK_WAIT, 0, 100, near ? 1e4 : 1e6);
}

#define RULE(name) { #name, case_##name },
static const struct {
    const char *name;
    void (*make)(bool near);
} cases[] = {
#include "rules/rules.def"
};
#undef RULE

/* Run the rules on the rows; store the findings in FOUND. */
static void run(struct findings *found)
{
    struct facts facts = { .zones = &zones };

    zones.all_ns = 0;
    for (uint32_t i = 0; i < zones.n; i++)
        zones.all_ns += zones.row[i].self;
    rules_run(&facts, found);
}

/* The finding of rule ID about "it"; NULL if it did not fire. */
static struct finding *find(const char *id)
{
    static struct finding room[64];
    struct findings found = { .v = room, .cap = ARRAY_LEN(room) };

    run(&found);
    for (int i = 0; i < found.n; i++)
        if (strcmp(room[i].name, "it") == 0 && strcmp(room[i].rule->id, id) == 0)
            return &room[i];
    return NULL;
}

TEST(rules_each_fires_on_its_case_and_not_on_the_near_miss)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *id = rules[i]->id;
        struct finding *f;

        start();
        cases[i].make(false);
        f = find(id);
        if (!f || !f->title[0] || !f->evidence[0] || !f->bound[0] || !f->example || !f->path[0])
            test_fail(__FILE__, __LINE__, "%s did not fire, or says too little", id);
        printf("# %s [%s] %s | %s | %s\n", id, f->priority, f->title, f->evidence, f->bound);
        start();
        cases[i].make(true);
        if (find(id))
            test_fail(__FILE__, __LINE__, "%s fired on the near miss", id);
    }
}

TEST(rules_are_named_after_their_files)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char name[64];

        snprintf(name, sizeof name, "%s", rules[i]->id);
        for (char *s = name; (s = strchr(s, '-'));)
            *s = '_';
        CHECK_STR(name, cases[i].name);
        CHECK(rules[i]->title && rules[i]->text && rules[i]->example[RULE_C]);
        CHECK_EQ(rules[i]->needs, RULE_ZONES);
    }
    CHECK(rules[ARRAY_LEN(cases)] == NULL);
}

TEST(rules_bound_the_gain_by_the_measured_share)
{
    struct finding *f;

    start();
    add_row("it", LIVE_ZONE, 0, 10, 1e7); /* 100 ms of 200 */
    f = find("share");
    CHECK(f && f->gain == 0.5);
    CHECK_STR(f->bound, "at most 50 % of the time in zones (2.00x faster) if eliminated");
    CHECK_STR(f->priority, "HIGH");
    CHECK_STR(f->evidence, "100 ms self time in 10 calls, 10.0 ms each");
}

TEST(rules_return_the_strongest_findings_first_and_drop_the_weakest)
{
    struct finding room[2];
    struct findings found = { .v = room, .cap = 2 };

    start();
    add_row("little", LIVE_ZONE, 0, 10, 6e6); /* 17, 28 and 56 % */
    add_row("much", LIVE_ZONE, 0, 10, 2e7);
    run(&found);
    CHECK_EQ(found.n, 2);
    CHECK_STR(room[0].name, "much");
    CHECK_STR(room[1].name, "rest");
    CHECK_EQ(found.dropped, 1);
    found = (struct findings){ .v = room, .cap = 0 };
    run(&found);
    CHECK_EQ(found.n, 0);
    CHECK_EQ(found.dropped, 3);
}

TEST(rules_rank_and_bound_by_the_gain)
{
    struct finding *f;
    struct zone_row *w;

    start();
    add_row("it", LIVE_LOCK_WAIT, 0, 100, 8e4); /* 8 ms of 108 */
    f = find("lock-wait");
    CHECK(f);
    CHECK_STR(f->priority, "LOW");
    start();
    add_row("it", LIVE_ZONE, 0, 10, 1e8 / 30); /* a quarter */
    f = find("share");
    CHECK(f && strstr(f->bound, "(1.33x faster)"));
    start();
    w = add_row("it", LIVE_ZONE, 0, 10, 5e5);
    w->total = 9e7; /* the total includes callees */
    CHECK(!find("share"));
    start();
    case_imbalance(false);
    f = find("imbalance");
    CHECK(f && f->gain > 0.26 && f->gain < 0.27); /* 80 ms of 180, three fifths of it */
}

TEST(rules_divide_allocations_by_calls_and_bytes_by_allocations)
{
    struct finding *f;

    start();
    case_alloc(false);
    f = find("alloc");
    CHECK(f);
    CHECK_STR(f->evidence, "50.0 allocations per call, 64 B each on average");
}

TEST(rules_growth_needs_sizes_that_differ)
{
    double bytes[40], ticks[40];
    struct finding *f;

    start();
    case_growth(false);
    f = find("growth");
    CHECK(f && strstr(f->evidence, "size^2.00") && strstr(f->evidence, "4.0x"));
    for (int i = 0; i < 40; i++) {
        bytes[i] = 1000 + 100 * (i % 5); /* enough for a fit, but not half to twice the mean */
        ticks[i] = bytes[i] * bytes[i] / 10;
    }
    start();
    sums(add_row("it", LIVE_OP, 0, 40, 1e6), bytes, ticks, 40);
    CHECK(!find("growth"));
}

TEST(rules_find_nothing_without_facts)
{
    struct finding room[2];
    struct findings found = { .v = room, .cap = 2 };
    struct facts none = { 0 };

    rules_run(&none, &found);
    CHECK_EQ(found.n, 0);
}

TEST(rules_show_examples_in_the_language_of_the_place)
{
    static const struct {
        const char *file, *word;
    } places[] = { { "a.c", "malloc" }, { "a.cc", "std::vector" }, { "b.rs", "Vec::" },
                   { "c.py", "bytearray" }, { "", "malloc" } };

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct finding *f;

        start();
        case_alloc(false);
        zones.row[2].file = places[i].file;
        f = find("alloc");
        CHECK(f && strstr(f->example, places[i].word));
        CHECK_STR(f->priority, "MEDIUM");
    }
}
