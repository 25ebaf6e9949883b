/* rt_export_json.c - Chrome trace events and speedscope.  Without trace records the rows
 * themselves are laid out, one after another, so that the picture has the right proportions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_export.h"

#include <string.h>

static double us_at(const struct result *r, uint64_t ticks)
{
    return (live_ns_at(&r->view.head, ticks) - (double)r->view.head.start_ns) / 1e3;
}

static void chrome_head(struct rt_out *o, const struct result *r, const char *phase,
                        const char *name, uint32_t tid)
{
    rt_out_printf(o, "{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"name\":", phase,
                  r->view.head.pid, tid);
    rt_out_json(o, name);
}

static void chrome_value(struct rt_out *o, const struct result *r, const struct event *v,
                         const struct row *w, uint32_t tid)
{
    if (w->kind == LIVE_FLOW) {
        chrome_head(o, r, "i", w->name, tid);
        rt_out_printf(o, ",\"s\":\"t\",\"ts\":%.3f,\"args\":{\"flow\":%llu}}", us_at(r, v->start),
                      (unsigned long long)v->value);
        return;
    }
    chrome_head(o, r, "C", w->name, tid);
    rt_out_printf(o, ",\"ts\":%.3f,\"args\":{\"value\":", us_at(r, v->start));
    rt_out_number(o, live_double(v->value));
    rt_out_str(o, "}}");
}

static void chrome_event(struct rt_out *o, const struct result *r, const struct events *e,
                         const struct event *v)
{
    const struct row *w = &r->row[v->row];
    uint32_t tid = e->thread[v->task].tid;

    rt_out_str(o, ",\n");
    if (v->has_value) {
        chrome_value(o, r, v, w, tid);
        return;
    }
    if (w->kind == LIVE_INSTANT) {
        chrome_head(o, r, "i", w->name, tid);
        rt_out_printf(o, ",\"s\":\"t\",\"ts\":%.3f}", us_at(r, v->start));
        return;
    }
    chrome_head(o, r, "X", w->name, tid);
    rt_out_printf(o, ",\"ts\":%.3f,\"dur\":%.3f", us_at(r, v->start),
                  (double)v->duration * r->ns_per_tick / 1e3);
    if (w->backend[0]) {
        rt_out_str(o, ",\"args\":{\"backend\":");
        rt_out_json(o, w->backend);
        rt_out_str(o, "}");
    }
    rt_out_str(o, "}");
}

void rt_export_chrome(struct rt_out *o, const struct result *r, const struct events *e)
{
    rt_out_str(o, "{\"traceEvents\":[\n");
    chrome_head(o, r, "M", "process_name", 0);
    rt_out_str(o, ",\"args\":{\"name\":");
    rt_out_json(o, r->view.head.comm);
    rt_out_str(o, "}}");
    for (uint32_t t = 0; t < e->n_threads; t++) {
        rt_out_str(o, ",\n");
        chrome_head(o, r, "M", "thread_name", e->thread[t].tid);
        rt_out_str(o, ",\"args\":{\"name\":");
        rt_out_json(o, e->thread[t].name);
        rt_out_str(o, "}}");
    }
    for (size_t i = 0; i < e->n; i++)
        chrome_event(o, r, e, &e->list[i]);
    rt_out_str(o, "],\n\"displayTimeUnit\":\"ns\",\"otherData\":{");
    for (int c = 0; c < FATHOM_LOST_CAUSES; c++)
        rt_out_printf(o, "%s\"lost_%d\":%llu", c ? "," : "", c, (unsigned long long)r->lost[c]);
    rt_out_str(o, "}}\n");
}

/* speedscope wants opens and closes that nest: one sampled profile of the rows does for every
 * mode, and is what a flame graph is made of. */
void rt_export_speedscope(struct rt_out *o, const struct result *r, const struct events *e)
{
    uint32_t chain[64];
    double all = 0;
    int n = 0;

    (void)e;
    rt_out_str(o, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                  "\"exporter\":\"fathom\",\"name\":");
    rt_out_json(o, r->view.head.comm);
    rt_out_str(o, ",\"shared\":{\"frames\":[");
    for (uint32_t i = 0; i < r->n; i++) {
        rt_out_str(o, i ? ",{\"name\":" : "{\"name\":");
        rt_out_json(o, r->row[i].name);
        if (r->row[i].file[0]) {
            rt_out_str(o, ",\"file\":");
            rt_out_json(o, r->row[i].file);
            rt_out_printf(o, ",\"line\":%u", r->row[i].line);
        }
        rt_out_str(o, "}");
    }
    rt_out_str(o, "]},\"profiles\":[{\"type\":\"sampled\",\"name\":\"zones\","
                  "\"unit\":\"nanoseconds\","
                  "\"startValue\":0,\"samples\":[");
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t depth = 0;

        if (r->row[i].self <= 0)
            continue;
        for (uint32_t up = i; up != LIVE_NO_NODE && depth < 64; up = r->row[up].parent)
            if (r->row[up].kind < LIVE_ROOT)
                chain[depth++] = up;
        rt_out_str(o, n++ ? ",[" : "[");
        while (depth-- > 0)
            rt_out_printf(o, depth ? "%u," : "%u]", chain[depth]);
    }
    rt_out_str(o, "],\"weights\":[");
    n = 0;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->row[i].self > 0) {
            rt_out_printf(o, n++ ? ",%.0f" : "%.0f", r->row[i].self);
            all += r->row[i].self;
        }
    rt_out_printf(o, "],\"endValue\":%.0f}]}\n", all);
}
