/* rt_rules.c - each rule on rows made by hand: one that fires it, and a near miss that must
 * not.  Nothing here depends on time.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/rt_rules.h"

/* ---- Making results ---- */

static struct zone_row rows[8];
static uint64_t hist[8][LIVE_BUCKETS];
static struct zone_rows r;

static struct zone_row *add(const char *name, int kind, uint32_t parent, double count, double mean)
{
    struct zone_row *w = &rows[r.n];

    *w = (struct zone_row){ .parent = parent, .child = LIVE_NO_NODE, .next = LIVE_NO_NODE,
                       .kind = (uint32_t)kind, .name = name, .file = "", .backend = "",
                       .label = "", .thread = "", .count = (uint64_t)count, .threads = 1,
                       .mean = mean, .total = count * mean, .self = count * mean, .p50 = mean,
                       .p90 = mean, .p99 = mean, .p999 = mean, .max = mean, .first = mean,
                       .thread_max = count * mean, .hist = hist[r.n] };
    r.n++;
    return w;
}

static void start(void)
{
    memset(&r, 0, sizeof r);
    memset(hist, 0, sizeof hist);
    r.row = rows;
    r.ns_per_tick = 1;
    r.view.head.cost[0] = (struct live_cost){ 10, 22 };
    add("", LIVE_ROOT, LIVE_NO_NODE, 0, 0);
    add("rest", LIVE_ZONE, 0, 1000, 100000); /* 100 ms of other work */
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

struct look {
    const char *rule;
    int found;
};

static void look(const struct rt_advice *a, void *arg)
{
    struct look *l = arg;

    if (strcmp(a->name, "it") == 0 && strcmp(a->rule, l->rule) == 0) {
        l->found++;
        printf("# %s [%s] %s | %s | %s\n", a->rule, a->priority, a->title, a->evidence, a->estimate);
        if (!a->title[0] || !a->evidence[0] || !a->description || !a->example)
            exit(1);
    }
}

static int fires(const char *rule)
{
    struct look l = { rule, 0 };

    r.all_ns = 0;
    for (uint32_t i = 0; i < r.n; i++)
        r.all_ns += r.row[i].self;
    rt_rules_run(&r, 1000, look, &l);
    return l.found;
}

/* ---- Cases: each sets up "it"; NEAR makes the near miss ---- */

static void share(bool near)
{
    add("it", LIVE_ZONE, 0, 10, near ? 1e6 : 6e6); /* 9 % against 37 % */
}

static void batch(bool near)
{
    struct zone_row *parent = add("loop", LIVE_ZONE, 0, 1, 1e8), *w;
    double bytes[100], ticks[100];

    for (int i = 0; i < 100; i++) {
        bytes[i] = 4000 + 10 * i;
        ticks[i] = near ? 100 * bytes[i] : 600000 + 20 * bytes[i]; /* no fixed cost / much */
    }
    w = add("it", LIVE_OP, 2, 100, 700000);
    sums(w, bytes, ticks, 100);
    parent->self = 1e6;
}

static void tiny(bool near)
{
    add("it", LIVE_ZONE, 0, 100000, near ? 400 : 20);
}

static void tail(bool near)
{
    struct zone_row *w = add("it", LIVE_ZONE, 0, 1000, 50000);

    w->p50 = 10000;
    w->p99 = near ? 40000 : 900000;
    hist[2][live_bucket(10000)] = 970;
    hist[2][live_bucket(near ? 40000 : 900000)] = 30;
}

static void bimodal(bool near)
{
    add("it", LIVE_ZONE, 0, 1000, 50000);
    hist[2][live_bucket(10000)] = 500;
    hist[2][live_bucket(near ? 12000 : 100000)] = 500;
}

static void first(bool near)
{
    struct zone_row *w = add("it", LIVE_ZONE, 0, 100, 10000);

    w->first = near ? 90000 : 9000000;
}

static void repeat(bool near)
{
    struct zone_row *w = add("it", LIVE_OP, 0, 100, 1e6);

    w->repeats = near ? 20 : 90;
}

static void growth(bool near)
{
    double bytes[40], ticks[40];

    for (int i = 0; i < 40; i++) {
        bytes[i] = 1000 * (1 + i % 10);
        ticks[i] = near ? 100 * bytes[i] : bytes[i] * bytes[i] / 10;
    }
    sums(add("it", LIVE_OP, 0, 40, 1e6), bytes, ticks, 40);
}

static void backend(bool near)
{
    double bytes[10], slow[10], fast[10];
    struct zone_row *a = add("it", LIVE_OP, 0, 10, 5e6), *b = add("it", LIVE_OP, 0, 10, near ? 4e6 : 1e6);

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

static void imbalance(bool near)
{
    struct zone_row *w = add("it", LIVE_ZONE, 0, 4, 2e7);

    w->threads = 4;
    w->thread_max = near ? 2.2e7 : 5e7;
}

static void alloc(bool near)
{
    struct zone_row *w = add("it", LIVE_ZONE, 0, 100, 1e6);

    w->allocs = near ? 100 : 5000;
    w->alloc_bytes = 64 * w->allocs;
}

static void drift(bool near)
{
    double bytes[100], ticks[100];

    for (int i = 0; i < 100; i++) {
        bytes[i] = 1000;
        ticks[i] = 1e6 * (near ? 1 + (i * 37 % 100) / 1000.0 : 1 + i / 100.0);
    }
    sums(add("it", LIVE_OP, 0, 100, 1e6), bytes, ticks, 100);
}

static void lock(bool near)
{
    add("it", LIVE_LOCK_WAIT, 0, 100, near ? 1e4 : 1e6);
}

static const struct {
    const char *rule;
    void (*make)(bool near);
} cases[] = { { "share", share },     { "batch", batch },     { "tiny-zone", tiny },
              { "tail", tail },       { "bimodal", bimodal }, { "first-call", first },
              { "repeat-work", repeat }, { "growth", growth }, { "backend", backend },
              { "imbalance", imbalance }, { "alloc", alloc }, { "drift", drift },
              { "lock-wait", lock } };

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int hit, miss;

        start();
        cases[i].make(false);
        hit = fires(cases[i].rule);
        start();
        cases[i].make(true);
        miss = fires(cases[i].rule);
        printf("%s fires %d near_miss %d\n", cases[i].rule, hit, miss);
    }
    return 0;
}
