/* bench_zone.c - measure the cost of a zone, next to two clock reads and LTTng-UST if installed.
 *
 * Prints `name value unit` lines.  A figure is the best of many chunks in which the thread was
 * not preempted, so it excludes other activity of the machine.  The amortized figures are the CPU
 * time of the whole process (including page switches and histograms) divided by all zones of a
 * long run: the cost that a user sees.  SPDX-License-Identifier: Apache-2.0 */
#include "fathom.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <stdbool.h>

#ifdef HAVE_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench_lttng.h"
#endif

enum { CHUNK = 5000, CHUNKS = 800, CLEAN = 100, MOST_CHUNKS = 8000, LONG_RUN = 100000000 };

struct job {
    const char *name;
    void (*run)(int n);
};

static double seconds(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void run_floor(int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t a = fathom_cycles(), b;

        __asm__ volatile("" ::"r"(a));
        b = fathom_cycles();
        __asm__ volatile("" ::"r"(b - a));
    }
}

__attribute__((noinline)) static void run_empty(int n)
{
    for (int i = 0; i < n; i++)
        __asm__ volatile("");
}

__attribute__((noinline)) static void run_zone(int n)
{
    for (int i = 0; i < n; i++) {
        FATHOM_ZONE("zone");
        __asm__ volatile("");
    }
}

__attribute__((noinline)) static void run_nested(int n)
{
    for (int i = 0; i < n; i += 4) {
        FATHOM_ZONE("outer");
        for (int k = 0; k < 3; k++) {
            FATHOM_ZONE("inner");
            __asm__ volatile("");
        }
    }
}

__attribute__((noinline)) static void run_lap(int n)
{
    FATHOM_BEGIN(z, "lap");

    for (int i = 0; i < n; i++)
        FATHOM_LAP(z, "lap");
    FATHOM_END(z);
}

__attribute__((noinline)) static void run_op(int n)
{
    for (int i = 0; i < n; i++) {
        FATHOM_OP("op", (uint64_t)i, "cpu");
        __asm__ volatile("");
    }
}

__attribute__((noinline)) static void run_count(int n)
{
    for (int i = 0; i < n; i++)
        FATHOM_COUNT("counter", 1);
}

#ifdef HAVE_LTTNG
__attribute__((noinline)) static void run_lttng(int n)
{
    for (int i = 0; i < n; i++) {
        lttng_ust_tracepoint(fathom_bench, begin, i);
        lttng_ust_tracepoint(fathom_bench, end, i);
    }
}
#endif

static double best_ns(void (*run)(int))
{
    double best = 1e9;
    int clean = 0;

    run(CHUNK);
    for (int i = 0; i < CHUNKS || (clean < CLEAN && i < MOST_CHUNKS); i++) {
        struct rusage a, b;
        double start, took;

        getrusage(RUSAGE_THREAD, &a);
        start = seconds(CLOCK_MONOTONIC);
        run(CHUNK);
        took = seconds(CLOCK_MONOTONIC) - start;
        getrusage(RUSAGE_THREAD, &b);
        clean += a.ru_nivcsw == b.ru_nivcsw;
        if (a.ru_nivcsw == b.ru_nivcsw && took / CHUNK < best)
            best = took / CHUNK;
    }
    return best * 1e9;
}

struct worker {
    void (*run)(int);
    double ns;
    int cpu;
    pthread_barrier_t *start;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(w->cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    pthread_barrier_wait(w->start);
    w->ns = best_ns(w->run);
    return NULL;
}

static double best_of_threads(void (*run)(int), int threads)
{
    struct worker w[2];
    pthread_t id[2];
    pthread_barrier_t start;
    double worst = 0;

    if (threads == 1)
        return best_ns(run);
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++) {
        w[i] = (struct worker){ run, 0, i, &start };
        pthread_create(&id[i], NULL, work, &w[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(id[i], NULL);
        worst = w[i].ns > worst ? w[i].ns : worst;
    }
    pthread_barrier_destroy(&start);
    return worst;
}

static double floor_ns[3];

static void show(const char *name, void (*run)(int), int threads)
{
    double ns = best_of_threads(run, threads);

    printf("%s_%dt %.2f ns\n", name, threads, ns);
    if (floor_ns[threads] > 0)
        printf("%s_%dt_ratio %.3f x\n", name, threads, ns / floor_ns[threads]);
    fflush(stdout);
}

static void show_both(const char *name, void (*run)(int))
{
    show(name, run, 1);
    show(name, run, 2);
}

/* Measure the floor again for each mode, because the CPU frequency drifts. */
static void in_mode(const char *name, enum fathom_mode mode)
{
    floor_ns[1] = best_ns(run_floor);
    floor_ns[2] = best_of_threads(run_floor, 2);
    fathom_mode("*", mode);
    for (int threads = 1; threads <= 2; threads++) {
        fathom_clear(); /* makes room for the next trace */
        show(name, run_zone, threads);
    }
}

static void *long_work(void *arg)
{
    for (long left = *(long *)arg; left > 0; left -= CHUNK)
        run_zone(CHUNK);
    return NULL;
}

static void sum_counts(const struct fathom_stat *s, void *arg)
{
    if (!strcmp(s->name, "zone"))
        *(uint64_t *)arg += s->count;
}

static void amortized(const char *name, enum fathom_mode mode, long zones)
{
    pthread_t id[2];
    double cpu, report;
    long each = zones / 2;
    uint64_t counted = 0;
    char text[1];

    fathom_mode("*", mode);
    fathom_clear();
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < 2; i++)
        pthread_create(&id[i], NULL, long_work, &each);
    for (int i = 0; i < 2; i++)
        pthread_join(id[i], NULL);
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    report = seconds(CLOCK_MONOTONIC);
    fathom_report_text(text, sizeof text, FATHOM_TABLE, NULL);
    report = seconds(CLOCK_MONOTONIC) - report;
    fathom_each(NULL, 0, sum_counts, &counted);
    printf("%s_zones_requested %ld zones\n%s_zones_counted %llu zones\n", name, zones, name,
           (unsigned long long)counted);
    printf("%s_amortized %.2f ns\n", name, cpu * 1e9 / (double)zones);
    printf("%s_amortized_ratio %.3f x\n", name, cpu * 1e9 / (double)zones / floor_ns[1]);
    printf("%s_lost_trace %llu records\n", name, (unsigned long long)fathom_lost(FATHOM_LOST_TRACE));
    printf("%s_memory %.1f MiB\n", name, (double)fathom_memory_bytes() / 1048576);
    printf("%s_report %.1f ms\n", name, report * 1e3);
    fflush(stdout);
}

/* A dependency chain: each step needs the result of the step before, and the loop ends on the
 * last result.  The clock cannot be read before the chain is complete. */
__attribute__((noinline)) static void chain(uint64_t n)
{
    while (n) {
        n = n * 3 * 0xaaaaaaaaaaaaaaabu - 1; /* multiply by 1, in two steps */
        __asm__ volatile("" : "+r"(n));
    }
}

/* Read the clock when all earlier instructions are done and before any later one starts. */
static uint64_t fenced(void)
{
    uint64_t t;

#if defined(__x86_64__)
    __asm__ volatile("lfence" ::: "memory");
    t = fathom_cycles();
    __asm__ volatile("lfence" ::: "memory");
#else
    t = fathom_cycles();
#endif
    return t;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The mean of the middle half.  On some machines the counter advances in steps of ten
 * nanoseconds, and a median would be one of two neighboring steps. */
static double middle(double *list, int n)
{
    double sum = 0;

    qsort(list, (size_t)n, sizeof *list, by_value);
    for (int i = n / 4; i < n - n / 4; i++)
        sum += list[i];
    return sum / (n - n / 4 - n / 4);
}

struct reading { /* ticks of the zone, and between fenced readings around it */
    double zone, outside;
};

static struct reading read_zone(struct fathom_site *site, uint64_t n)
{
    uint64_t before = fenced(), had = 0;
    struct fathom_zone z = fathom_begin(site);

    had = z.node->total;
    chain(n);
    fathom_end(&z);
    return (struct reading){ (double)(z.node->total - had), (double)(fenced() - before) };
}

static void take_inner(const struct fathom_stat *s, void *arg)
{
    if (!strcmp(s->name, "empty"))
        *(double *)arg = s->raw_min_ns - s->min_ns;
}

/* Zone and truth come from the same run of the chain, so that disturbances affect both.  The
 * truth is the time between fenced readings, minus the same around an empty zone. */
static void accuracy(const char *name, double ns, int times, double ns_per_tick)
{
    static double error[20000], truth[20000], list[20000];
    struct fathom_site *site = fathom_site_get(name, "bench", NULL, 0, 0);
    struct fathom_site *empty = fathom_site_get("empty", "bench", NULL, 0, 0);
    double inner = 0, none;
    uint64_t n;

    for (int i = 0; i < 20000; i++)
        list[i] = read_zone(empty, 0).outside;
    none = middle(list, 20000);
    for (int i = 0; i < 100; i++)
        list[i] = read_zone(empty, 10000).outside;
    middle(list, 100); /* sorts */
    n = (uint64_t)(ns * 10000 / (list[0] * ns_per_tick));
    fathom_each(NULL, 0, take_inner, &inner); /* the calibration that reports subtract */
    for (int i = 0; i < times; i++) {
        struct reading r = read_zone(site, n);

        truth[i] = (r.outside - none) * ns_per_tick;
        error[i] = r.zone * ns_per_tick - inner - truth[i];
    }
    ns = middle(truth, times);
    printf("accuracy_%s_truth %.1f ns\naccuracy_%s_error %.2f ns\n", name, ns, name,
           middle(error, times));
    printf("accuracy_%s_error_pct %.3f %%\n", name, 100 * middle(error, times) / ns);
}

static double tick_length(void)
{
    double ns = seconds(CLOCK_MONOTONIC), ticks = (double)fathom_cycles();

    while (seconds(CLOCK_MONOTONIC) - ns < 0.05)
        ;
    return (seconds(CLOCK_MONOTONIC) - ns) * 1e9 / ((double)fathom_cycles() - ticks);
}

static void accuracies(void)
{
    double ns_per_tick = tick_length();

    accuracy("1us", 1e3, 20000, ns_per_tick);
    accuracy("10us", 1e4, 4000, ns_per_tick);
    accuracy("100us", 1e5, 400, ns_per_tick);
    accuracy("1ms", 1e6, 60, ns_per_tick);
    accuracy("10ms", 1e7, 40, ns_per_tick);
}

/* Ten operations of 50 us to 5 ms; run alternately with and without measuring. */
static double pipeline(void)
{
    double start = seconds(CLOCK_THREAD_CPUTIME_ID);
    volatile uint64_t x = 1;

    for (int i = 0; i < 10; i++) {
        FATHOM_OP("stage", 1000, "cpu");
        for (long k = 0; k < 40000L * (1 + i * 9); k++)
            x = x * 3 + 1;
    }
    return seconds(CLOCK_THREAD_CPUTIME_ID) - start;
}

static void overhead_of_pipeline(void)
{
    double on = 1e9, off = 1e9, t;

    for (int i = 0; i < 100; i++) {
        fathom_enable();
        t = pipeline();
        on = t < on ? t : on;
        fathom_disable();
        t = pipeline();
        off = t < off ? t : off;
    }
    fathom_enable();
    printf("pipeline_off %.4f ms\npipeline_on %.4f ms\npipeline_overhead %.3f %%\n", off * 1e3,
           on * 1e3, 100 * (on / off - 1));
}

int main(int argc, char **argv)
{
    struct fathom_config cfg = { .size = sizeof cfg, .no_percentiles = 1 };
    long zones = argc > 1 ? atol(argv[1]) : LONG_RUN;
    double start = seconds(CLOCK_MONOTONIC);
    bool percentiles = getenv("BENCH_PERCENTILES") != NULL;

    cfg.no_percentiles = !percentiles;
    fathom_start(&cfg);
    printf("start_up %.3f ms\n", (seconds(CLOCK_MONOTONIC) - start) * 1e3);
    floor_ns[1] = best_ns(run_floor);
    floor_ns[2] = best_of_threads(run_floor, 2);
    printf("two_rdtsc_1t %.2f ns\ntwo_rdtsc_2t %.2f ns\n", floor_ns[1], floor_ns[2]);
    fathom_disable();
    printf("zone_off %.2f ns\nempty_loop %.2f ns\n", best_ns(run_zone), best_ns(run_empty));
    fathom_enable();
    in_mode(percentiles ? "zone_percentiles" : "zone_aggregate", FATHOM_MODE_AGGREGATE);
    show_both(percentiles ? "zone_percentiles_nested" : "zone_aggregate_nested", run_nested);
    in_mode("zone_trace", FATHOM_MODE_TRACE);
    if (!percentiles) {
        in_mode("zone_count", FATHOM_MODE_COUNT);
        in_mode("zone_precise", FATHOM_MODE_PRECISE);
        fathom_mode("*", FATHOM_MODE_AGGREGATE);
        show("zone_lap", run_lap, 1);
        show("op", run_op, 1);
        show("counter", run_count, 1);
        fathom_sample("zone", 64);
        show_both("zone_sampled_64", run_zone);
        fathom_sample("zone", 1);
#ifdef HAVE_LTTNG
        show_both(lttng_ust_tracepoint_enabled(fathom_bench, begin) ? "lttng_pair" : "lttng_off",
                  run_lttng);
#endif
    }
    if (!percentiles) {
        accuracies();
        overhead_of_pipeline();
    }
    amortized(percentiles ? "aggregate_percentiles" : "aggregate", FATHOM_MODE_AGGREGATE, zones);
    amortized(percentiles ? "trace_percentiles" : "trace", FATHOM_MODE_TRACE, zones);
    return 0;
}
