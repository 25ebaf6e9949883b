/* rt_report_data.c - the report for programs: JSON, CSV, and the functions of fathom.h that return
 * it.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_report.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file_limit.h"
#include "runtime/rt.h"
#include "runtime/rt_advice.h"

static void key(struct rt_out *o, const char *name, const char *value)
{
    rt_out_printf(o, ",\"%s\":", name);
    rt_out_json(o, value);
}

static void number(struct rt_out *o, const char *name, double x)
{
    rt_out_printf(o, ",\"%s\":", name);
    rt_out_number(o, x);
}

static void json_times(struct rt_out *o, const struct zone_rows *r, const struct zone_row *w)
{
    const struct { const char *name; double x; } list[] = {
        { "total_ns", w->total }, { "self_ns", w->self },     { "mean_ns", w->mean },
        { "min_ns", w->min },     { "max_ns", w->max },       { "stddev_ns", w->stddev },
        { "first_ns", w->first }, { "p50_ns", w->p50 },       { "p90_ns", w->p90 },
        { "p99_ns", w->p99 },     { "p999_ns", w->p999 },   { "raw_total_ns", w->raw_total },
        { "share", r->all_ns > 0 ? w->self / r->all_ns : 0 },
    };

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        number(o, list[i].name, list[i].x);
}

static void json_row(struct rt_out *o, const struct zone_rows *r, uint32_t i)
{
    const struct zone_row *w = &r->row[i];
    char path[1024];

    zone_rows_path(r, i, '/', path, sizeof path);
    rt_out_str(o, "{\"name\":");
    rt_out_json(o, w->name);
    key(o, "path", path);
    key(o, "kind", rt_kind_name[w->kind]);
    key(o, "context", zone_rows_context(r, i));
    key(o, "backend", w->backend);
    key(o, "label", w->label);
    key(o, "file", w->file);
    number(o, "line", w->line);
    number(o, "depth", w->depth > 0 ? w->depth - 1 : 0);
    number(o, "count", (double)w->count);
    number(o, "timed", (double)(w->count - w->untimed));
    number(o, "open", (double)w->open);
    number(o, "threads", (double)w->threads);
    if (zone_row_is_timed(w))
        json_times(o, r, w);
    if (w->kind == LIVE_OP) {
        number(o, "bytes", w->bytes);
        number(o, "bytes_per_s", w->throughput);
    }
    if (w->kind == LIVE_COUNTER)
        number(o, "sum", w->bytes);
    if (w->kind == LIVE_GAUGE || w->kind == LIVE_POOL) {
        number(o, "last", w->last);
        number(o, "low", w->low);
        number(o, "high", w->high);
    }
    if (w->demoted)
        rt_out_str(o, ",\"demoted\":true");
    rt_out_str(o, "}");
}

struct advice_list {
    struct rt_out *o;
    int n;
};

static void json_advice(const struct finding *f, void *arg)
{
    struct advice_list *list = arg;
    struct rt_out *o = list->o;

    rt_out_printf(o, "%s\n{\"rule\":", list->n++ ? "," : "");
    rt_out_json(o, f->rule->id);
    key(o, "priority", f->priority);
    key(o, "title", f->title);
    key(o, "evidence", f->evidence);
    key(o, "estimate", f->bound);
    key(o, "description", f->rule->text);
    key(o, "example", f->example);
    key(o, "name", f->name);
    key(o, "path", f->path);
    number(o, "gain", f->gain);
    rt_out_str(o, "}");
}

static void json_quality(struct rt_out *o, const struct zone_rows *r)
{
    static const char *const cause[FATHOM_LOST_CAUSES] = { "trace",  "node",  "thread",
                                                           "signal", "label", "histogram" };

    rt_out_str(o, ",\n\"lost\":{");
    for (int c = 0; c < FATHOM_LOST_CAUSES; c++)
        rt_out_printf(o, "%s\"%s\":%llu", c ? "," : "", cause[c], (unsigned long long)r->lost[c]);
    rt_out_str(o, "}");
    number(o, "overhead_ns", r->overhead_ns);
    number(o, "zone_cost_ns", (double)r->view.head.cost[0].pair * r->ns_per_tick);
    number(o, "zone_inner_ns", (double)r->view.head.cost[0].inner * r->ns_per_tick);
    number(o, "zones", (double)r->calls);
    number(o, "memory_bytes", (double)fathom_memory_bytes());
}

void rt_report_json(struct rt_out *o, const struct zone_rows *r, const char *context)
{
    struct advice_list advice = { o, 0 };
    int n = 0;

    rt_out_str(o, "{\"fathom\":1,\"program\":");
    rt_out_json(o, r->view.head.comm);
    number(o, "pid", r->view.head.pid);
    key(o, "clock", r->view.head.clock == LIVE_TICKS ? "tsc" : "monotonic");
    number(o, "wall_ns", r->wall_ns);
    number(o, "total_ns", r->all_ns);
    number(o, "threads", r->n_threads);
    rt_out_str(o, ",\n\"operations\":[");
    for (uint32_t i = 0; i < r->n; i++) {
        if (!rt_report_shows(r, i, context) || r->row[i].kind >= LIVE_ROOT)
            continue;
        rt_out_str(o, n++ ? ",\n" : "\n");
        json_row(o, r, i);
    }
    rt_out_str(o, "]");
    rt_out_str(o, ",\n\"recommendations\":[");
    rt_advice_each(r, INT_MAX, json_advice, &advice);
    rt_out_str(o, "]");
    json_quality(o, r);
    rt_out_str(o, "}\n");
}

void rt_report_csv(struct rt_out *o, const struct zone_rows *r, const char *context)
{
    char path[1024];

    rt_out_str(o, "path,name,kind,context,backend,label,count,timed,total_ns,self_ns,mean_ns,"
                  "min_ns,max_ns,stddev_ns,p50_ns,p90_ns,p99_ns,p999_ns,bytes,bytes_per_s,"
                  "value,file,line\n");
    for (uint32_t i = 0; i < r->n; i++) {
        const struct zone_row *w = &r->row[i];
        const double list[] = { w->total, w->self, w->mean, w->min,  w->max,   w->stddev,
                                w->p50,   w->p90,  w->p99,  w->p999, w->bytes, w->throughput,
                                w->kind == LIVE_COUNTER ? w->bytes : w->last };

        if (!rt_report_shows(r, i, context) || w->kind >= LIVE_ROOT)
            continue;
        zone_rows_path(r, i, '/', path, sizeof path);
        rt_out_csv(o, path);
        const char *texts[] = { w->name, rt_kind_name[w->kind], zone_rows_context(r, i),
                                w->backend, w->label };
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
            rt_out_str(o, ",");
            rt_out_csv(o, texts[t]);
        }
        rt_out_printf(o, ",%llu,%llu", (unsigned long long)w->count,
                      (unsigned long long)(w->count - w->untimed));
        for (size_t x = 0; x < sizeof list / sizeof list[0]; x++) {
            rt_out_str(o, ",");
            rt_out_number(o, list[x]);
        }
        rt_out_str(o, ",");
        rt_out_csv(o, w->file);
        rt_out_printf(o, ",%u\n", w->line);
    }
}

static int write_report(struct rt_out *o, enum fathom_format format, const char *context)
{
    struct zone_rows r;
    int rc = rt_rows_take(&r, false);

    if (rc < 0)
        return rc;
    switch (format) {
    case FATHOM_TABLE: rt_report_table(o, &r, context); break;
    case FATHOM_COMPACT: rt_report_compact(o, &r, context); break;
    case FATHOM_JSON: rt_report_json(o, &r, context); break;
    case FATHOM_CSV: rt_report_csv(o, &r, context); break;
    default: rc = FATHOM_E_FORMAT;
    }
    zone_rows_free(&r);
    return rc < 0 ? rc : o->failed ? FATHOM_E_MEMORY : 0;
}

/* An unbuffered stream writes at once; the program flushes the others. */
static bool write_stream(FILE *to, const char *data, size_t n)
{
    struct file_limit l = file_limit_begin();
    bool done = n == 0 || fwrite(data, 1, n, to) == n;

    file_limit_end(&l);
    return done;
}

int fathom_report(FILE *to, enum fathom_format format, const char *context)
{
    struct rt_out o = { 0 };
    int rc = write_report(&o, format, context);

    rt_out_clean(&o);
    if (rc == 0 && !write_stream(to, o.data, o.n))
        rc = FATHOM_E_SYSTEM;
    rt_out_release(&o);
    return rc;
}

long fathom_report_text(char *text, size_t cap, enum fathom_format format, const char *context)
{
    struct rt_out o = { 0 };
    int rc = write_report(&o, format, context);
    long n = rc < 0 ? rc : (long)o.n;

    rt_out_clean(&o);
    if (rc == 0 && cap) {
        size_t fits = o.n < cap ? o.n : cap - 1;

        if (fits)
            memcpy(text, o.data, fits);
        text[fits] = 0;
    }
    rt_out_release(&o);
    return n;
}

static void to_stat(const struct zone_rows *r, uint32_t i, struct fathom_stat *s, const char *path)
{
    const struct zone_row *w = &r->row[i];

    *s = (struct fathom_stat){
        sizeof *s, w->name, path, zone_rows_context(r, i), w->backend, w->label, w->thread,
        w->file, w->line, (int)w->kind, w->count, w->count - w->untimed, w->open, w->total,
        w->self, w->min, w->max, w->mean, w->stddev, w->first, w->p50, w->p90, w->p99, w->p999,
        w->kind == LIVE_GAUGE || w->kind == LIVE_POOL ? w->last : w->bytes, w->throughput,
        r->all_ns > 0 ? w->self / r->all_ns : 0, w->raw_total,
        w->count > w->untimed ? (double)w->min_ticks * r->ns_per_tick : 0 };
}

/* Visit in order of decreasing self time without allocating: search for the next smaller each
 * time. */
static uint32_t next_by_self(const struct zone_rows *r, uint32_t after, const char *context)
{
    uint32_t best = LIVE_NO_NODE;

    for (uint32_t i = 0; i < r->n; i++) {
        if (!rt_report_shows(r, i, context) || r->row[i].kind >= LIVE_ROOT)
            continue;
        if (after != LIVE_NO_NODE && (r->row[i].self > r->row[after].self ||
                                      (r->row[i].self == r->row[after].self && i <= after)))
            continue;
        if (best == LIVE_NO_NODE || r->row[i].self > r->row[best].self)
            best = i;
    }
    return best;
}

int fathom_each(const char *context, int per_thread,
                void (*visit)(const struct fathom_stat *, void *), void *arg)
{
    struct zone_rows r;
    struct fathom_stat s;
    char path[1024];
    int n = 0, rc = rt_rows_take(&r, per_thread != 0);

    if (rc < 0)
        return rc;
    for (uint32_t i = next_by_self(&r, LIVE_NO_NODE, context); i != LIVE_NO_NODE;
         i = next_by_self(&r, i, context)) {
        zone_rows_path(&r, i, '/', path, sizeof path);
        to_stat(&r, i, &s, path);
        visit(&s, arg);
        n++;
    }
    zone_rows_free(&r);
    return n;
}

uint64_t fathom_lost(enum fathom_loss cause)
{
    struct zone_rows r;
    uint64_t n;

    if ((int)cause < 0 || cause >= FATHOM_LOST_CAUSES || rt_rows_take(&r, false) < 0)
        return 0;
    n = r.lost[cause];
    zone_rows_free(&r);
    return n;
}

uint64_t fathom_overhead_ns(void)
{
    struct zone_rows r;
    uint64_t ns;

    if (rt_rows_take(&r, false) < 0)
        return 0;
    ns = (uint64_t)r.overhead_ns;
    zone_rows_free(&r);
    return ns;
}

uint64_t fathom_memory_bytes(void)
{
    uint64_t pages;

    if (!rt.head)
        return 0;
    pages = __atomic_load_n(&rt.head->next_page, __ATOMIC_RELAXED);
    pages -= __atomic_load_n(&rt.pool.free_count, __ATOMIC_RELAXED);
    return (pages - __atomic_load_n(&rt.retired, __ATOMIC_RELAXED)) * LIVE_PAGE;
}
