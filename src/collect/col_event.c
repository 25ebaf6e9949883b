/* col_event.c - see col_event.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_event.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "perf/perf_event.h"

static bool find_known(const char *name, struct col_event *ev)
{
    const struct perf_event *known = perf_event_find(name, strlen(name));

    if (!known)
        return false;
    ev->type = known->type;
    ev->config = known->config;
    ev->is_hardware = known->type != PERF_TYPE_SOFTWARE;
    ev->is_clock = perf_event_is_clock(known->type, known->config);
    if (ev->is_clock)
        snprintf(ev->name, sizeof ev->name, "%s", known->name);
    return true;
}

/* rNNN: a raw event number of the CPU's PMU, in hexadecimal. */
static bool find_raw(const char *name, struct col_event *ev)
{
    char *end;

    if (name[0] != 'r' || !name[1])
        return false;
    ev->config = strtoull(name + 1, &end, 16);
    ev->type = PERF_TYPE_RAW;
    ev->is_hardware = true;
    return *end == 0;
}

static int find_tracepoint(const char *name, struct col_event *ev, struct err *e)
{
    static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
    const char *colon = strchr(name, ':');
    char path[320];

    if (strchr(name, '/') || strstr(name, ".."))
        return err_set(e, ERR_USAGE, "event \"%s\" is not a tracepoint name", name);
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        int64_t id;

        snprintf(path, sizeof path, "%s/events/%.*s/%s/id", roots[i], (int)(colon - name), name,
                 colon + 1);
        id = map_read_int(path, -1);
        if (id < 0)
            continue;
        ev->type = PERF_TYPE_TRACEPOINT;
        ev->config = (uint64_t)id;
        ev->every_one = true;
        return 0;
    }
    err_set(e, ERR_MISSING, "tracepoint %s does not exist or is not readable", name);
    err_hint(e, "tracepoints need root and tracefs: mount -t tracefs tracefs /sys/kernel/tracing");
    return -1;
}

/* Remove ":u", ":k" and similar suffixes; keep anything else in NAME. */
static void take_modifiers(char *name, struct col_event *ev)
{
    char *colon = strrchr(name, ':');
    bool user = false, kernel = false;

    if (!colon || colon[1 + strspn(colon + 1, "ukpP")] || !colon[1])
        return;
    for (const char *p = colon + 1; *p; p++) {
        user |= *p == 'u';
        kernel |= *p == 'k';
    }
    if (user || kernel) {
        ev->no_user = !user;
        ev->no_kernel = !kernel;
    }
    *colon = 0;
}

static int parse_one(const char *text, size_t n, struct col_event *ev, struct err *e)
{
    char name[256], *slash;

    if (n == 0 || n >= sizeof name)
        return err_set(e, ERR_USAGE, "event name \"%.*s\" is empty or too long",
                       (int)(n > 40 ? 40 : n), text);
    memcpy(name, text, n);
    name[n] = 0;
    *ev = (struct col_event){ 0 };
    snprintf(ev->name, sizeof ev->name, "%s", name);
    slash = strchr(name, '/');
    if (slash && name[n - 1] == '/' && slash != name + n - 1) {
        name[n - 1] = *slash = 0;
        return col_pmu_parse(name, slash + 1, ev, e);
    }
    take_modifiers(name, ev);
    if (find_known(name, ev) || find_raw(name, ev))
        return 0;
    if (strchr(name, ':'))
        return find_tracepoint(name, ev, e);
    err_set(e, ERR_USAGE, "unknown event \"%s\"", name);
    err_hint(e, "use cpu-clock, cycles, instructions, cache-misses, branch-misses, page-faults, "
                "context-switches, rNNN, SUBSYSTEM:TRACEPOINT, PMU/TERMS/");
    return -1;
}

/* Metric names must be unique: a later duplicate keeps the name as typed. */
static void make_name_unique(struct col_events *events, const char *text, size_t n)
{
    struct col_event *last = &events->v[events->n - 1];

    for (size_t i = 0; i + 1 < events->n; i++)
        if (strcmp(events->v[i].name, last->name) == 0) {
            snprintf(last->name, sizeof last->name, "%.*s", (int)n, text);
            return;
        }
}

int col_event_parse(const char *list, struct col_events *events, struct err *e)
{
    for (;;) {
        size_t n = 0;

        /* A comma between slashes belongs to the PMU's terms. */
        for (bool inside = false; list[n] && (inside || list[n] != ','); n++)
            inside ^= list[n] == '/';
        if (parse_one(list, n, vec_add(events), e) < 0)
            return -1;
        make_name_unique(events, list, n);
        if (!list[n])
            return 0;
        list += n + 1;
    }
}

struct col_event col_event_clock(void)
{
    return (struct col_event){ .name = "cpu-clock", .type = PERF_TYPE_SOFTWARE,
                               .config = PERF_COUNT_SW_CPU_CLOCK, .is_clock = true };
}
