/* col_quality.c - write facts about the recording and its quality as the keys of profile/meta.def.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "collect/col_proc.h"
#include "collect/col_session.h"

enum { USER_NOISE_NS = 20000000 };

static void write_meta(struct col_session *s, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void write_meta(struct col_session *s, const char *key, const char *fmt, ...)
{
    va_list ap;
    char text[4096];

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    sink_meta(s->in.out, key, text);
}

static void write_cpu(struct col_session *s)
{
    char text[4096], *p;

    if (map_read_text("/proc/cpuinfo", text, sizeof text) < 0)
        return;
    p = strstr(text, "model name");
    p = p ? strchr(p, ':') : NULL;
    if (!p)
        return;
    p += 1 + strspn(p + 1, " \t");
    p[strcspn(p, "\n")] = 0;
    write_meta(s, "cpu", "%s", p);
}

static void write_machine(struct col_session *s)
{
    struct utsname u;
    char text[256];

    if (uname(&u) == 0) {
        write_meta(s, "host", "%s", u.nodename);
        write_meta(s, "kernel", "%s %s %s", u.sysname, u.release, u.machine);
        write_meta(s, "arch", "%s", u.machine);
    }
    sink_meta_u64(s->in.out, "cpus", s->perf.n_cpus);
    write_cpu(s);
    if (map_read_text("/sys/hypervisor/type", text, sizeof text) > 0)
        write_meta(s, "virtualization", "%s", text);
}

static void write_command(struct col_session *s)
{
    const struct col_options *o = s->options;
    struct buf b = { 0 };
    char folder[4096], name[64];

    for (size_t i = 0; o->command && o->command[i]; i++)
        buf_printf(&b, "%s%s", i ? " " : "", o->command[i]);
    for (size_t i = 0; i < o->n_pids; i++) {
        buf_printf(&b, "%s%" PRId64, i ? ", " : "process ", o->pids[i]);
        if (col_proc_comm(o->pids[i], o->pids[i], name, sizeof name) > 0)
            buf_printf(&b, " (%.*s)", (int)strcspn(name, "\n"), name);
    }
    for (size_t i = 0; i < s->target.n_threads; i++) {
        const struct col_target_thread *t = &s->target.thread[i];

        buf_printf(&b, "%s%" PRId64, i ? ", " : b.n ? ", thread " : "thread ", t->tid);
        if (col_proc_comm(t->pid, t->tid, name, sizeof name) > 0)
            buf_printf(&b, " (%.*s)", (int)strcspn(name, "\n"), name);
    }
    if (o->system_wide)
        buf_printf(&b, "%s%s%s", b.n ? ", " : "", o->cgroup ? "cgroup " : "whole machine",
                   o->cgroup ? o->cgroup : "");
    write_meta(s, "command", "%s", buf_text(&b));
    buf_release(&b);
    if (getcwd(folder, sizeof folder))
        write_meta(s, "folder", "%s", folder);
}

static const char *graph_name(enum col_graph g)
{
    static const char *const names[] = { [COL_GRAPH_AUTO] = "auto", [COL_GRAPH_FP] = "fp",
                                         [COL_GRAPH_DWARF] = "dwarf", [COL_GRAPH_LBR] = "lbr",
                                         [COL_GRAPH_NONE] = "none" };

    return names[g];
}

/* The levels that are sampled: those requested that the rung permits. */
static const char *levels_name(const struct col_session *s)
{
    bool kernel = false, user = false;

    for (size_t i = 0; i < s->events.n; i++) {
        kernel |= !s->events.v[i].no_kernel;
        user |= !s->events.v[i].no_user;
    }
    if (col_rung_is_paced(s->probe.rung))
        return s->probe.rung->name;
    if (s->plan.no_user || !user)
        return "kernel";
    return kernel ? s->probe.rung->name : "user";
}

/* The first event samples all CPU time of the target. */
static bool samples_all(const struct col_session *s)
{
    const struct col_event *first = &s->events.v[0];

    return col_rung_is_paced(s->probe.rung) ||
           (first->is_clock && !first->no_kernel && !first->no_user && !s->plan.no_kernel &&
            !s->plan.no_user && !s->options->system_wide);
}

/* Samples of the first event for each CPU second; 0 when unknown. */
static double rate_of(const struct col_session *s)
{
    const struct perf_attr *first = s->engine.attrs.v.v[0];
    double asked = (double)s->plan.frequency_hz, rate;
    uint64_t samples = first->samples, ns = s->counted_ns;

    if (s->probe.rung->in_process) { /* programs without the agent have another rate */
        samples -= s->agent.others.samples;
        ns -= s->agent.others.ns < ns ? s->agent.others.ns : ns;
    }
    if (!ns || !samples_all(s))
        return 0;
    rate = (double)samples * 1e9 / (double)ns;
    /* The two clocks do not start and stop at the same instant. */
    return rate > asked && rate < 1.01 * asked ? asked : rate;
}

/* User time of the recorded processes; 0 when unknown.  The kernel measures only the sum of user
 * and system time exactly, and for the command and the processes that were waited for. */
static uint64_t user_ns(const struct col_session *s)
{
    bool waited_for_all = (double)s->counted_ns * 0.98 < (double)s->target.cpu_ns;

    return waited_for_all && !s->options->no_children ? s->target.user_ns : 0;
}

/* The rusage of the command is complete: no other process was recorded. */
static bool was_alone(const struct col_session *s)
{
    return s->target.cpu_ns && s->engine.processes.process.n == 1;
}

void col_quality_cpu(struct col_session *s)
{
    uint64_t sampled = s->engine.attrs.v.v[0]->weight, waited = s->target.cpu_ns, all;

    s->cpu_ns = s->counted_ns;
    /* The agent counts nothing of programs that it could not enter. */
    if (!s->counted_ns && !(s->probe.rung->in_process && waited))
        return;
    if (!s->options->no_children && !s->plan.delayed) {
        /* Timers run on while a hypervisor stops the CPU; the rusage excludes that time. */
        if (was_alone(s))
            s->counted_ns = s->cpu_ns = waited;
        /* The events miss the first and the last microseconds of a thread. */
        else if (waited > s->cpu_ns)
            s->cpu_ns = waited;
    }
    if (samples_all(s)) {
        s->knows_unsampled = true;
        s->unsampled_ns = s->cpu_ns > sampled ? s->cpu_ns - sampled : 0;
    } else if (s->events.v[0].is_clock && !s->plan.delayed &&
               strcmp(levels_name(s), "user") == 0) {
        all = user_ns(s);
        s->knows_unsampled = all > sampled + USER_NOISE_NS && (all - sampled) * 10 > all;
        s->unsampled_ns = s->knows_unsampled ? all - sampled : 0;
    }
}

void col_quality_start(struct col_session *s)
{
    struct buf events = { 0 };
    char date[64];
    time_t now = time(NULL);
    struct tm tm;

    write_meta(s, "producer", "fathom " FATHOM_VERSION);
    write_command(s);
    write_machine(s);
    write_meta(s, "clock", "monotonic");
    if (localtime_r(&now, &tm) && strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S%z", &tm))
        write_meta(s, "date", "%s", date);
    sink_meta_u64(s->in.out, "start_ns", s->start_ns);
    for (size_t i = 0; i < s->events.n; i++)
        buf_printf(&events, "%s%s", i ? "," : "", s->events.v[i].name);
    write_meta(s, "events", "%s", buf_text(&events));
    buf_release(&events);
    sink_meta_u64(s->in.out, "rate_asked", s->plan.frequency_hz);
    write_meta(s, "call_graph", "%s", graph_name(s->plan.graph));
    write_meta(s, "rung", "%s", levels_name(s));
    if (s->probe.reason.why[0])
        write_meta(s, "rung_why", "%s", s->probe.reason.why);
    if (s->probe.reason.remedy[0])
        write_meta(s, "remedy", "%s", s->probe.reason.remedy);
    if (s->probe.instead[0])
        write_meta(s, "events_why", "%s", s->probe.instead);
}

void col_quality_summary(struct col_session *s)
{
    const struct perf_stack_counts *c = &s->engine.stacks.counts;
    const struct perf_attr *first = s->engine.attrs.v.v[0];
    struct col_summary *sum = &s->sum;

    sum->samples = s->engine.counts.samples;
    sum->lost = s->engine.counts.lost;
    sum->throttled = s->engine.counts.throttled;
    sum->complete = c->complete;
    sum->joined = c->joined;
    sum->cut = c->cut;
    sum->unreadable = c->lost + c->bare + s->engine.counts.broken;
    sum->wall_ns = (s->stop_ns ? s->stop_ns : clock_mono_ns()) - s->start_ns;
    sum->own_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    sum->processes = s->engine.processes.process.n;
    sum->threads = s->engine.processes.thread.n;
    sum->rung = levels_name(s);
    snprintf(sum->why, sizeof sum->why, "%s", s->probe.reason.why);
    sum->stops = s->agent.pacer.halt.stops;
    sum->stopped_ns = s->agent.pacer.halt.stopped_ns;
    snprintf(sum->without, sizeof sum->without, "%s",
             s->agent.without.n ? buf_text(&s->agent.without) : "");
    sum->rate_asked = (double)s->plan.frequency_hz;
    sum->copy_bytes = s->perf.big ? s->plan.big_copy_bytes : s->plan.copy_bytes;
    if (s->options->system_wide || (!s->cpu_ns && !s->target.cpu_ns))
        sum->target_cpu_ns = first->is_clock ? first->weight : 0;
    else
        sum->target_cpu_ns = s->cpu_ns ? s->cpu_ns : s->target.cpu_ns;
    sum->rate_achieved = rate_of(s);
    sum->exit_status = s->target.status;
}

void col_quality_end(struct col_session *s)
{
    const struct col_summary *q = &s->sum;

    col_quality_summary(s);
    sink_meta_u64(s->in.out, "duration_ns", q->wall_ns);
    if (s->target.ended)
        write_meta(s, "exit_status", "%d", q->exit_status);
    if (q->rate_achieved > 0)
        write_meta(s, "rate_achieved", "%.1f", q->rate_achieved);
    if (s->knows_unsampled)
        sink_meta_u64(s->in.out, "quality.unsampled_ns", s->unsampled_ns);
    sink_meta_u64(s->in.out, "stack_bytes", q->copy_bytes);
    col_surroundings_write(&s->around, s->in.out);
    col_sources_quality(&s->sources, s->in.out);
    sink_meta_u64(s->in.out, "quality.recorder_cpu_ns", q->own_cpu_ns);
    sink_meta_u64(s->in.out, "quality.target_cpu_ns", q->target_cpu_ns);
}
