/* an_surroundings.c - see an_surroundings.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_surroundings.h"

#include <string.h>

#include "base/buf.h"
#include "base/sat.h"
#include "text/human.h"

/* What is less than this is noise, or too little to explain a slow program. */
enum {
    THROTTLED_PCT = 1,        /* of the periods */
    STEAL_PCT = 3,            /* of the CPU time */
    CPU_PRESSURE_PCT = 25,    /* of the time; a program with more threads than CPUs has some */
    MEMORY_PRESSURE_PCT = 5,  /* of the time */
    LEAST_NS = 50000000,      /* the kernel counts stolen time in ticks of up to 10 ms */
};

static double figure(const struct profile *p, const char *key)
{
    return profile_meta_number(p, key, 0);
}

/* PART as a percentage of WHOLE; 0 if it is too little. */
static double share(double part, double whole, double least_pct)
{
    double pct = whole > 0 ? 100 * part / whole : 0;

    return pct < least_pct ? 0 : pct > 100 ? 100 : pct;
}

static void print_throttling(const struct profile *p, struct out *o)
{
    double ns = figure(p, "stall.throttled_ns"), cpus = figure(p, "limit.cpu_max");
    double pct = share(figure(p, "stall.throttled"), figure(p, "stall.periods"), THROTTLED_PCT);

    if (pct > 0 && ns >= LEAST_NS)
        out_printf(o, "note: throttled in %.0f %% of the periods, for %s: cpu.max gives its cgroup "
                      "%.4g CPU%s\n",
                   pct, human_ns(ns).s, cpus, cpus == 1 ? "" : "s");
}

static void print_allowed(const struct profile *p, struct out *o)
{
    double allowed = figure(p, "limit.cpus_allowed"), cpus = figure(p, "cpus");
    struct buf list = { 0 };

    if (allowed <= 0 || allowed >= cpus)
        return;
    buf_printf_clean(&list, "%s", profile_meta(p, "limit.cpus_list"));
    out_printf(o, "note: it could use only %s of %s CPUs (%s)\n",
               human_count(sat_of(allowed)).s, human_count(sat_of(cpus)).s, buf_text(&list));
    buf_release(&list);
}

static void print_steal(const struct profile *p, struct out *o)
{
    double ns = figure(p, "stall.steal_ns");
    double pct = share(ns, figure(p, "stall.busy_ns"), STEAL_PCT);

    if (pct > 0 && ns >= LEAST_NS)
        out_printf(o, "note: the hypervisor took %.0f %% of the CPU time (steal)\n", pct);
}

static void print_pressure(const struct profile *p, struct out *o)
{
    bool cgroup = strcmp(profile_meta(p, "pressure_of"), "cgroup") == 0;
    const char *of = cgroup ? "its cgroup" : "the machine";
    double wall = figure(p, "stall.wall_ns"), cpu = figure(p, "stall.cpu_some_ns");
    double memory = figure(p, "stall.memory_some_ns");
    double pct = share(cpu, wall, CPU_PRESSURE_PCT);

    if (pct > 0 && cpu >= LEAST_NS)
        out_printf(o, "note: %.0f %% of the time a thread of %s had to wait for a CPU (pressure)\n",
                   pct, of);
    pct = share(memory, wall, MEMORY_PRESSURE_PCT);
    if (pct > 0 && memory >= LEAST_NS)
        out_printf(o, "note: %.0f %% of the time a thread of %s had to wait for memory "
                      "(pressure)\n",
                   pct, of);
}

static void print_memory(const struct profile *p, struct out *o)
{
    double high = figure(p, "stall.memory_high"), most = figure(p, "limit.memory_max");
    double kills = figure(p, "stall.oom_kills");

    if (high > 0)
        out_printf(o, "note: the kernel slowed the cgroup %s times at memory.high %s\n",
                   human_count(sat_of(high)).s, human_bytes(figure(p, "limit.memory_high")).s);
    if (kills > 0) {
        out_printf(o, "note: the kernel killed %s of the cgroup's processes for lack of memory",
                   human_count(sat_of(kills)).s);
        if (most > 0)
            out_printf(o, " (memory.max %s)", human_bytes(most).s);
        out_char(o, '\n');
    }
}

void an_surroundings_lines(const struct profile *p, struct out *o)
{
    print_throttling(p, o);
    print_allowed(p, o);
    print_steal(p, o);
    print_pressure(p, o);
    print_memory(p, o);
}
