/* rt_control.c - start, enable, clear, schedule, and environment variables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/rt_rows.h"
#include "target/tgt_guard.h"

#define DEFAULT_BYTES ((uint64_t)64 << 20)
#define DEFAULT_DISK ((uint64_t)1 << 30)
#define LEAST_BYTES ((uint64_t)1 << 20)
#define MOST_BYTES ((uint64_t)2 << 30)

static struct {
    enum fathom_format format;
    char path[RT_PATH]; /* "" = standard error */
    bool at_exit, is_default; /* is_default: the user set no path */
    uint32_t pid;
} output;

static struct {
    struct fathom_plan plan;
    void (*ready)(void *);
    void *arg;
    uint64_t step;
    bool on;
} schedule;

static uint64_t page_round(uint64_t bytes)
{
    if (bytes == 0)
        bytes = DEFAULT_BYTES;
    if (bytes < LEAST_BYTES)
        bytes = LEAST_BYTES;
    if (bytes > MOST_BYTES)
        bytes = MOST_BYTES;
    return bytes / LIVE_PAGE * LIVE_PAGE;
}

/* Maximum size of the live file; 0: the size of memory.  The default exceeds memory only on a
 * disk, and only when records are not overwritten. */
static uint64_t file_bytes(const struct fathom_config *c)
{
    if (!c->live_path || c->disk_bytes)
        return c->live_path ? c->disk_bytes : 0;
    return !c->keep_last && rt_region_on_disk(c->live_path) ? DEFAULT_DISK : 0;
}

static int map_region(const struct fathom_config *c)
{
    struct rt_region_config region = { page_round(c->memory_bytes), 0, c->live_path };
    int rc;

    if (rt.head)
        return FATHOM_E_STATE;
    region.memory = region.bytes;
    if (file_bytes(c) > region.bytes)
        region.bytes = page_round(file_bytes(c));
    rc = rt_region_map(&region);
    if (rc < 0)
        return rc;
    rt.percentiles = !c->no_percentiles;
    rt.head->no_percentiles = c->no_percentiles != 0;
    rt.keep_last = c->keep_last != 0;
    rt.budget = c->budget_pct / 100;
    rt.mode = c->mode ? c->mode : FATHOM_MODE_AGGREGATE;
    rt_thread_init();
    rt_fork_init();
    tgt_lock(&rt.lock);
    rt_sites_add_waiting();
    tgt_unlock(&rt.lock);
    return 0;
}

static int enable(bool on)
{
    tgt_lock(&rt.lock);
    rt.enabled = on;
    rt_sites_refresh();
    tgt_unlock(&rt.lock);
    if (rt_sites_traced())
        rt_helper_start();
    return 0;
}

/* Fields missing in the caller's older header are zero. */
int fathom_start(const struct fathom_config *cfg)
{
    struct fathom_config c = { 0 };
    int rc;

    if (cfg)
        memcpy(&c, cfg, cfg->size < sizeof c ? cfg->size : sizeof c);
    rc = map_region(&c);
    return rc < 0 ? rc : enable(true);
}

int fathom_enable(void)
{
    int rc = rt_prepare();

    return rc < 0 ? rc : enable(true);
}

void fathom_disable(void)
{
    if (rt.head)
        enable(false);
}

int fathom_enabled(void)
{
    return rt.enabled;
}

void rt_stop_measuring(void)
{
    rt.enabled = false;
    for (uint32_t id = 1; id <= LIVE_MAX_SITES; id++)
        if (rt.site[id])
            FATHOM_PUT_(rt.site[id]->mode, 0);
    fathom_thread_now_ = NULL;
    rt.head = NULL;
}

void fathom_clear(void)
{
    struct live_thread *own = rt_of(fathom_thread_now_);

    if (!rt.head)
        return;
    tgt_lock(&rt.threads_lock);
    tgt_put(&rt.head->cleared_ticks, rt_ticks());
    __atomic_add_fetch(&rt.head->epoch, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < FATHOM_LOST_CAUSES; i++)
        tgt_put(&rt.head->lost[i], 0);
    for (struct live_thread *t = rt_first_thread(); t; t = rt_next_thread(t))
        if (t == own || __atomic_load_n(&t->state, __ATOMIC_ACQUIRE) == 2)
            rt_thread_reset(t, true);
    tgt_lock(&rt.lock); /* running threads notice it at the end of their next zone */
    for (struct live_thread *t = rt_first_thread(); t; t = rt_next_thread(t))
        if (t != own && __atomic_load_n(&t->state, __ATOMIC_ACQUIRE) != 2)
            rt_thread_mark_cleared(t);
    tgt_unlock(&rt.lock);
    tgt_unlock(&rt.threads_lock);
}

/* ---- Schedule ---- */

enum phase { PHASE_OFF, PHASE_WARM, PHASE_ACTIVE };

static enum phase phase_of(uint64_t step, bool *first_active, bool *last_active)
{
    const struct fathom_plan *p = &schedule.plan;
    uint64_t cycle = (uint64_t)p->wait + p->warmup + p->active, at;

    *first_active = *last_active = false;
    if (step < p->skip || p->active == 0)
        return PHASE_OFF;
    step -= p->skip;
    if (p->repeat && step / cycle >= p->repeat)
        return PHASE_OFF;
    at = step % cycle;
    if (at < p->wait)
        return PHASE_OFF;
    if (at < (uint64_t)p->wait + p->warmup)
        return PHASE_WARM;
    *first_active = at == (uint64_t)p->wait + p->warmup;
    *last_active = at == cycle - 1;
    return PHASE_ACTIVE;
}

static void enter_step(void)
{
    bool first, last;
    enum phase phase = phase_of(schedule.step, &first, &last);

    if (first)
        fathom_clear();
    if ((phase != PHASE_OFF) != rt.enabled)
        enable(phase != PHASE_OFF);
}

int fathom_schedule(const struct fathom_plan *p, void (*ready)(void *), void *arg)
{
    int rc = rt_prepare();

    if (rc < 0)
        return rc;
    if (!p || p->active == 0)
        return FATHOM_E_FORMAT;
    schedule.plan = *p;
    schedule.ready = ready;
    schedule.arg = arg;
    schedule.step = 0;
    schedule.on = true;
    enter_step();
    return 0;
}

void fathom_step(void)
{
    bool first, last;

    if (!schedule.on)
        return;
    phase_of(schedule.step, &first, &last);
    if (last && schedule.ready)
        schedule.ready(schedule.arg);
    schedule.step++;
    enter_step();
}

/* ---- Environment ---- */

/* NULL in a program with more rights than its caller (setuid, setgid, file capabilities): the
 * caller must not choose what it writes. */
const char *rt_env(const char *variable)
{
    return secure_getenv(variable);
}

/* Report an invalid value and use the default: the program continues. */
static uint64_t env_size(const char *variable)
{
    const char *text = rt_env(variable);
    char *end = NULL;
    uint64_t n = text ? strtoull(text, &end, 10) : 0;
    const char *units = "kKmMgG", *unit = end && *end ? strchr(units, *end) : NULL;

    if (!text || !*text)
        return 0;
    if (end == text || (*end && (!unit || end[1])) || n > MOST_BYTES) {
        rt_complain(variable, " must be a size such as 64M or 1G");
        return 0;
    }
    return unit ? n << (10 + (unit - units) / 2 * 10) : n;
}

/* Index of the variable's value in the list of words; -1 when unset or invalid. */
static int env_word(const char *variable, const char *const *words, int n, const char *hint)
{
    const char *text = rt_env(variable);

    for (int i = 0; text && *text && i < n; i++)
        if (!strcmp(text, words[i]))
            return i;
    if (text && *text)
        rt_complain(variable, hint);
    return -1;
}

static int env_mode(void)
{
    static const char *const words[] = { "off", "count", "aggregate", "trace", "precise" };

    return env_word("FATHOM_MODE", words, 5,
                    " must be off, count, aggregate, trace or precise");
}

static bool keeps_last(void)
{
    static const char *const words[] = { "first", "last" };

    return env_word("FATHOM_KEEP", words, 2, " must be first or last") == 1;
}

struct format_name {
    const char *name;
    int format;
    bool trace, to_terminal;
};
static const struct format_name format_names[] = {
    { "1", FATHOM_TABLE, false, true },        { "table", FATHOM_TABLE, false, true },
    { "compact", FATHOM_COMPACT, false, true }, { "json", FATHOM_JSON, false, true },
    { "csv", FATHOM_CSV, false, true },         { "trace", FATHOM_FILE, true, false },
    { "fathom", FATHOM_FILE, false, false },    { "collapsed", FATHOM_COLLAPSED, false, false },
    { "chrome", FATHOM_CHROME, true, false },
};

static const struct format_name *find_format(const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof format_names / sizeof format_names[0]; i++)
        if (strlen(format_names[i].name) == n && !memcmp(format_names[i].name, text, n))
            return &format_names[i];
    return NULL;
}

static void default_path(const struct format_name *f)
{
    static const char *const suffix[] = { "txt", "txt", "json", "csv", "fathom", "folded",
                                          "json" };

    snprintf(output.path, sizeof output.path, "fathom.%d.%s", (int)getpid(), suffix[f->format]);
}

/* The library does not write format TEXT; its first N bytes may name a format of the tool. */
static void refuse(const char *text, size_t n)
{
    static const char *const tool_formats[] = { "perfetto", "speedscope", "pprof" };

    for (size_t i = 0; i < sizeof tool_formats / sizeof tool_formats[0]; i++)
        if (strlen(tool_formats[i]) == n && !memcmp(tool_formats[i], text, n)) {
            rt_complain("FATHOM_PROFILE: set it to trace:FILE.fathom, then run "
                        "\"fathom export FILE.fathom -f FORMAT\" to write ", tool_formats[i]);
            return;
        }
    rt_complain("FATHOM_PROFILE must be 1, table, compact, json, csv, trace, fathom, "
                "collapsed or chrome, not ", text);
}

/* Parse FORMAT[:PATH].  Unrecognized formats are reported once and leave measuring off. */
static const struct format_name *read_profile(const char *text)
{
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    const struct format_name *f = find_format(text, n);

    if (!f || (colon && strlen(colon + 1) >= sizeof output.path - 8)) {
        refuse(text, n);
        return NULL;
    }
    output.format = (enum fathom_format)f->format;
    output.at_exit = true;
    output.pid = (uint32_t)getpid();
    if (colon && colon[1])
        strcpy(output.path, colon + 1);
    else if (!f->to_terminal)
        default_path(f);
    output.is_default = !(colon && colon[1]);
    return f;
}

static const char *live_path(char *path, size_t cap)
{
    const char *dir = rt_env("FATHOM_RECORD_DIR"), *live = rt_env("FATHOM_LIVE");

    if (dir && *dir) /* the program that this one executes must not replace the file */
        snprintf(path, cap, "%s/zones.%d.%llu", dir, (int)getpid(),
                 (unsigned long long)fathom_now_ns());
    else if (live && *live)
        snprintf(path, cap, "%s", live);
    else if (output.at_exit && output.path[0])
        snprintf(path, cap, "%.480s.live.%d", output.path, (int)getpid());
    else
        return NULL;
    return path;
}

static int start_from_environment(bool traced)
{
    char path[RT_PATH];
    int mode = env_mode();
    const char *budget = rt_env("FATHOM_BUDGET");
    const char *percentiles = rt_env("FATHOM_PERCENTILES");
    struct fathom_config c = { sizeof c, env_size("FATHOM_MEMORY"),
                               live_path(path, sizeof path), mode > 0 ? mode : 0, keeps_last(),
                               percentiles && !strcmp(percentiles, "0"),
                               budget ? strtod(budget, NULL) : 0,
                               env_size("FATHOM_DISK") };
    int rc;

    if (mode < 0 && (traced || rt_env("FATHOM_RECORD_DIR")))
        c.mode = FATHOM_MODE_TRACE;
    rc = map_region(&c);
    if (rc < 0 && c.live_path) { /* no such directory: measure without a file */
        c.live_path = NULL;
        rc = map_region(&c);
    }
    if (rc == 0 && mode == FATHOM_MODE_OFF)
        rt.mode = FATHOM_MODE_OFF; /* in a config 0 means default */
    return rc;
}

int rt_prepare(void)
{
    if (rt.head)
        return 0;
    return start_from_environment(false);
}

__attribute__((constructor(150))) static void load(void)
{
    const char *profile = rt_env("FATHOM_PROFILE"), *dir = rt_env("FATHOM_RECORD_DIR");
    const struct format_name *f = NULL;
    TGT_KEEP_ERRNO();

    if (profile && *profile && strcmp(profile, "0") != 0)
        f = read_profile(profile);
    if ((f || (dir && *dir)) && start_from_environment(f && f->trace) == 0)
        enable(true);
}

/* A forked child writes only to files, next to its parent's: PATH with the child's pid inserted. */
static void own_path(char *path, size_t cap)
{
    const char *dot = strrchr(output.path, '.'), *slash = strrchr(output.path, '/');

    if (output.pid == rt.head->pid)
        snprintf(path, cap, "%s", output.path);
    else if (dot && (!slash || dot > slash))
        snprintf(path, cap, "%.*s.%u%s", (int)(dot - output.path), output.path, rt.head->pid, dot);
    else
        snprintf(path, cap, "%s.%u", output.path, rt.head->pid);
}

__attribute__((destructor)) static void unload(void)
{
    char path[RT_PATH + 16];
    int rc = 0;

    if (!rt.head)
        return;
    rt_clock_refine();
    if (output.at_exit && output.path[0]) {
        own_path(path, sizeof path);
        rc = fathom_export(path, output.format);
        if (rc < 0 || output.is_default)
            rt_complain(rc < 0 ? "FATHOM_PROFILE: cannot write " : "wrote ", path);
    } else if (output.at_exit && output.pid == rt.head->pid) {
        rc = fathom_report(stderr, output.format, NULL);
    }
    rt.head->finished = 1;
    /* Remove only the default live file, a fallback for a missing report.  Keep one that the user
     * asked for. */
    if (rt.live_path[0] && output.at_exit && output.path[0] && rc >= 0 &&
        !rt_env("FATHOM_RECORD_DIR") && !rt_env("FATHOM_LIVE"))
        unlink(rt.live_path);
    enable(false);
}
