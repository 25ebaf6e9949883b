/* col_surroundings.c - see col_surroundings.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_surroundings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "collect/col_proc.h"

enum { NS_PER_US = 1000 };
static const uint64_t unlimited = (uint64_t)1 << 60; /* version 1 has no word for it */

static const char *const keys[COL_STALLS] = {
    [COL_PERIODS] = "stall.periods",
    [COL_THROTTLED] = "stall.throttled",
    [COL_THROTTLED_NS] = "stall.throttled_ns",
    [COL_MEMORY_HIGH] = "stall.memory_high",
    [COL_MEMORY_MAX] = "stall.memory_max",
    [COL_OOM_KILLS] = "stall.oom_kills",
    [COL_CPU_SOME_NS] = "stall.cpu_some_ns",
    [COL_CPU_FULL_NS] = "stall.cpu_full_ns",
    [COL_MEMORY_SOME_NS] = "stall.memory_some_ns",
    [COL_MEMORY_FULL_NS] = "stall.memory_full_ns",
    [COL_STEAL_NS] = "stall.steal_ns",
    [COL_BUSY_NS] = "stall.busy_ns",
    [COL_WALL_NS] = "stall.wall_ns",
};

/* --- parsers ---------------------------------------------------------------------------- */

/* Read decimal digits that end with a space, the line or the text. */
static bool number_at(const char *text, uint64_t *x)
{
    char *end;
    unsigned long long got;

    if (*text < '0' || *text > '9')
        return false;
    got = strtoull(text, &end, 10);
    if (*end && *end != ' ' && *end != '\n')
        return false;
    *x = got;
    return true;
}

/* What follows WORD at the start of a line, or NULL. */
static const char *line_with(const char *text, const char *word)
{
    size_t n = strlen(word);

    while (*text) {
        if (strncmp(text, word, n) == 0)
            return text + n;
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return NULL;
}

bool col_text_number(const char *text, const char *key, uint64_t *x)
{
    char word[64];
    const char *at;

    snprintf(word, sizeof word, "%s ", key);
    at = line_with(text, word);
    return at && number_at(at, x);
}

bool col_text_cpu_max(const char *text, double *cpus)
{
    const char *space = strchr(text, ' ');
    uint64_t quota, period;

    if (!space || !number_at(text, &quota) || !number_at(space + 1, &period) || !quota || !period)
        return false;
    *cpus = (double)quota / (double)period;
    return true;
}

bool col_text_bytes(const char *text, uint64_t *bytes)
{
    uint64_t x;

    if (!number_at(text, &x) || x >= unlimited)
        return false;
    *bytes = x;
    return true;
}

bool col_text_pressure(const char *text, const char *kind, uint64_t *ns)
{
    const char *line, *total;
    char word[16];
    uint64_t us;

    snprintf(word, sizeof word, "%s ", kind);
    line = line_with(text, word);
    total = line ? strstr(line, "total=") : NULL;
    if (!total || total > line + strcspn(line, "\n") || !number_at(total + 6, &us))
        return false;
    *ns = us * NS_PER_US;
    return true;
}

bool col_text_steal(const char *text, uint64_t ticks_per_s, uint64_t *steal_ns, uint64_t *busy_ns)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
    uint64_t x[FIELDS], busy = 0, tick_ns = ticks_per_s ? 1000000000 / ticks_per_s : 0;
    const char *at = line_with(text, "cpu ");

    for (int i = 0; i < FIELDS; i++) {
        if (!at)
            return false;
        at += strspn(at, " ");
        if (!number_at(at, &x[i]))
            return false;
        if (i != IDLE && i != IOWAIT)
            busy += x[i];
        at += strcspn(at, " \n");
    }
    *steal_ns = x[STEAL] * tick_ns;
    *busy_ns = busy * tick_ns;
    return true;
}

static bool has_cpu(const struct col_cpus *cpus, int cpu)
{
    for (size_t i = 0; i < cpus->n; i++)
        if (cpus->v[i] == cpu)
            return true;
    return false;
}

size_t col_text_allowed(const char *status, const char *online, char *allowed, size_t cap)
{
    const char *list = line_with(status, "Cpus_allowed_list:\t");
    struct col_cpus mine = { 0 }, all = { 0 };
    size_t n = 0;

    if (!list)
        return 0;
    snprintf(allowed, cap, "%.*s", (int)strcspn(list, "\n"), list);
    if (col_proc_cpus(list, &mine) == 0 && col_proc_cpus(online, &all) == 0)
        for (size_t i = 0; i < mine.n; i++)
            n += has_cpu(&all, mine.v[i]);
    vec_release(&mine);
    vec_release(&all);
    return n;
}

/* --- limits ----------------------------------------------------------------------------- */

static double cpus_of(const struct col_cgroup *c)
{
    char text[128];
    double cpus = 0;
    uint64_t quota, period;

    if (c->v2) {
        col_cgroup_read(c, "cpu.max", text, sizeof text);
        return col_text_cpu_max(text, &cpus) ? cpus : 0;
    }
    col_cgroup_read(c, "cpu.cfs_quota_us", text, sizeof text); /* -1: none */
    if (!number_at(text, &quota))
        return 0;
    col_cgroup_read(c, "cpu.cfs_period_us", text, sizeof text);
    return number_at(text, &period) && period ? (double)quota / (double)period : 0;
}

static uint64_t bytes_of(const struct col_cgroup *c, const char *v2, const char *v1)
{
    char text[128];
    uint64_t bytes = 0;
    const char *name = c->v2 ? v2 : v1;

    if (name)
        col_cgroup_read(c, name, text, sizeof text);
    return name && col_text_bytes(text, &bytes) ? bytes : 0;
}

/* Any of the cgroups above may have the lowest limit: go to it. */
static bool find_cpu_limit(struct col_cgroup *c, double *lowest)
{
    struct col_cgroup at = *c;

    for (bool more = *at.folder; more; more = col_cgroup_up(&at)) {
        double cpus = cpus_of(&at);

        if (cpus > 0 && (*lowest <= 0 || cpus < *lowest)) {
            *lowest = cpus;
            *c = at;
        }
    }
    return *lowest > 0;
}

static bool find_memory_limit(struct col_cgroup *c, struct col_limits *l)
{
    struct col_cgroup at = *c;
    uint64_t lowest = unlimited;

    for (bool more = *at.folder; more; more = col_cgroup_up(&at)) {
        uint64_t most = bytes_of(&at, "memory.max", "memory.limit_in_bytes");
        uint64_t high = bytes_of(&at, "memory.high", NULL);
        uint64_t least = !high || (most && most < high) ? most : high;

        if (least && least < lowest) {
            lowest = least;
            l->memory = most;
            l->memory_high = high;
            *c = at;
        }
    }
    return lowest < unlimited;
}

/* --- counters --------------------------------------------------------------------------- */

static void set(struct col_stalls *x, enum col_stall what, bool known, uint64_t value)
{
    x->known[what] = known;
    x->value[what] = known ? value : 0;
}

static void set_number(struct col_stalls *x, enum col_stall what, const char *text,
                       const char *key, uint64_t times)
{
    uint64_t value = 0;
    bool known = col_text_number(text, key, &value);

    set(x, what, known, value * times);
}

static void read_throttling(const struct col_cgroup *c, struct col_stalls *x)
{
    char text[4096];

    col_cgroup_read(c, "cpu.stat", text, sizeof text);
    set_number(x, COL_PERIODS, text, "nr_periods", 1);
    set_number(x, COL_THROTTLED, text, "nr_throttled", 1);
    if (c->v2)
        set_number(x, COL_THROTTLED_NS, text, "throttled_usec", NS_PER_US);
    else
        set_number(x, COL_THROTTLED_NS, text, "throttled_time", 1);
}

static void read_memory_events(const struct col_cgroup *c, struct col_stalls *x)
{
    char text[4096];
    uint64_t n = 0;
    bool known;

    if (c->v2) {
        col_cgroup_read(c, "memory.events", text, sizeof text);
        set_number(x, COL_MEMORY_HIGH, text, "high", 1);
        set_number(x, COL_MEMORY_MAX, text, "max", 1);
        set_number(x, COL_OOM_KILLS, text, "oom_kill", 1);
        return;
    }
    col_cgroup_read(c, "memory.failcnt", text, sizeof text);
    known = number_at(text, &n);
    set(x, COL_MEMORY_MAX, known, n);
    col_cgroup_read(c, "memory.oom_control", text, sizeof text);
    set_number(x, COL_OOM_KILLS, text, "oom_kill", 1);
}

static void read_pressure(const struct col_cgroup *c, const char *what, struct col_stalls *x,
                          enum col_stall some, enum col_stall full)
{
    char name[64], text[1024];
    uint64_t ns = 0;
    bool known;

    if (*c->folder) {
        snprintf(name, sizeof name, "%s.pressure", what);
        col_cgroup_read(c, name, text, sizeof text);
    } else {
        snprintf(name, sizeof name, "/proc/pressure/%s", what);
        map_read_text(name, text, sizeof text);
    }
    known = col_text_pressure(text, "some", &ns);
    set(x, some, known, ns);
    known = col_text_pressure(text, "full", &ns);
    set(x, full, known, ns);
}

static void read_steal(struct col_stalls *x)
{
    char text[1024]; /* the first line */
    long ticks = sysconf(_SC_CLK_TCK);
    uint64_t steal = 0, busy = 0;
    bool known = map_read_text("/proc/stat", text, sizeof text) > 0 && ticks > 0 &&
                 col_text_steal(text, (uint64_t)ticks, &steal, &busy);

    set(x, COL_STEAL_NS, known, steal);
    set(x, COL_BUSY_NS, known, busy);
}

static void read_all(const struct col_surroundings *s, struct col_stalls *x)
{
    *x = (struct col_stalls){ 0 };
    if (s->has_cpu_limit)
        read_throttling(&s->cpu, x);
    if (s->has_memory_limit)
        read_memory_events(&s->memory, x);
    read_pressure(&s->pressure, "cpu", x, COL_CPU_SOME_NS, COL_CPU_FULL_NS);
    read_pressure(&s->pressure, "memory", x, COL_MEMORY_SOME_NS, COL_MEMORY_FULL_NS);
    read_steal(x);
    set(x, COL_WALL_NS, true, clock_mono_ns());
}

/* --- use -------------------------------------------------------------------------------- */

static void find_cgroups(struct col_surroundings *s, int64_t member, int cgroup)
{
    char text[256];

    if (cgroup > 0 && col_cgroup_of_fd(cgroup, &s->cpu)) {
        s->memory = s->pressure = s->cpu;
    } else if (cgroup <= 0 && member) {
        col_cgroup_of(member, "cpu", &s->cpu);
        col_cgroup_of(member, "memory", &s->memory);
        col_cgroup_of(member, NULL, &s->pressure);
    }
    if (*s->cpu.folder)
        snprintf(s->name, sizeof s->name, "%s",
                 s->cpu.folder[s->cpu.top] ? s->cpu.folder + s->cpu.top : "/");
    /* The root, which has no type, is the machine. */
    if (col_cgroup_read(&s->pressure, "cgroup.type", text, sizeof text) <= 0 ||
        col_cgroup_read(&s->pressure, "cpu.pressure", text, sizeof text) <= 0)
        *s->pressure.folder = 0;
}

void col_surroundings_start(struct col_surroundings *s, int64_t member, int cgroup)
{
    *s = (struct col_surroundings){ 0 };
    find_cgroups(s, member, cgroup);
    col_surroundings_begin(s);
}

void col_surroundings_begin(struct col_surroundings *s)
{
    s->has_cpu_limit = find_cpu_limit(&s->cpu, &s->limits.cpus);
    s->has_memory_limit = find_memory_limit(&s->memory, &s->limits);
    read_all(s, &s->before);
}

void col_surroundings_allowed(struct col_surroundings *s, int64_t pid)
{
    char path[64], status[8192], online[4096];
    struct col_limits *l = &s->limits;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
    if (map_read_text(path, status, sizeof status) > 0 &&
        map_read_text("/sys/devices/system/cpu/online", online, sizeof online) > 0)
        l->n_allowed = col_text_allowed(status, online, l->allowed, sizeof l->allowed);
}

void col_surroundings_stop(struct col_surroundings *s)
{
    read_all(s, &s->after);
}

void col_surroundings_write(const struct col_surroundings *s, struct sink *out)
{
    const struct col_limits *l = &s->limits;
    char text[32];

    if (*s->name)
        sink_meta(out, "limit.cgroup", s->name);
    if (s->has_cpu_limit) {
        snprintf(text, sizeof text, "%.4g", l->cpus);
        sink_meta(out, "limit.cpu_max", text);
    }
    if (l->memory)
        sink_meta_u64(out, "limit.memory_max", l->memory);
    if (l->memory_high)
        sink_meta_u64(out, "limit.memory_high", l->memory_high);
    if (l->n_allowed) {
        sink_meta_u64(out, "limit.cpus_allowed", l->n_allowed);
        sink_meta(out, "limit.cpus_list", l->allowed);
    }
    if (s->before.known[COL_CPU_SOME_NS])
        sink_meta(out, "pressure_of", *s->pressure.folder ? "cgroup" : "machine");
    for (int i = 0; i < COL_STALLS; i++)
        if (s->before.known[i] && s->after.known[i] && s->after.value[i] >= s->before.value[i])
            sink_meta_u64(out, keys[i], s->after.value[i] - s->before.value[i]);
}
