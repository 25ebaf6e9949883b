/* zone_write.c - see zone_write.h.  SPDX-License-Identifier: Apache-2.0 */
#include "zones/zone_write.h"

struct writer {
    const struct zone_rows *r;
    struct zone_consumer *t;
    uint32_t *stack;         /* row -> stack; 0 = not nested in time */
    uint32_t *around;        /* row -> stack of the row or of the innermost row around it */
    uint32_t *tags;          /* row -> tag set */
    uint32_t *name, *detail; /* row -> string, 0 until needed */
    uint32_t *task;          /* task -> thread, likewise */
    uint32_t metric, process;
    uint32_t tid, thread; /* of the previous record */
    const char *thread_name;
};

const char *zone_row_detail(const struct zone_row *w)
{
    return w->backend[0] ? w->backend : w->label;
}

void zone_row_tags(const struct zone_rows *r, uint32_t row, struct zone_tag out[ZONE_TAGS])
{
    const struct zone_row *w = &r->row[row];

    out[0] = (struct zone_tag){ TAG_CONTEXT, zone_rows_context(r, row) };
    out[1] = (struct zone_tag){ TAG_BACKEND, w->backend };
    out[2] = (struct zone_tag){ TAG_LABEL, w->label };
}

static uint32_t stack_around(const struct writer *g, uint32_t row)
{
    uint32_t parent = g->r->row[row].parent;

    return parent == LIVE_NO_NODE ? 0 : g->around[parent];
}

static uint32_t tags_of(struct writer *g, uint32_t row)
{
    struct zone_tag tags[ZONE_TAGS];
    uint32_t set = 0;

    zone_row_tags(g->r, row, tags);
    for (size_t i = 0; i < ZONE_TAGS; i++)
        if (tags[i].text[0])
            set = g->t->tag(g->t, set, tags[i].key, tags[i].text, 0);
    return set;
}

static void write_rows(struct writer *g)
{
    for (uint32_t i = 0; i < g->r->n; i++) {
        const struct zone_row *w = &g->r->row[i];

        if (w->kind < LIVE_ROOT)
            g->tags[i] = tags_of(g, i);
        if (zone_row_is_nested(w) && (w->count || w->open || w->hist))
            g->stack[i] = g->t->stack(g->t, stack_around(g, i), w);
        g->around[i] = g->stack[i] ? g->stack[i] : stack_around(g, i);
    }
}

/* A call that has not ended counts as a call. */
static void write_samples(struct writer *g)
{
    const struct live_view *v = &g->r->view;

    for (uint32_t i = 0; i < v->n_nodes; i++) {
        const struct live_node *n = &v->node[i];
        const struct live_task *task = &v->task[n->task];
        uint64_t calls = n->count + n->is_open;

        if (!g->stack[g->r->row_of[i]] || (calls == 0 && g->r->part[i] == 0))
            continue;
        if (!g->metric)
            g->metric = g->t->metric(g->t);
        if (!g->task[n->task])
            g->task[n->task] = g->t->thread(g->t, task->tid, task->name);
        sink_sample(g->t->out, &(struct sample){
            .start_ns = v->head.start_ns, .thread = g->task[n->task],
            .stack = g->stack[g->r->row_of[i]], .metric = g->metric,
            .tags = g->tags[g->r->row_of[i]], .cpu = -1,
            .weight = (int64_t)g->r->part[i], .count = calls });
    }
}

/* ---- The trace ---- */

static uint64_t ns_at(const struct writer *g, uint64_t ticks)
{
    double ns = live_ns_at(&g->r->view.head, ticks);

    return ns > 0 && ns < 9e18 ? (uint64_t)(ns + 0.5) : 0;
}

static uint64_t ns_of(const struct writer *g, uint64_t ticks)
{
    double ns = (double)ticks * g->r->ns_per_tick;

    return ns < 9e18 ? (uint64_t)(ns + 0.5) : 0;
}

static uint32_t name_of(struct writer *g, uint32_t row)
{
    if (!g->name[row]) {
        g->name[row] = g->t->string(g->t, g->r->row[row].name);
        g->detail[row] = g->t->string(g->t, zone_row_detail(&g->r->row[row]));
    }
    return g->name[row];
}

static uint32_t thread_of(struct writer *g, const struct live_record *rec)
{
    if (!g->thread || g->tid != rec->tid || g->thread_name != rec->thread) {
        g->thread = g->t->thread(g->t, rec->tid, rec->thread);
        g->tid = rec->tid;
        g->thread_name = rec->thread;
    }
    return g->thread;
}

static void write_counter(struct writer *g, const struct live_record *rec)
{
    if (!g->process)
        g->process = g->t->process(g->t);
    sink_counter(g->t->out, &(struct counter){ .time_ns = ns_at(g, rec->start),
                                               .process = g->process,
                                               .name = name_of(g, g->r->row_of[rec->node]),
                                               .tags = g->tags[g->r->row_of[rec->node]],
                                               .value = live_double(rec->value) });
}

static void write_record(const struct live_record *rec, void *arg)
{
    struct writer *g = arg;
    uint32_t row = g->r->row_of[rec->node], tags = g->tags[row];

    if (!rec->in_trace)
        return;
    if (rec->has_value && g->r->row[row].kind != LIVE_FLOW) {
        write_counter(g, rec);
        return;
    }
    if (rec->has_value)
        tags = g->t->tag(g->t, tags, TAG_FLOW, NULL, rec->value);
    sink_span(g->t->out, &(struct span){ .start_ns = ns_at(g, rec->start),
                                         .duration_ns = ns_of(g, rec->duration),
                                         .thread = thread_of(g, rec), .name = name_of(g, row),
                                         .stack = g->stack[row], .detail = g->detail[row],
                                         .tags = tags });
}

size_t zone_write_room(const struct zone_rows *r)
{
    return 5 * (size_t)r->n + r->view.n_tasks;
}

void zone_write(const struct zone_rows *r, struct zone_consumer *t, uint32_t *room)
{
    struct writer g = { .r = r, .t = t, .stack = room };

    g.tags = g.stack + r->n;
    g.name = g.tags + r->n;
    g.detail = g.name + r->n;
    g.around = g.detail + r->n;
    g.task = g.around + r->n;
    write_rows(&g);
    write_samples(&g);
    live_each_record(&r->view, write_record, &g);
}
