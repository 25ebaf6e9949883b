/* perf_unsampled.c - see perf_unsampled.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_unsampled.h"

#include <stdlib.h>

#include "base/sat.h"

struct part { /* of a thread */
    double room; /* CPU time that may be missing */
    double ns;   /* that is attributed to it */
    size_t children; /* without samples */
};

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Time of T's life without samples. */
static double without_samples(const struct perf_thread *t, uint64_t stop_ns)
{
    uint64_t end = t->info.end_ns ? t->info.end_ns : stop_ns;
    double ns = end > t->since_ns ? (double)(end - t->since_ns) : 0;

    return ns > (double)t->sampled_ns ? ns - (double)t->sampled_ns : 0;
}

static double sum_up_to(const struct part *part, size_t n, double most)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += smaller(part[i].room, most);
    return sum;
}

/* The amount that, given to each thread that has room for it, adds up to NS. */
static double level_of(const struct part *part, size_t n, double ns, double most)
{
    double low = 0, high = most;

    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;

        *(sum_up_to(part, n, middle) < ns ? &low : &high) = middle;
    }
    return high;
}

/* Attribute NS to the threads that created threads without samples. */
static void give_parents(const struct perf_processes *p, struct part *part, double ns,
                         uint64_t stop_ns)
{
    size_t all = 0;

    for (size_t i = 0; i < p->thread.n; i++) {
        const struct perf_thread *t = p->thread.v[i];

        if (!t->parent || t->sampled_ns)
            continue;
        part[t->parent->number].children++;
        all++;
    }
    for (size_t i = 0; i < p->thread.n && all; i++) {
        double room = without_samples(p->thread.v[i], stop_ns) - part[i].ns;
        double share = ns * (double)part[i].children / (double)all;

        part[i].ns += smaller(share, room > 0 ? room : 0);
    }
}

/* Attribute what is missing from NS to the first thread. */
static void give_first(struct part *part, size_t n, double ns)
{
    double rest = ns;

    for (size_t i = 0; i < n; i++)
        rest -= part[i].ns;
    part[0].ns += rest > 0 ? rest : 0;
}

static uint32_t note_stack(struct intern *in)
{
    struct function f = { .name = intern_cstr(in, "[not sampled]") };

    return intern_stack(in, 0, intern_named_frame(in, FRAME_NOTE, intern_function(in, &f), 0));
}

static void write_samples(struct perf_processes *p, const struct perf_unsampled *u,
                          const struct part *part)
{
    uint32_t stack = note_stack(p->in);
    double upto = 0;
    uint64_t written = 0;

    for (size_t i = 0; i < p->thread.n; i++) {
        struct perf_thread *t = p->thread.v[i];
        uint64_t end = t->info.end_ns ? t->info.end_ns : u->stop_ns, ns;
        struct sample s = { .stack = stack, .metric = u->metric, .cpu = -1 };

        upto += part[i].ns;
        ns = sat_u64_of(upto + 0.5) - written; /* rounding each alone would change the sum */
        s.weight = sat_of_u64(ns);
        if (!ns)
            continue;
        written += ns;
        s.thread = perf_process_use(p, t, end);
        sample_ends_at(&s, end, ns);
        sink_sample(p->in->out, &s);
    }
}

void perf_unsampled_add(struct perf_processes *p, const struct perf_unsampled *u)
{
    struct part *part;
    double ns, room, period = (double)u->period_ns;

    if (!perf_unsampled_matters(u) || u->unsampled_ns <= u->lost_ns || !p->thread.n)
        return;
    ns = (double)(u->unsampled_ns - u->lost_ns);
    part = mem_zalloc((p->thread.n + 1) * sizeof *part);
    for (size_t i = 0; i < p->thread.n; i++)
        part[i].room = smaller(without_samples(p->thread.v[i], u->stop_ns), period);
    room = sum_up_to(part, p->thread.n, period);
    if (room > ns)
        period = level_of(part, p->thread.n, ns, period);
    for (size_t i = 0; i < p->thread.n; i++)
        part[i].ns = smaller(part[i].room, period);
    if (room < ns && !u->some_unknown)
        give_parents(p, part, ns - room, u->stop_ns);
    if (room < ns && (u->some_unknown || u->sampled_ns < u->unsampled_ns / 10))
        give_first(part, p->thread.n, ns);
    write_samples(p, u, part);
    free(part);
}
