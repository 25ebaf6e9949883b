/* doc_overhead.c - see doc_overhead.h.  Rounds are interleaved, and each recorded run is compared
 * with the bare run of its own round, so that drift of the machine does not look like overhead.
 * SPDX-License-Identifier: Apache-2.0 */
#include "doctor/doc_overhead.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/col_stat.h"
#include "collect/collect.h"

static const struct way {
    const char *graph;
    uint64_t hz;
} ways[] = {
    { "fp", 999 },   { "dwarf", 999 },   { "auto", 999 },
    { "fp", 9999 },  { "dwarf", 9999 },  { "auto", 9999 },
};

struct series { /* of one way, by round: percent over the bare run */
    double *cpu, *wall, *recorder, *samples, *lost, *complete;
    size_t n;
};

struct silence {
    int out, in;
};

/* Children inherit our standard input and output: /dev/null for the time being. */
static struct silence silence_begin(void)
{
    struct silence s = { dup(STDOUT_FILENO), dup(STDIN_FILENO) };
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDIN_FILENO);
        close(null);
    }
    return s;
}

static void silence_end(struct silence s)
{
    dup2(s.out, STDOUT_FILENO);
    dup2(s.in, STDIN_FILENO);
    close(s.out);
    close(s.in);
}

static int run_bare(char *const *command, double *cpu, double *wall, struct err *e)
{
    struct col_events none = { 0 };
    struct col_stat_options o = { .command = command, .events = &none };
    struct usage *r = mem_alloc(sizeof *r);
    int rc = col_stat_run(&o, r, e);

    *cpu = r->user_ns + r->system_ns;
    *wall = r->wall_ns;
    free(r);
    return rc;
}

static double over(double x, double bare)
{
    return bare > 0 ? 100 * (x / bare - 1) : 0;
}

static void take_nothing(struct sink *s, const struct sample *m)
{
}

static int end_nothing(struct sink *s, struct err *e)
{
    return 0;
}

static void run_recorded(const struct way *w, char *const *command, double bare_cpu,
                         double bare_wall, struct series *s, struct doc_cost *c)
{
    struct sink nowhere = { .sample = take_nothing, .end = end_nothing };
    struct col_options o = { .command = command, .frequency_hz = w->hz };
    struct col_summary sum = { 0 };
    struct err e = { 0 };
    double cpu;

    if (c->refused)
        return;
    if (col_parse_graph(w->graph, &o, &e) < 0 || col_record(&o, &nowhere, &sum, &e) < 0) {
        c->refused = true;
        snprintf(c->why, sizeof c->why, "%s", e.msg);
        return;
    }
    cpu = (double)sum.target_cpu_ns;
    s->cpu[s->n] = over(cpu, bare_cpu);
    s->wall[s->n] = over((double)sum.wall_ns, bare_wall);
    s->recorder[s->n] = cpu > 0 ? 100 * (double)sum.own_cpu_ns / cpu : 0;
    s->samples[s->n] = (double)sum.samples;
    s->lost[s->n] = (double)sum.lost;
    s->complete[s->n] = sum.samples ? 100 * (double)sum.complete / (double)sum.samples : 0;
    s->n++;
}

static double median_of(double *v, size_t n, struct interval *i)
{
    struct summary s = stats_summary(v, n);

    if (i)
        *i = stats_median_interval(v, n);
    return s.median;
}

static void summarize(struct doc_cost *c, struct series *s)
{
    if (!s->n)
        return;
    c->cpu_pct = median_of(s->cpu, s->n, &c->cpu);
    c->wall_pct = median_of(s->wall, s->n, &c->wall);
    c->recorder_pct = median_of(s->recorder, s->n, NULL);
    c->samples = median_of(s->samples, s->n, NULL);
    c->lost = median_of(s->lost, s->n, NULL);
    c->complete_pct = median_of(s->complete, s->n, NULL);
}

static void series_init(struct series *s, double *memory, size_t rounds)
{
    double **each[] = { &s->cpu, &s->wall, &s->recorder, &s->samples, &s->lost, &s->complete };

    for (size_t i = 0; i < ARRAY_LEN(each); i++)
        *each[i] = memory + i * rounds;
    s->n = 0;
}

int doc_overhead(struct doc_costs *out, char *const *command, size_t rounds,
                 void (*progress)(void *context, size_t run, size_t runs), void *context,
                 struct err *e)
{
    enum { WAYS = ARRAY_LEN(ways), EACH = 6 };
    double *memory = mem_alloc((WAYS * EACH + 2) * rounds * sizeof *memory);
    double *bare_cpu = memory + WAYS * EACH * rounds, *bare_wall = bare_cpu + rounds;
    struct series series[WAYS];
    size_t run = 0;
    int rc = 0;

    for (size_t i = 0; i < WAYS; i++) {
        series_init(&series[i], memory + i * EACH * rounds, rounds);
        vec_push(&out->v, ((struct doc_cost){ .graph = ways[i].graph, .hz = ways[i].hz }));
    }
    for (size_t round = 0; round < rounds && rc == 0; round++) {
        struct silence quiet;

        progress(context, run++, rounds * (WAYS + 1));
        quiet = silence_begin();
        rc = run_bare(command, &bare_cpu[round], &bare_wall[round], e);
        silence_end(quiet);
        for (size_t i = 0; i < WAYS && rc == 0; i++) {
            size_t w = (i + round) % WAYS; /* rotate which way follows the bare run */

            progress(context, run++, rounds * (WAYS + 1));
            quiet = silence_begin();
            run_recorded(&ways[w], command, bare_cpu[round], bare_wall[round], &series[w],
                         &out->v.v[w]);
            silence_end(quiet);
        }
    }
    for (size_t i = 0; i < WAYS && rc == 0; i++)
        summarize(&out->v.v[i], &series[i]);
    if (rc == 0) {
        out->bare_cpu_ns = median_of(bare_cpu, rounds, NULL);
        out->bare_wall_ns = median_of(bare_wall, rounds, NULL);
    }
    free(memory);
    return rc;
}
