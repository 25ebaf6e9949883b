/* col_paced.c - see col_paced.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_paced.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/search.h"
#include "collect/col_proc.h"

enum {
    MOST_PERIODS = 4, /* of weight in a sample, but at least MOST_MS */
    MOST_HALTED_PERIODS = 20, /* if many threads share the CPUs, each is stopped rarely */
    MOST_MS = 20,
    COUNT_MS = 16,           /* between looks at the number of threads */
    SCAN_MS = 250,       /* between complete looks at a process, */
    SCAN_EACH_MS = 1,    /* and for each of its threads */
};

/* --- threads --- */

static void free_thread(struct col_paced_thread *t)
{
    close(t->state);
    if (t->schedstat >= 0)
        close(t->schedstat);
    free(t);
}

static int open_file(int64_t pid, int tid, const char *file)
{
    char path[96];

    snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%d/%s", pid, tid, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool col_paced_counts(struct col_paced_thread *t, struct col_schedstat *s)
{
    if (t->schedstat < 0)
        t->schedstat = col_schedstat_open(t->of->pid, t->tid);
    return t->schedstat >= 0 ? col_schedstat_get(t->schedstat, s)
                             : col_schedstat_read(t->of->pid, t->tid, s); /* too many open files */
}

enum col_paced_state col_paced_state(struct col_paced_thread *t, struct col_proc_wait *w)
{
    char text[512];
    ssize_t n = pread(t->state, text, sizeof text - 1, 0);
    const char *end;

    if (n < 0 && t->has_syscall && (errno == EPERM || errno == EACCES)) {
        int stat = open_file(t->of->pid, t->tid, "stat"); /* it changed its user */

        if (stat < 0)
            return COL_PACED_ENDED;
        close(t->state);
        t->state = stat;
        t->has_syscall = false;
        n = pread(t->state, text, sizeof text - 1, 0);
    }
    if (n <= 0)
        return COL_PACED_ENDED;
    text[n] = 0;
    if (t->has_syscall) {
        if (w)
            col_proc_wait_text(text, w);
        return text[0] == 'r' ? COL_PACED_RUNS : COL_PACED_WAITS; /* "running" */
    }
    end = strrchr(text, ')');
    if (!end || end[1] != ' ' || end[2] == 'Z' || end[2] == 'X')
        return COL_PACED_ENDED;
    return end[2] == 'R' ? COL_PACED_RUNS : COL_PACED_WAITS;
}

/* utime and stime are its fields 14 and 15. */
static uint64_t ticks_of(const struct col_paced_thread *t)
{
    char path[96], text[512];
    unsigned long long user = 0, kernel = 0;
    const char *end;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%d/stat", t->of->pid, t->tid);
    if (map_read_text(path, text, sizeof text) < 0 || !(end = strrchr(text, ')')))
        return 0;
    sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &kernel);
    return (user + kernel) * 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

uint64_t col_paced_thread_cpu(struct col_paced_thread *t)
{
    char text[64];
    ssize_t n;

    if (t->schedstat < 0)
        t->schedstat = open_file(t->of->pid, t->tid, "schedstat");
    n = t->schedstat < 0 ? -1 : pread(t->schedstat, text, sizeof text - 1, 0);
    if (n <= 0)
        return ticks_of(t);
    text[n] = 0;
    return strtoull(text, NULL, 10);
}

uint64_t col_paced_weight(struct col_paced_thread *t, uint64_t cpu_ns)
{
    bool is_halted = t->of->way == COL_PACED_HALTED;
    uint64_t most = (is_halted ? MOST_HALTED_PERIODS : MOST_PERIODS) * t->of->period_ns, weight;

    if (most < MOST_MS * (uint64_t)COL_PACED_NS_PER_MS)
        most = MOST_MS * (uint64_t)COL_PACED_NS_PER_MS;
    if (!cpu_ns) /* a careful agent cannot ask for it */
        return t->of->period_ns;
    weight = cpu_ns > t->cpu_ns ? cpu_ns - t->cpu_ns : 0;
    t->cpu_ns = cpu_ns;
    return weight < most ? weight : most;
}

struct col_paced_thread *col_paced_find(const struct col_paced_process *x, int tid)
{
    size_t at = search(0, x->thread.n, i, x->thread.v[i]->tid < tid);

    return at < x->thread.n && x->thread.v[at]->tid == tid ? x->thread.v[at] : NULL;
}

struct col_paced_thread *col_paced_find_inner(const struct col_paced_process *x, int inner_tid)
{
    if (x->inner_pid == x->pid)
        return col_paced_find(x, inner_tid);
    for (size_t i = 0; i < x->thread.n; i++)
        if (x->thread.v[i]->inner_tid == inner_tid)
            return x->thread.v[i];
    return NULL;
}

static int by_tid(const void *a, const void *b)
{
    const struct col_paced_thread *const *x = a, *const *y = b;

    return ((*x)->tid > (*y)->tid) - ((*x)->tid < (*y)->tid);
}

static void sort_threads(struct col_paced_process *x)
{
    if (x->thread.n)
        qsort(x->thread.v, x->thread.n, sizeof *x->thread.v, by_tid);
    x->all_ns = 0;
}

static void add_thread(struct col_paced_process *x, int tid)
{
    struct col_paced_thread t = { .tid = tid, .of = x, .rest_ns = x->period_ns,
                                  .has_syscall = true, .schedstat = -1 };
    struct col_paced_thread *copy;

    t.state = open_file(x->pid, tid, "syscall");
    if (t.state < 0) {
        t.has_syscall = false;
        t.state = open_file(x->pid, tid, "stat");
    }
    if (t.state < 0)
        return;
    t.inner_tid = x->inner_pid == x->pid ? tid : (int)col_proc_inner_pid(tid);
    copy = mem_alloc(sizeof *copy);
    *copy = t;
    copy->cpu_ns = x->attached ? col_paced_thread_cpu(copy) : 0;
    vec_push(&x->thread, copy);
}

void col_paced_drop_gone(struct col_paced_process *x)
{
    size_t n = 0;

    for (size_t i = 0; i < x->thread.n; i++)
        if (x->thread.v[i]->gone)
            free_thread(x->thread.v[i]);
        else
            x->thread.v[n++] = x->thread.v[i];
    x->thread.n = n;
}

/* --- processes --- */

uint64_t col_paced_clock(int64_t pid)
{
    struct timespec t;
    clockid_t clock = (clockid_t)(~(uint64_t)pid << 3 | 2); /* CPU time of all its threads */

    if (clock_gettime(clock, &t) < 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_time_of_threads(const struct col_paced_process *x)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < x->thread.n; i++)
        sum += col_paced_thread_cpu(x->thread.v[i]);
    return sum;
}

void col_paced_begin(struct col_paced_process *x)
{
    x->attached = true;
    x->cpu_ns = col_paced_clock(x->pid);
}

uint64_t col_paced_cpu(struct col_paced_process *x)
{
    uint64_t now = x->chosen ? cpu_time_of_threads(x) : col_paced_clock(x->pid), before = x->cpu_ns;

    if (now <= before)
        return 0;
    x->cpu_ns = now;
    if (x->way != COL_PACED_ASKED)
        x->other_ns += now - before;
    return now - before;
}

static void read_status(struct col_paced_process *x)
{
    char path[64], text[4096], *at;
    long tracer;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/status", x->pid);
    if (map_read_text(path, text, sizeof text) < 0)
        return;
    at = strstr(text, "\nTracerPid:");
    tracer = at ? strtol(at + 11, NULL, 10) : 0;
    x->is_traced = tracer && tracer != syscall(SYS_gettid); /* col_halt.c is no other program */
}

/* Fields 26 and 28 of stat: where the code of the program and its first stack begin. */
bool col_paced_look_at_image(struct col_paced_process *x)
{
    char path[64], text[1024];
    unsigned long long code = 0, stack = 0;
    uint64_t before = x->image;
    const char *end;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", x->pid);
    if (map_read_text(path, text, sizeof text) < 0 || !(end = strrchr(text, ')')))
        return false;
    sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                    "%*u %*u %*d %*u %llu %*u %llu", &code, &stack);
    x->stack_end = stack;
    x->image = stack ? hash_pair(code, stack) | 1 : 0;
    return before && x->image && x->image != before;
}

void col_paced_choose(struct col_paced_process *x, int tid)
{
    struct col_paced_thread *t;

    add_thread(x, tid);
    sort_threads(x);
    t = col_paced_find(x, tid);
    if (t)
        t->cpu_ns = col_paced_thread_cpu(t);
}

/* The folder of the threads has a link for each, and two for itself. */
bool col_paced_has_new(struct col_paced_process *x, uint64_t now)
{
    char path[64];
    struct stat st;

    if (x->way != COL_PACED_ASKED || x->hooked || now < x->count_ns)
        return false;
    x->count_ns = now + COUNT_MS * (uint64_t)COL_PACED_NS_PER_MS;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/task", x->pid);
    return stat(path, &st) == 0 && st.st_nlink != x->thread.n + 2;
}

void col_paced_scan(struct col_paced_process *x, uint64_t now)
{
    struct col_tids tids = { 0 };
    size_t known = x->thread.n;

    x->scan_ns = now + (SCAN_MS + x->thread.n * SCAN_EACH_MS) * (uint64_t)COL_PACED_NS_PER_MS;
    if (!x->chosen)
        col_proc_threads(x->pid, &tids);
    for (size_t i = 0, n = known; i < tids.n; i++) {
        size_t at = search(0, n, k, x->thread.v[k]->tid < tids.v[i]);

        if (at == n || x->thread.v[at]->tid != tids.v[i])
            add_thread(x, tids.v[i]);
    }
    vec_release(&tids);
    if (x->thread.n > known)
        sort_threads(x);
    read_status(x);
}

bool col_paced_has_ended(const struct col_paced_process *x)
{
    for (size_t i = 0; i < x->thread.n; i++)
        if (col_paced_state(x->thread.v[i], NULL) != COL_PACED_ENDED)
            return false;
    return true;
}

void col_paced_free(struct col_paced_process *x)
{
    for (size_t i = 0; i < x->thread.n; i++)
        free_thread(x->thread.v[i]);
    vec_release(&x->thread);
    vec_release(&x->awake);
    vec_release(&x->running);
    buf_release(&x->code);
    vec_release(&x->range);
    free(x);
}
