/* col_zones.c - see col_zones.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_zones.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"

struct import {
    struct col_zones *z;
    struct live_view v;
    uint32_t *stack;       /* by node; 0 = not in the tree of time */
    uint32_t *thread;      /* by task: its id, 0 until needed */
    double *total, *below; /* by node: its own time in ticks, timed calls below it */
    double *children;      /* time of what it calls */
    double ns_per_tick;
    uint64_t last; /* tick */
};

static bool is_in_tree(const struct live_node *n)
{
    return n->kind == LIVE_ZONE || n->kind == LIVE_OP || n->kind == LIVE_LOCK_WAIT;
}

static uint64_t ns_at(const struct import *m, uint64_t ticks)
{
    double ns = live_ns_at(&m->v.head, ticks);

    return ns > 0 && ns < 9e18 ? (uint64_t)ns : 0;
}

/* --- samples --- */

static void make_stacks(struct import *m)
{
    for (uint32_t i = 0; i < m->v.n_nodes; i++) {
        const struct live_node *n = &m->v.node[i];
        struct intern *in = m->z->in;
        uint32_t up = n->parent, function;

        while (up != LIVE_NO_NODE && !m->stack[up])
            up = m->v.node[up].parent;
        if (!is_in_tree(n) || (n->count == 0 && !n->is_open && n->hist == NULL))
            continue;
        function = intern_function(in, &(struct function){ .name = intern_cstr(in, n->name),
                                                           .file = intern_cstr(in, n->file),
                                                           .line = n->line });
        m->stack[i] = intern_stack(in, up == LIVE_NO_NODE ? 0 : m->stack[up],
                                   intern_named_frame(in, FRAME_ZONE, function, n->line));
    }
}

static uint64_t untimed(const struct live_node *n)
{
    uint64_t calls = n->ext ? live_word(&n->ext->untimed) : 0;

    return calls < n->count ? calls : n->count;
}

/* Time of each node without what measuring took, children before parents. */
static void add_up(struct import *m)
{
    for (uint32_t i = m->v.n_nodes; i-- > 0;) {
        const struct live_node *n = &m->v.node[i];
        double timed = (double)(n->count - untimed(n)), total = (double)n->total;
        const struct live_cost *cost = &m->v.head.cost[n->is_precise];
        double pair = timed * (double)cost->pair;
        uint32_t up = n->parent;

        if (timed > 0)
            total *= (double)n->count / timed;
        if (n->is_open && m->last > n->open_since)
            total += (double)(m->last - n->open_since);
        total -= (double)n->count * (double)cost->inner + m->below[i];
        m->total[i] = total > 0 ? total : 0;
        while (up != LIVE_NO_NODE && !m->stack[up])
            up = m->v.node[up].parent;
        if (up != LIVE_NO_NODE && m->stack[i]) {
            m->children[up] += m->total[i];
            m->below[up] += m->below[i] + pair;
        }
        m->z->overhead_ns += (uint64_t)(pair * m->ns_per_tick);
        m->z->zones += n->count;
    }
}

static uint32_t metric_of(struct col_zones *z)
{
    struct intern *in = z->in;

    if (!z->metric)
        z->metric = intern_metric(in, &(struct metric){
            .name = intern_cstr(in, "zones"), .unit = intern_cstr(in, "ns"),
            .about = intern_cstr(in, "time of zones marked in the program, measured in full"),
            .flags = METRIC_EXACT });
    return z->metric;
}

static void put_samples(struct import *m)
{
    struct sink *out = m->z->in->out;

    for (uint32_t i = 0; i < m->v.n_nodes; i++) {
        const struct live_node *n = &m->v.node[i];
        const struct live_task *t = &m->v.task[n->task];
        double self = (m->total[i] - m->children[i]) * m->ns_per_tick;
        struct sample s = { .time_ns = m->v.head.start_ns, .stack = m->stack[i], .cpu = -1,
                            .weight = self > 0 && self < 9e18 ? (int64_t)self : 0,
                            .count = n->count ? n->count : 1 };

        if (!m->stack[i])
            continue;
        if (!m->thread[n->task])
            m->thread[n->task] = m->z->thread(m->z, &m->v.head, t->tid, t->name);
        s.thread = m->thread[n->task];
        s.metric = metric_of(m->z);
        sink_sample(out, &s);
    }
}

/* --- the trace --- */

static void find_last(const struct live_record *r, void *arg)
{
    struct import *m = arg;

    if (r->duration < (uint64_t)1 << 62 && r->start + r->duration > m->last)
        m->last = r->start + r->duration;
}

static void put_record(const struct live_record *r, void *arg)
{
    struct import *m = arg;
    const struct live_node *n = &m->v.node[r->node];
    struct sink *out = m->z->in->out;
    struct intern *in = m->z->in;

    if (!r->in_trace)
        return;
    if (r->has_value && n->kind != LIVE_FLOW) {
        struct counter c = { .time_ns = ns_at(m, r->start),
                             .process = m->z->process(m->z, &m->v.head),
                             .name = intern_cstr(in, n->name), .value = live_double(r->value) };

        sink_counter(out, &c);
    } else {
        struct span s = { .start_ns = ns_at(m, r->start),
                          .duration_ns = (uint64_t)((double)r->duration * m->ns_per_tick),
                          .thread = m->z->thread(m->z, &m->v.head, r->tid, r->thread),
                          .name = intern_cstr(in, n->name), .stack = m->stack[r->node],
                          .detail = intern_cstr(in, n->backend) };

        sink_span(out, &s);
    }
}

/* A program that was killed had no time to say how long its ticks are: when the counter is
 * that of this machine and boot, it can still be told. */
static void refine(struct import *m)
{
    struct live_header *h = &m->v.head;

    if (h->clock == LIVE_TICKS && h->last_ticks == h->start_ticks && h->boot &&
        h->boot == live_boot_id()) {
        h->last_ticks = fathom_cycles();
        h->last_ns = clock_mono_ns();
    }
    m->ns_per_tick = live_ns_per_tick(h);
    if (!(m->ns_per_tick > 1e-3 && m->ns_per_tick < 1e3))
        m->ns_per_tick = 1;
}

int col_zones_import(struct col_zones *z, const void *data, size_t size, struct err *e)
{
    struct import m = { .z = z };
    size_t n;

    if (live_open(&m.v, data, size) < 0)
        return err_set(e, ERR_FORMAT, "zones: %s", m.v.why);
    n = m.v.n_nodes;
    m.stack = mem_zalloc((n + 1) * sizeof *m.stack);
    m.thread = mem_zalloc((m.v.n_tasks + 1) * sizeof *m.thread);
    m.total = mem_zalloc(3 * (n + 1) * sizeof *m.total);
    m.below = m.total + n + 1;
    m.children = m.below + n + 1;
    refine(&m);
    m.last = m.v.now;
    live_each_record(&m.v, find_last, &m);
    make_stacks(&m);
    add_up(&m);
    put_samples(&m);
    live_each_record(&m.v, put_record, &m);
    for (int c = 0; c < FATHOM_LOST_CAUSES; c++) {
        z->dropped += m.v.head.lost[c];
        for (uint32_t i = 0; i < m.v.n_tasks; i++)
            z->dropped += m.v.task[i].lost[c];
    }
    free(m.stack);
    free(m.thread);
    free(m.total);
    live_close(&m.v);
    return 0;
}

/* --- for a recording --- */

void col_zones_open(struct col_zones *z)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(z->folder, sizeof z->folder, "%s/fathom-zones-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(z->folder))
        z->folder[0] = 0; /* no zones then; everything else is recorded */
    else
        setenv("FATHOM_RECORD_DIR", z->folder, 1);
}

void col_zones_hide(struct col_zones *z)
{
    if (z->folder[0])
        unsetenv("FATHOM_RECORD_DIR");
}

static void take_file(struct col_zones *z, const char *path)
{
    struct map m = { 0 };
    struct err ignored = { 0 };

    if (map_open(&m, path, &ignored) == 0)
        col_zones_import(z, m.data, m.size, &ignored);
    map_close(&m);
}

void col_zones_take(struct col_zones *z)
{
    DIR *d = z->folder[0] ? opendir(z->folder) : NULL;
    char path[600];

    for (struct dirent *it; d && (it = readdir(d));) {
        struct stat st;

        snprintf(path, sizeof path, "%s/%s", z->folder, it->d_name);
        if (it->d_name[0] != '.' && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
            take_file(z, path);
    }
    if (d)
        closedir(d);
    if (z->zones) {
        snprintf(path, sizeof path, "%" PRIu64, z->dropped);
        sink_meta(z->in->out, "quality.dropped", path);
    }
}

void col_zones_close(struct col_zones *z)
{
    DIR *d = z->folder[0] ? opendir(z->folder) : NULL;
    char path[600];

    for (struct dirent *it; d && (it = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", z->folder, it->d_name);
        if (it->d_name[0] != '.')
            unlink(path);
    }
    if (d)
        closedir(d);
    if (z->folder[0])
        rmdir(z->folder);
    z->folder[0] = 0;
}
