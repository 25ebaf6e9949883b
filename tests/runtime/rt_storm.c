/* rt_storm.c - many threads, signals, forks, crashes, unloading.
 * SPDX-License-Identifier: Apache-2.0 */
#include "rt_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef RT_FEW /* under a sanitizer */
enum { ZONES = 10000, CHURN = 100, SIGNALS = 100, FORKS = 5 };
#else
enum { ZONES = 1000000, CHURN = 10000, SIGNALS = 2000, FORKS = 50 };
#endif

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

static void *many(void *arg)
{
    (void)arg;
    for (int i = 0; i < ZONES / 10; i++)
        branch(9);
    return NULL;
}

static void run_threads(int n, void *(*work)(void *))
{
    pthread_t id[8];

    for (int i = 0; i < n; i++)
        pthread_create(&id[i], NULL, work, NULL);
    for (int i = 0; i < n; i++)
        pthread_join(id[i], NULL);
}

static void threads(void)
{
    fathom_enable();
    run_threads(4, many);
    show("branch", (double)count_of("branch"));
    show("leaf", (double)count_of("branch/leaf"));
    show("wanted_branch", 4.0 * (ZONES / 10));
    show("wanted_leaf", 4.0 * 9 * (ZONES / 10));
    show("under_cap", fathom_memory_bytes() < (64u << 20));
}

static void threads_traced(void)
{
    struct fathom_config c = { .size = sizeof c, .memory_bytes = 4 << 20,
                               .mode = FATHOM_MODE_TRACE };

    fathom_start(&c);
    run_threads(4, many);
    show("leaf", (double)count_of("branch/leaf"));
    show("wanted_leaf", 4.0 * 9 * (ZONES / 10));
    show("under_cap", fathom_memory_bytes() <= (4u << 20));
    show("lost", (double)fathom_lost(FATHOM_LOST_TRACE));
    show("nodes_lost", (double)fathom_lost(FATHOM_LOST_NODE));
}

/* A trace sixteen times as large as the memory limit. */
static void traced_to_disk(void)
{
    struct fathom_config c = { .size = sizeof c, .memory_bytes = 4 << 20,
                               .live_path = getenv("RT_LIVE"), .mode = FATHOM_MODE_TRACE,
                               .disk_bytes = 128 << 20 };

    fathom_start(&c);
    run_threads(4, many);
    show("zones", 4.0 * 10 * (ZONES / 10));
    show("leaf", (double)count_of("branch/leaf"));
    show("lost", (double)fathom_lost(FATHOM_LOST_TRACE));
    show("exported", fathom_export(getenv("RT_OUT"), FATHOM_FILE));
}

static void first(void)
{
    FATHOM_ZONE("first");
}

static void last(void)
{
    FATHOM_ZONE("last");
}

/* More than a trace of 2 MiB holds, whatever ZONES is. */
static void *between_first_and_last(void *arg)
{
    first();
    for (int i = 0; i < 20000; i++)
        branch(9);
    last();
    return arg;
}

static void keep_last(void)
{
    struct fathom_config c = { .size = sizeof c, .memory_bytes = 2 << 20,
                               .mode = FATHOM_MODE_TRACE, .keep_last = 1 };

    fathom_start(&c);
    for (int i = 0; i < 2; i++) /* when the second starts, the first has filled the memory */
        run_threads(1, between_first_and_last);
    show("zones", 2.0 * (20000 * 10 + 2));
    show("leaf", (double)count_of("branch/leaf"));
    show("lost", (double)fathom_lost(FATHOM_LOST_TRACE));
    show("exported", fathom_export(getenv("RT_OUT"), FATHOM_FILE));
}

static void *few(void *arg)
{
    (void)arg;
    branch(9);
    return NULL;
}

static void churn_in(enum fathom_mode mode)
{
    struct fathom_config c = { .size = sizeof c, .mode = (int)mode };

    fathom_start(&c);
    for (int i = 0; i < CHURN; i++)
        run_threads(1, few);
    show("branch", (double)count_of("branch"));
    show("leaf", (double)count_of("branch/leaf"));
    show("threads", CHURN);
    show("memory_mib", (double)fathom_memory_bytes() / 1048576);
    show("lost", (double)fathom_lost(FATHOM_LOST_NODE) + (double)fathom_lost(FATHOM_LOST_THREAD));
}

static void churn(void)
{
    churn_in(FATHOM_MODE_AGGREGATE);
}

static void churn_traced(void)
{
    churn_in(FATHOM_MODE_TRACE);
}

/* Reports, clears and mode changes while threads run and end. */
static int stop_now;

static void *until_told(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop_now, __ATOMIC_RELAXED))
        for (int i = 0; i < 100; i++)
            branch(3);
    return NULL;
}

static void control(void)
{
    struct fathom_config c = { .size = sizeof c, .memory_bytes = 1 << 20 };
    pthread_t id[2];
    char text[256];

    fathom_start(&c);
    for (int i = 0; i < 2; i++)
        pthread_create(&id[i], NULL, until_told, NULL);
    for (int round = 0; round < 30; round++) {
        fathom_report_text(text, sizeof text, (enum fathom_format)(round % 4), NULL);
        fathom_mode("*", (enum fathom_mode)(1 + round % 4));
        if (round % 5 == 0)
            fathom_clear();
        if (round % 7 == 0)
            fathom_sample("leaf", 8);
        if (round % 7 == 3)
            fathom_sample("leaf", 1);
        run_threads(2, few);
    }
    __atomic_store_n(&stop_now, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(id[i], NULL);
    fathom_mode("*", FATHOM_MODE_AGGREGATE);
    fathom_clear();
    for (int i = 0; i < 10; i++)
        branch(1);
    show("branch", (double)count_of("branch"));
}

/* ---- Signals: a handler with zones interrupts code with zones ---- */

static int handled, count_in_handler; /* any thread may receive the signal */

static void handler(int sig)
{
    FATHOM_ZONE("handler");
    (void)sig;
    leaf();
    if (__atomic_load_n(&count_in_handler, __ATOMIC_RELAXED))
        FATHOM_COUNT("events", 1);
    __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

static void sum_ending(const struct fathom_stat *s, void *arg)
{
    struct want *w = (struct want *)arg;
    size_t n = strlen(s->path), m = strlen(w->path);

    if (n >= m && !strcmp(s->path + n - m, w->path))
        w->stat.count += s->count;
}

/* The calls of all paths with this end. */
static double count_ending(const char *path)
{
    struct want w;

    memset(&w, 0, sizeof w);
    w.path = path;
    fathom_each(NULL, 0, sum_ending, &w);
    return (double)w.stat.count;
}

/* Repeat branch(20) until enough signals have arrived. */
static double under_signals(enum fathom_mode mode)
{
    struct itimerval t = { { 0, 200 }, { 0, 200 } }, off = { { 0, 0 }, { 0, 0 } };
    double rounds = 0;

    __atomic_store_n(&count_in_handler, mode != FATHOM_MODE_TRACE, __ATOMIC_RELAXED);
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &t, NULL);
    while (__atomic_load_n(&handled, __ATOMIC_RELAXED) < SIGNALS) {
        branch(20);
        if (__atomic_load_n(&count_in_handler, __ATOMIC_RELAXED))
            FATHOM_COUNT("events", 1);
        rounds++;
    }
    setitimer(ITIMER_REAL, &off, NULL);
    signal(SIGALRM, SIG_IGN);
    return rounds;
}

static void signals(void)
{
    double rounds;

    fathom_enable();
    rounds = under_signals(FATHOM_MODE_AGGREGATE);
    show("branch", (double)count_of("branch"));
    show("leaf", (double)count_of("branch/leaf"));
    show("rounds", rounds);
    show("handled", (double)handled);
    show("in_handler", count_ending("handler"));
    show("leaf_in_handler", count_ending("handler/leaf"));
    show("events", (double)count_of("events"));
    show("lost", (double)fathom_lost(FATHOM_LOST_SIGNAL) + (double)fathom_lost(FATHOM_LOST_UNTRACED));
}

/* The same while another thread clears and reports; after the last clear, counts are exact. */
static void *clear_until_told(void *arg)
{
    char text[64];

    (void)arg;
    while (!__atomic_load_n(&stop_now, __ATOMIC_RELAXED)) {
        fathom_clear();
        fathom_report_text(text, sizeof text, FATHOM_COMPACT, NULL);
    }
    return NULL;
}

static void signals_cleared(void)
{
    pthread_t id;

    fathom_enable();
    pthread_create(&id, NULL, clear_until_told, NULL);
    under_signals(FATHOM_MODE_AGGREGATE);
    __atomic_store_n(&stop_now, 1, __ATOMIC_RELAXED);
    pthread_join(id, NULL);
    fathom_clear();
    for (int i = 0; i < 10; i++)
        branch(1);
    show("branch", (double)count_of("branch"));
    show("leaf", (double)count_of("branch/leaf"));
    show("handler", count_ending("handler"));
}

/* Every zone is in the trace or counted as dropped. */
static void signals_traced(void)
{
    struct fathom_config c = { .size = sizeof c, .memory_bytes = 8 << 20,
                               .mode = FATHOM_MODE_TRACE };
    double rounds;

    fathom_start(&c);
    rounds = under_signals(FATHOM_MODE_TRACE);
    show("zones", 21 * rounds + 2.0 * handled);
    show("dropped", (double)fathom_lost(FATHOM_LOST_TRACE));
    show("lost", (double)fathom_lost(FATHOM_LOST_SIGNAL));
    if (getenv("RT_OUT"))
        fathom_export(getenv("RT_OUT"), FATHOM_FILE);
}

/* ---- Fork ---- */

static int child_counts(void)
{
    branch(5);
    return count_of("branch") == 1 && count_of("branch/leaf") == 5 ? 0 : 1;
}

static void forks(void)
{
    int good = 0;

    fathom_enable();
    branch(2);
    for (int i = 0; i < FORKS; i++) {
        pid_t pid = fork();
        int status = 1;

        if (pid == 0)
            _exit(child_counts());
        waitpid(pid, &status, 0);
        good += status == 0;
        branch(1);
    }
    show("good", good);
    show("forks", FORKS);
    show("branch", (double)count_of("branch"));
}

/* Fork inside a zone while other threads measure. */
static void fork_inside(void)
{
    pthread_t id;
    int status = 1;

    fathom_enable();
    pthread_create(&id, NULL, until_told, NULL);
    {
        FATHOM_ZONE("around");
        pid_t pid = fork();

        if (pid == 0) {
            branch(5);
            _exit(count_of("around/branch/leaf") == 5 ? 0 : 1);
        }
        waitpid(pid, &status, 0);
    }
    __atomic_store_n(&stop_now, 1, __ATOMIC_RELAXED);
    pthread_join(id, NULL);
    show("status", status);
    show("around", (double)count_of("around"));
}

/* ---- Crashes of every kind; the test reads the live file ---- */

static void die(int sig)
{
    struct fathom_config c = { .size = sizeof c, .live_path = getenv("RT_LIVE"),
                               .mode = FATHOM_MODE_TRACE };

    if (fathom_start(&c) < 0)
        exit(3);
    for (int i = 0; i < 1000; i++)
        branch(9);
    FATHOM_ZONE("dying");
    raise(sig);
}

static void die_kill(void)
{
    die(SIGKILL);
}

static void die_segv(void)
{
    die(SIGSEGV);
}

static void die_abort(void)
{
    die(SIGABRT);
}

/* ---- A library that is unloaded and loaded again ---- */

static void unload(void)
{
    fathom_enable();
    for (int i = 0; i < 5; i++) {
        void *lib = dlopen(getenv("RT_PLUGIN"), RTLD_NOW);
        void (*run)(int) = NULL;

        if (!lib) {
            fprintf(stderr, "%s\n", dlerror());
            exit(3);
        }
        *(void **)&run = dlsym(lib, "plugin_run");
        run(10);
        dlclose(lib);
        branch(1);
    }
    show("plugin", (double)count_of("plugin"));
    show("inner", (double)count_of("plugin/inner"));
    show("branch", (double)count_of("branch"));
}

static void *in_other_thread(void *arg)
{
    struct fathom_zone z = fathom_context_enter(*(fathom_context *)arg);

    leaf();
    fathom_context_leave(&z);
    return NULL;
}

static void count_lines(const struct fathom_stat *s, void *arg)
{
    *(double *)arg += (double)s->count;
}

static void context_across(void)
{
    double n = 0;
    pthread_t id;

    fathom_enable();
    {
        FATHOM_CONTEXT("request");
        fathom_context c = fathom_context_now();

        pthread_create(&id, NULL, in_other_thread, &c);
        pthread_join(id, NULL);
        leaf();
    }
    leaf();
    fathom_each("request", 0, count_lines, &n);
    show("request", n);
}

static void *named(void *arg)
{
    fathom_thread_name((const char *)arg);
    leaf();
    return NULL;
}

static void show_thread(const struct fathom_stat *s, void *arg)
{
    (void)arg;
    printf("thread_%s %llu\n", s->thread, (unsigned long long)s->count);
}

static void per_thread(void)
{
    pthread_t id;

    fathom_enable();
    for (int i = 0; i < 3; i++) {
        pthread_create(&id, NULL, named, (void *)(i == 2 ? "writer" : "reader"));
        pthread_join(id, NULL);
    }
    fathom_each(NULL, 1, show_thread, NULL);
}

static void budget(void)
{
    struct fathom_config c = { .size = sizeof c, .budget_pct = 1 };
    struct fathom_stat s;

    fathom_start(&c);
    for (int i = 0; i < 100000; i++)
        leaf();
    s = line_of("leaf");
    show("count", (double)s.count);
    show("demoted", s.timed < s.count / 4);
}

static const struct rt_case cases[] = {
    { "threads", threads },     { "traced", threads_traced }, { "keep_last", keep_last },
    { "traced_to_disk", traced_to_disk },
    { "churn", churn },         { "churn_traced", churn_traced }, { "control", control },
    { "signals", signals },     { "signals_cleared", signals_cleared },
    { "signals_traced", signals_traced }, { "forks", forks },           { "fork_inside", fork_inside },
    { "kill", die_kill },       { "segv", die_segv },         { "abort", die_abort },
    { "unload", unload },       { "context", context_across }, { "per_thread", per_thread },
    { "budget", budget },       { NULL, NULL } };

int main(int argc, char **argv)
{
    return rt_main(argc, argv, cases);
}
