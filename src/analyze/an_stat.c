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

#define VALUE(id, expression)                       \
    static double value_##id(const struct usage *r) \
    {                                               \
        return expression;                          \
    }
#define COUNTED(name) counted(r, name)
VALUE(wall, r->wall_ns)
VALUE(user, r->user_ns)
VALUE(system, r->system_ns)
VALUE(cpus, per(r->user_ns + r->system_ns, r->wall_ns))
VALUE(rss, r->max_rss_bytes)
VALUE(minor, r->minor_faults)
VALUE(major, r->major_faults)
VALUE(voluntary, r->voluntary)
VALUE(involuntary, r->involuntary)
VALUE(read, r->has_io ? r->read_bytes : NAN)
VALUE(written, r->has_io ? r->written_bytes : NAN)
VALUE(disk_read, r->has_io ? r->disk_read_bytes : NAN)
VALUE(disk_written, r->has_io ? r->disk_written_bytes : NAN)
VALUE(processes, r->has_tasks ? r->processes : NAN)
VALUE(threads, r->has_tasks ? r->threads : NAN)
VALUE(ipc, per(COUNTED("instructions"), COUNTED("cycles")))
VALUE(ghz, per(COUNTED("cycles"), r->user_ns + r->system_ns))
VALUE(branch_miss, 100 * per(COUNTED("branch-misses"), COUNTED("branches")))
VALUE(cache_miss, 100 * per(COUNTED("cache-misses"), COUNTED("cache-references")))
VALUE(l1_miss, 100 * per(COUNTED("L1-dcache-load-misses"), COUNTED("L1-dcache-loads")))
VALUE(frontend, 100 * per(COUNTED("stalled-cycles-frontend"), COUNTED("cycles")))
VALUE(backend, 100 * per(COUNTED("stalled-cycles-backend"), COUNTED("cycles")))

struct definition {
    const char *name, *unit, *note;
    double (*value)(const struct usage *r);
};

static const struct definition of_run[] = {
    { "wall", "ns", "", value_wall },
    { "user", "ns", "CPU time in user space", value_user },
    { "system", "ns", "CPU time in the kernel", value_system },
    { "cpus used", "ratio", "(user + system) / wall", value_cpus },
    { "max RSS", "bytes", "memory of the largest process", value_rss },
    { "minor faults", "count", "pages mapped in", value_minor },
    { "major faults", "count", "pages read from disk", value_major },
    { "voluntary switches", "count", "the command waited", value_voluntary },
    { "involuntary switches", "count", "the command was preempted", value_involuntary },
    { "read", "bytes", "by read() and similar calls", value_read },
    { "written", "bytes", "by write() and similar calls", value_written },
    { "read from disk", "bytes", "", value_disk_read },
    { "written to disk", "bytes", "", value_disk_written },
    { "processes", "count", "", value_processes },
    { "threads", "count", "of all processes", value_threads },
};

static const struct definition of_counters[] = {
    { "IPC", "ratio", "instructions per cycle", value_ipc },
    { "GHz", "ratio", "cycles per nanosecond of CPU time", value_ghz },
    { "branch miss rate", "pct", "of branches", value_branch_miss },
    { "cache miss rate", "pct", "of last-level references", value_cache_miss },
    { "L1 miss rate", "pct", "of loads", value_l1_miss },
    { "frontend stalls", "pct", "of cycles", value_frontend },
    { "backend stalls", "pct", "of cycles", value_backend },
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

static void add_measures(struct an_stat *s, const struct definition *d, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct an_measure *m = add(s, d[i].name, d[i].unit, d[i].note);

        for (size_t k = 0; k < s->runs; k++) {
            double x = d[i].value(&s->run[k]);

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
    bool requested = false;

    if (s->refused)
        return s->refused;

    for (size_t i = 0; i < s->run[0].n_counters; i++) {
        if (!s->run[0].counter[i].is_hardware)
            continue;
        requested = true;
        errnum = s->run[0].counter[i].errnum;
        if (!errnum)
            return "";
    }
    if (!requested)
        return "";
    return errnum == EACCES || errnum == EPERM || errnum == ENOSYS
               ? "no permission for hardware counters; fathom doctor explains how to get it"
               : "no hardware counters on this machine (virtual machines often have none); "
                 "valgrind --tool=cachegrind simulates caches and branches, and fathom reads "
                 "its output";
}

void an_stat_build(struct an_stat *s)
{
    add_measures(s, of_run, ARRAY_LEN(of_run));
    for (size_t i = 0; i < s->run[0].n_counters; i++)
        add_counter(s, i);
    add_measures(s, of_counters, ARRAY_LEN(of_counters));
    s->hardware = why_no_hardware(s);
    for (size_t i = 0; i < s->measure.n; i++)
        if (s->run[0].rss_is_ours && strcmp(s->measure.v[i].name, "max RSS") == 0)
            s->measure.v[i].note = "upper bound: the memory of fathom itself";
}

void an_stat_release(struct an_stat *s)
{
    for (size_t i = 0; i < s->measure.n; i++)
        free(s->measure.v[i].value);
    vec_release(&s->measure);
}
