/* an_stat.c - compute the measures of `fathom stat`, each a row of a table.  Omit a measure that
 * no run has.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_stat.h"

/* "cycles:u" matches "cycles" too. */
static bool is_called(const struct usage_counter *c, const char *name)
{
    size_t n = strlen(name);

    return strncmp(c->name, name, n) == 0 && (!c->name[n] || c->name[n] == ':');
}

/* Return the value of the counter NAME in R, NAN when it was not counted. */
static double counted(const struct usage *r, const char *name)
{
    for (size_t i = 0; i < r->n_counters; i++)
        if (is_called(&r->counter[i], name) && !r->counter[i].errnum &&
            r->counter[i].running_pct > 0)
            return r->counter[i].value;
    return NAN;
}

static double per(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

#define ASK(id, expression)                         \
    static double ask_##id(const struct usage *r) \
    {                                               \
        return expression;                          \
    }
#define COUNTED(name) counted(r, name)
ASK(wall, r->wall_ns)
ASK(user, r->user_ns)
ASK(system, r->system_ns)
ASK(cpus, per(r->user_ns + r->system_ns, r->wall_ns))
ASK(rss, r->max_rss_bytes)
ASK(minor, r->minor_faults)
ASK(major, r->major_faults)
ASK(voluntary, r->voluntary)
ASK(involuntary, r->involuntary)
ASK(read, r->has_io ? r->read_bytes : NAN)
ASK(written, r->has_io ? r->written_bytes : NAN)
ASK(disk_read, r->has_io ? r->disk_read_bytes : NAN)
ASK(disk_written, r->has_io ? r->disk_written_bytes : NAN)
ASK(processes, r->has_tasks ? r->processes : NAN)
ASK(threads, r->has_tasks ? r->threads : NAN)
ASK(ipc, per(COUNTED("instructions"), COUNTED("cycles")))
ASK(ghz, per(COUNTED("cycles"), r->user_ns + r->system_ns))
ASK(branch_miss, 100 * per(COUNTED("branch-misses"), COUNTED("branches")))
ASK(cache_miss, 100 * per(COUNTED("cache-misses"), COUNTED("cache-references")))
ASK(l1_miss, 100 * per(COUNTED("L1-dcache-load-misses"), COUNTED("L1-dcache-loads")))
ASK(frontend, 100 * per(COUNTED("stalled-cycles-frontend"), COUNTED("cycles")))
ASK(backend, 100 * per(COUNTED("stalled-cycles-backend"), COUNTED("cycles")))

struct question {
    const char *name, *unit, *note;
    double (*ask)(const struct usage *r);
};

static const struct question of_run[] = {
    { "wall", "ns", "", ask_wall },
    { "user", "ns", "CPU time in user space", ask_user },
    { "system", "ns", "CPU time in the kernel", ask_system },
    { "cpus used", "ratio", "(user + system) / wall", ask_cpus },
    { "max RSS", "bytes", "memory of the largest process", ask_rss },
    { "minor faults", "count", "pages mapped in", ask_minor },
    { "major faults", "count", "pages read from disk", ask_major },
    { "voluntary switches", "count", "the command waited", ask_voluntary },
    { "involuntary switches", "count", "the command was preempted", ask_involuntary },
    { "read", "bytes", "by read() and similar calls", ask_read },
    { "written", "bytes", "by write() and similar calls", ask_written },
    { "read from disk", "bytes", "", ask_disk_read },
    { "written to disk", "bytes", "", ask_disk_written },
    { "processes", "count", "", ask_processes },
    { "threads", "count", "of all processes", ask_threads },
};

static const struct question of_counters[] = {
    { "IPC", "ratio", "instructions per cycle", ask_ipc },
    { "GHz", "ratio", "cycles per nanosecond of CPU time", ask_ghz },
    { "branch miss rate", "pct", "of branches", ask_branch_miss },
    { "cache miss rate", "pct", "of last-level references", ask_cache_miss },
    { "L1 miss rate", "pct", "of loads", ask_l1_miss },
    { "frontend stalls", "pct", "of cycles", ask_frontend },
    { "backend stalls", "pct", "of cycles", ask_backend },
};

static struct an_measure *add(struct an_stat *s, const char *name, const char *unit,
                                const char *note)
{
    struct an_measure *m = vec_add(&s->measure);

    *m = (struct an_measure){ .unit = unit, .note = note };
    snprintf(m->name, sizeof m->name, "%s", name);
    m->value = mem_alloc(s->runs * sizeof *m->value);
    return m;
}

static void drop_if_empty(struct an_stat *s)
{
    struct an_measure *m = &s->measure.v[s->measure.n - 1];

    if (m->n)
        return;
    free(m->value);
    s->measure.n--;
}

static void ask_all(struct an_stat *s, const struct question *q, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct an_measure *m = add(s, q[i].name, q[i].unit, q[i].note);

        for (size_t k = 0; k < s->runs; k++) {
            double x = q[i].ask(&s->run[k]);

            if (isfinite(x))
                m->value[m->n++] = x;
        }
        drop_if_empty(s);
    }
}

static void add_counter(struct an_stat *s, size_t at)
{
    const struct usage_counter *first = &s->run[0].counter[at];
    struct an_measure *m = add(s, first->name, first->is_clock ? "ns" : "count", "");

    m->running_pct = 100;
    for (size_t k = 0; k < s->runs; k++) {
        const struct usage_counter *c = &s->run[k].counter[at];

        if (c->errnum || c->running_pct <= 0)
            continue;
        if (c->running_pct < m->running_pct)
            m->running_pct = c->running_pct;
        if (c->user_only)
            m->note = "user space only";
        m->value[m->n++] = c->value;
    }
    drop_if_empty(s);
}

/* Explain why no hardware event could be counted, in one sentence. */
static const char *why_no_hardware(const struct an_stat *s)
{
    int errnum = 0;
    bool asked = false;

    for (size_t i = 0; i < s->run[0].n_counters; i++) {
        if (!s->run[0].counter[i].is_hardware)
            continue;
        asked = true;
        errnum = s->run[0].counter[i].errnum;
        if (!errnum)
            return "";
    }
    if (!asked)
        return "";
    return errnum == EACCES || errnum == EPERM || errnum == ENOSYS
               ? "no permission for hardware counters; fathom doctor explains how to get it"
               : "no hardware counters on this machine (virtual machines often have none); "
                 "valgrind --tool=cachegrind simulates caches and branches, and fathom reads "
                 "its output";
}

void an_stat_build(struct an_stat *s)
{
    ask_all(s, of_run, ARRAY_LEN(of_run));
    for (size_t i = 0; i < s->run[0].n_counters; i++)
        add_counter(s, i);
    ask_all(s, of_counters, ARRAY_LEN(of_counters));
    s->hardware = why_no_hardware(s);
    for (size_t i = 0; i < s->measure.n; i++)
        if (s->run[0].rss_is_ours && strcmp(s->measure.v[i].name, "max RSS") == 0)
            s->measure.v[i].note = "upper bound: no more than fathom itself used";
}

void an_stat_release(struct an_stat *s)
{
    for (size_t i = 0; i < s->measure.n; i++)
        free(s->measure.v[i].value);
    vec_release(&s->measure);
}
