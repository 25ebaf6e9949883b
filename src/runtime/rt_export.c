/* rt_export.c - fathom_export(): the table of writers, and the events they share.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_export.h"

#include <string.h>
#include <sys/mman.h>

#include "runtime/rt_report.h"

/* ---- Events ---- */

struct gather {
    struct events *e;
    const struct zone_rows *r;
    size_t most;
};

enum { MOST_EVENTS = 4000000 }; /* sorted in memory, 80 bytes each */

static void count_one(const struct live_record *rec, void *arg)
{
    *(size_t *)arg += rec->in_trace;
}

static uint32_t thread_number(struct events *e, uint32_t tid, const char *name)
{
    for (uint32_t i = e->n_threads; i-- > 0;)
        if (e->thread[i].tid == tid && e->thread[i].name == name)
            return i;
    e->thread[e->n_threads] = (struct event_thread){ tid, name };
    return e->n_threads++;
}

static void gather_one(const struct live_record *rec, void *arg)
{
    struct gather *g = arg;

    if (!rec->in_trace || g->e->n == g->most)
        return;
    g->e->list[g->e->n++] = (struct event){ thread_number(g->e, rec->tid, rec->thread),
                                            g->r->row_of[rec->node], rec->start, rec->duration,
                                            rec->value, rec->has_value };
}

static bool is_before(const struct event *a, const struct event *b)
{
    if (a->task != b->task)
        return a->task < b->task;
    if (a->start != b->start)
        return a->start < b->start;
    return a->duration > b->duration;
}

/* Bottom-up merge sort: records are nearly sorted, and qsort may call malloc. */
static void merge_runs(struct event *to, const struct event *from, size_t n, size_t width)
{
    for (size_t at = 0; at < n; at += 2 * width) {
        size_t mid = at + width < n ? at + width : n;
        size_t end = at + 2 * width < n ? at + 2 * width : n, a = at, b = mid;

        for (size_t k = at; k < end; k++)
            to[k] = b == end || (a < mid && !is_before(&from[b], &from[a])) ? from[a++]
                                                                            : from[b++];
    }
}

static void sort_events(struct events *e, struct event *spare)
{
    struct event *from = e->list, *to = spare;

    for (size_t width = 1; width < e->n; width *= 2) {
        struct event *swap = from;

        merge_runs(to, from, e->n, width);
        from = to;
        to = swap;
    }
    e->list = from;
}

int rt_events_take(struct events *e, const struct zone_rows *r)
{
    struct gather g = { e, r, 0 };
    size_t threads = r->view.head.n_pages, n = 0; /* at most one per page of records */

    memset(e, 0, sizeof *e);
    live_each_record(&r->view, count_one, &n);
    g.most = n < MOST_EVENTS ? n : MOST_EVENTS;
    if (n > MOST_EVENTS)
        rt_complain("only the first 4,000,000 events are written; the fathom format "
                    "has no limit", "");
    e->bytes = 2 * g.most * sizeof *e->list + threads * sizeof *e->thread;
    e->memory = mmap(NULL, e->bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (e->memory == MAP_FAILED) {
        e->memory = NULL;
        return FATHOM_E_MEMORY;
    }
    e->list = e->memory;
    e->thread = (struct event_thread *)(e->list + 2 * g.most);
    live_each_record(&r->view, gather_one, &g);
    sort_events(e, e->list + g.most);
    return 0;
}

void rt_events_free(struct events *e)
{
    if (e->memory)
        munmap(e->memory, e->bytes);
    memset(e, 0, sizeof *e);
}

/* ---- Writers ---- */

void rt_export_collapsed(struct rt_out *o, const struct zone_rows *r)
{
    char path[4096];

    for (uint32_t i = 0; i < r->n; i++) {
        const struct zone_row *w = &r->row[i];

        if (!zone_row_is_nested(w) || w->self == 0)
            continue;
        zone_rows_path(r, i, ';', path, sizeof path);
        rt_out_name(o, path);
        rt_out_printf(o, " %.0f\n", w->self);
    }
}

static int write_chrome(struct rt_out *o, const struct zone_rows *r)
{
    struct events e;
    int rc = rt_events_take(&e, r);

    if (rc < 0)
        return rc;
    rt_export_chrome(o, r, &e);
    rt_events_free(&e);
    return 0;
}

int fathom_export(const char *path, enum fathom_format format)
{
    struct zone_rows r;
    struct rt_out o = { .is_binary = format == FATHOM_FILE };
    int rc = path ? rt_rows_take(&r, false) : FATHOM_E_FORMAT;

    if (rc < 0)
        return rc;
    rc = rt_out_open(&o, path, format == FATHOM_FILE ? SAVE_PRIVATE : SAVE_SHARED);
    if (rc < 0) {
        zone_rows_free(&r);
        return rc;
    }
    switch (format) {
    case FATHOM_TABLE: rt_report_table(&o, &r, NULL); break;
    case FATHOM_COMPACT: rt_report_compact(&o, &r, NULL); break;
    case FATHOM_JSON: rt_report_json(&o, &r, NULL); break;
    case FATHOM_CSV: rt_report_csv(&o, &r, NULL); break;
    case FATHOM_COLLAPSED: rt_export_collapsed(&o, &r); break;
    case FATHOM_FILE: rt_export_file(&o, &r); break;
    case FATHOM_CHROME: rc = write_chrome(&o, &r); break;
    default: rc = FATHOM_E_FORMAT;
    }
    zone_rows_free(&r);
    if (rt_out_save(&o, rc == 0) < 0 && rc == 0)
        rc = FATHOM_E_SYSTEM;
    rt_out_release(&o);
    return rc;
}
