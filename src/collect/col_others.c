/* col_others.c - see col_others.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_others.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/program.h"
#include "collect/col_adopt.h"
#include "collect/col_agent.h"
#include "collect/col_code.h"
#include "collect/col_paced.h"
#include "collect/col_pacer.h"
#include "collect/col_proc.h"

enum {
    LOOK_MS = 10, /* between looks whether there are new processes */
    RUSH_MS = 2,  /* the same when an agent told of one that cannot load it, */
    RUSH_FOR_MS = 50, /* for this time */
    SCAN_MS = 20, /* until the threads of processes are counted again, and 1 ms for each */
    FULL_MS = 250, /* between looks whether processes have left their agent */
    COST = 100,   /* a look costs at most 1 / COST of the time */
    LOAD_MS = 1000, /* in which a program loads the agent */
    MOST_LISTED = 6,
};

/* --- adding --- */

/* The parent of X, if X still runs the program of its parent. */
static const struct col_paced_process *copied_from(const struct col_pacer *p,
                                                   const struct col_paced_process *x)
{
    int64_t parent = col_proc_parent(x->pid);

    for (size_t i = 0; x->image && i < p->process.n; i++)
        if (p->process.v[i]->pid == parent && p->process.v[i]->image == x->image)
            return p->process.v[i];
    return NULL;
}

static void tell_of_fork(struct col_pacer *p, struct col_paced_process *x,
                         const struct col_paced_process *parent, uint64_t now)
{
    struct col_batch_event *e;

    memcpy(x->name, parent->name, sizeof x->name);
    col_code_read(x->pid, 0, &x->code);
    e = col_batch_add(&p->batch, COL_BATCH_FORK, now, x->code.data, x->code.n);
    e->pid = e->tid = x->pid;
    e->parent = parent->pid;
}

/* The CPU time that it has used belongs to the time before. */
static void start_now(struct col_paced_process *x)
{
    col_paced_cpu(x);
    x->other_ns = 0;
    for (size_t i = 0; i < x->thread.n; i++)
        x->thread.v[i]->cpu_ns = col_paced_thread_cpu(x->thread.v[i]);
}

static struct col_paced_process *new_process(const struct col_pacer *p, int64_t pid,
                                             const char *why)
{
    struct col_paced_process *x = mem_zalloc(sizeof *x);

    x->way = COL_PACED_HALTED;
    x->pid = x->inner_pid = pid;
    x->why = why;
    x->period_ns = p->halt_period_ns;
    col_paced_look_at_image(x);
    return x;
}

/* Process PID has started a program that cannot load the agent, or is a copy of one. */
static void add_new(struct col_pacer *p, int64_t pid, const char *why, uint64_t now)
{
    struct col_paced_process *x = new_process(p, pid, why);
    const struct col_paced_process *parent = copied_from(p, x);

    col_paced_scan(x, now);
    col_adopt_replace(p, x, now);
    p->cpu_ns += col_paced_cpu(x);
    vec_push(&p->process, x);
    if (parent)
        tell_of_fork(p, x, parent, now);
    else
        col_code_exec(x, &p->batch, now);
}

static void ignore_descendants(struct col_others *o, int64_t pid)
{
    struct col_tids below = { 0 };

    col_proc_descendants(pid, &below);
    for (size_t i = 0; i < below.n; i++)
        umap_put(&o->ignored, (uint64_t)below.v[i], 1);
    vec_release(&below);
}

static void add_old(struct col_pacer *p, const struct col_others_add *add, uint64_t now)
{
    struct col_paced_process *x = new_process(p, add->pid, add->why);
    char name[64];

    if (col_proc_comm(x->pid, x->pid, name, sizeof name) > 0)
        snprintf(x->name, sizeof x->name, "%.*s", (int)strcspn(name, "\n"), name);
    col_code_read(x->pid, 0, &x->code);
    x->chosen = add->n > 0;
    for (size_t i = 0; i < add->n; i++)
        col_paced_choose(x, (int)add->tids[i]);
    col_paced_scan(x, now);
    start_now(x);
    vec_push(&p->process, x);
}

void col_others_add(struct col_pacer *p, const struct col_others_add *add, uint64_t now)
{
    struct col_others *o = &p->others;

    pthread_mutex_lock(&p->mutex);
    if (add->is_old) {
        add_old(p, add, now);
        ignore_descendants(o, add->pid);
    } else {
        add_new(p, add->pid, add->why, now);
    }
    if (add->follow && !add->n) {
        vec_push(&o->root, add->pid);
        o->finds = true;
    }
    pthread_mutex_unlock(&p->mutex);
}

void col_others_follow(struct col_pacer *p, int64_t pid, bool follow)
{
    struct col_others *o = &p->others;

    if (!follow)
        return;
    pthread_mutex_lock(&p->mutex);
    ignore_descendants(o, pid);
    vec_push(&o->root, pid);
    o->finds = true;
    pthread_mutex_unlock(&p->mutex);
}

/* --- finding --- */

static bool has_our_preload(int64_t pid)
{
    char path[64], *entry = NULL;
    size_t cap = 0;
    bool found = false;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/environ", pid);
    f = fopen(path, "re");
    while (f && !found && getdelim(&entry, &cap, 0, f) > 0)
        found = strncmp(entry, "LD_PRELOAD=", 11) == 0 && strstr(entry, "/" AGENT_LIBRARY);
    free(entry);
    if (f)
        fclose(f);
    return found;
}

/* The time since process PID started is its 22nd field of stat, in ticks after the machine did. */
static bool has_just_started(int64_t pid)
{
    char path[64], text[1024];
    unsigned long long ticks = 0;
    const char *end;
    uint64_t start;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    if (map_read_text(path, text, sizeof text) < 0 || !(end = strrchr(text, ')')))
        return false;
    sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                    "%llu", &ticks);
    start = ticks * 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    return clock_ns(CLOCK_BOOTTIME) - start < LOAD_MS * (uint64_t)COL_PACED_NS_PER_MS;
}

/* Its memory and its program are gone, and nobody can say what it was. */
static bool has_ended(int64_t pid)
{
    int stat = col_proc_open_stat(pid);
    bool ended = stat < 0 || col_proc_stat_ended(stat);

    if (stat >= 0)
        close(stat);
    return ended;
}

/* Why process PID has no agent; NULL if it has one, may still load it, or has ended. */
static const char *why_not(const struct col_pacer *p, int64_t pid, bool may_load)
{
    struct buf code = { 0 };
    char exe[64];
    enum program_fit fit;
    bool is_in;

    is_in = p->memory && col_code_read(pid, p->memory_inode, &code);
    buf_release(&code);
    if (is_in)
        return NULL;
    snprintf(exe, sizeof exe, "/proc/%" PRId64 "/exe", pid);
    fit = program_fit_path(exe);
    if (fit == PROGRAM_FITS && p->memory && may_load && has_our_preload(pid))
        return NULL;
    return has_ended(pid) ? NULL : col_agent_why(fit);
}

static struct col_paced_process *find_process(const struct col_pacer *p, int64_t pid)
{
    for (size_t i = 0; i < p->process.n; i++)
        if (p->process.v[i]->pid == pid)
            return p->process.v[i];
    return NULL;
}

/* MAY_LOAD: it started its program a short time ago. */
static void consider(struct col_pacer *p, int64_t pid, bool may_load, uint64_t now)
{
    const char *why = why_not(p, pid, may_load);

    p->others.is_unsure |= !why;
    if (why)
        add_new(p, pid, why, now);
}

/* Processes whose agent has gone because they executed another program. */
static void find_left(struct col_pacer *p, uint64_t now)
{
    VEC(struct col_paced_process *) left = { 0 };

    for (size_t i = 0; i < p->process.n; i++) {
        struct col_paced_process *x = p->process.v[i], is = { .pid = x->pid, .image = x->image };

        if (x->way != COL_PACED_ASKED || !col_paced_look_at_image(&is))
            continue;
        x->left_ns = x->left_ns ? x->left_ns : now;
        vec_push(&left, x);
    }
    for (size_t i = 0; i < left.n; i++) {
        struct col_paced_process *x = left.v[i];

        consider(p, x->pid, now - x->left_ns < LOAD_MS * (uint64_t)COL_PACED_NS_PER_MS, now);
    }
    vec_release(&left);
}

static void find_new(struct col_pacer *p, int64_t root, uint64_t now)
{
    const struct col_others *o = &p->others;
    struct col_tids below = { 0 };

    col_proc_descendants(root, &below);
    for (size_t i = 0; i < below.n; i++)
        if (below.v[i] != o->keep && !umap_find(&o->ignored, (uint64_t)below.v[i]) &&
            !find_process(p, below.v[i]))
            consider(p, below.v[i], has_just_started(below.v[i]), now);
    vec_release(&below);
}

/* The number of the newest process or thread is the last field.  While it stays the same, nothing
 * has to be looked at. */
static bool has_new_pid(struct col_others *o)
{
    char text[128], *last;
    int pid, before = o->last_pid;

    if (map_read_text("/proc/loadavg", text, sizeof text) < 0 || !(last = strrchr(text, ' ')))
        return true;
    pid = (int)strtol(last, NULL, 10);
    o->last_pid = pid;
    return pid != before;
}

/* The new one may be a thread. */
static void scan_soon(struct col_pacer *p, uint64_t now)
{
    for (size_t i = 0; i < p->process.n; i++) {
        struct col_paced_process *x = p->process.v[i];
        uint64_t soon = now + (SCAN_MS + x->thread.n) * COL_PACED_NS_PER_MS;

        if (x->way == COL_PACED_HALTED && x->scan_ns > soon)
            x->scan_ns = soon;
    }
}

static bool has_hint(struct col_pacer *p)
{
    uint32_t hints = p->memory ? __atomic_load_n(&p->memory->n_leaving, __ATOMIC_RELAXED) : 0;
    bool is_new = hints != p->others.hints;

    p->others.hints = hints;
    return is_new;
}

void col_others_look(struct col_pacer *p, uint64_t now)
{
    struct col_others *o = &p->others;
    uint64_t full_ns = FULL_MS * (uint64_t)COL_PACED_NS_PER_MS, start, rest, cost;
    bool full;

    if (!o->finds || now < o->look_ns)
        return;
    start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (has_hint(p))
        o->rush_ns = now + RUSH_FOR_MS * (uint64_t)COL_PACED_NS_PER_MS;
    full = now < o->rush_ns || now >= o->full_ns;
    if (full)
        find_left(p, now);
    if (has_new_pid(o) || o->is_unsure || now < o->rush_ns) {
        o->is_unsure = false;
        for (size_t i = 0; i < o->root.n; i++)
            find_new(p, o->root.v[i], now);
        scan_soon(p, now);
    }
    if (full)
        o->full_ns = now + full_ns;
    rest = (now < o->rush_ns ? RUSH_MS : LOOK_MS) * (uint64_t)COL_PACED_NS_PER_MS;
    cost = COST * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
    rest = cost > rest ? cost : rest;
    o->look_ns = now + (rest < full_ns ? rest : full_ns);
}

void col_others_find(struct col_pacer *p, int64_t keep, bool follow)
{
    pthread_mutex_lock(&p->mutex);
    p->others.finds = true;
    p->others.keep = keep;
    if (follow)
        vec_push(&p->others.root, getpid());
    pthread_mutex_unlock(&p->mutex);
}

/* --- the list --- */

static bool is_alike(const struct col_other *a, const struct col_other *b)
{
    return a->why == b->why && strcmp(a->name, b->name) == 0 && strcmp(a->refused, b->refused) == 0;
}

void col_others_note(struct col_pacer *p, const struct col_paced_process *x)
{
    struct col_other o = { .why = x->why, .ns = x->other_ns, .samples = x->samples,
                           .processes = 1 };
    struct col_others *all = &p->others;

    if (!x->other_ns && !x->samples)
        return;
    memcpy(o.name, x->name, sizeof o.name);
    snprintf(o.refused, sizeof o.refused, "%s", x->refused);
    for (size_t i = 0; i < all->ended.n; i++) {
        struct col_other *e = &all->ended.v[i];

        if (!is_alike(e, &o))
            continue;
        e->ns += o.ns;
        e->samples += o.samples;
        e->processes++;
        return;
    }
    vec_push(&all->ended, o);
}

static int by_time(const void *a, const void *b)
{
    const struct col_other *x = a, *y = b;

    return (x->ns < y->ns) - (x->ns > y->ns);
}

static void add_to_list(struct buf *text, const struct col_other *o, uint64_t all_ns)
{
    buf_printf_clean(text, "%s%s", text->n ? "; " : "", o->name[0] ? o->name : "?");
    if (o->processes > 1)
        buf_printf(text, " (%" PRIu32 " processes)", o->processes);
    buf_printf(text, ": %.1f %% of CPU time", all_ns ? 100.0 * (double)o->ns / (double)all_ns : 0);
    if (o->refused[0])
        buf_printf_clean(text, ", %snot sampled: %s", o->samples ? "in part " : "", o->refused);
    else if (o->why)
        buf_printf(text, ", %s", o->why);
}

struct col_others_sum col_others_list(struct col_pacer *p, uint64_t all_ns, bool only_refused,
                                      struct buf *text)
{
    struct col_others *o = &p->others;
    struct col_others_sum sum = { 0 };
    size_t listed = 0, more = 0;

    for (size_t i = 0; i < p->process.n; i++)
        col_others_note(p, p->process.v[i]);
    if (o->ended.n)
        qsort(o->ended.v, o->ended.n, sizeof *o->ended.v, by_time);
    for (size_t i = 0; i < o->ended.n; i++) {
        const struct col_other *e = &o->ended.v[i];

        sum.ns += e->ns;
        sum.samples += e->samples;
        if (only_refused && !e->refused[0])
            continue;
        if (listed < MOST_LISTED)
            add_to_list(text, e, all_ns);
        more += listed++ >= MOST_LISTED;
    }
    if (more)
        buf_printf(text, "; and %zu more", more);
    return sum;
}

void col_others_release(struct col_others *o)
{
    vec_release(&o->root);
    vec_release(&o->ended);
    umap_release(&o->ignored);
}
