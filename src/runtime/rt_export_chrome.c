/* rt_export_chrome.c - Chrome trace events.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_export.h"

#include "zones/zone_write.h"

static double us_at(const struct zone_rows *r, uint64_t ticks)
{
    return (live_ns_at(&r->view.head, ticks) - (double)r->view.head.start_ns) / 1e3;
}

static void chrome_head(struct rt_out *o, const struct zone_rows *r, const char *phase,
                        const char *name, uint32_t tid)
{
    rt_out_printf(o, "{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"name\":", phase,
                  r->view.head.pid, tid);
    rt_out_json(o, name);
}

/* Write the arguments that fmt_chrome.c writes for the same span, and end the event. */
static void chrome_args(struct rt_out *o, const struct zone_rows *r, const struct event *v)
{
    const char *before = ",\"args\":{", *end = "}";
    struct zone_tag arg[1 + ZONE_TAGS] = { { "detail", zone_row_detail(&r->row[v->row]) } };

    zone_row_tags(r, v->row, arg + 1);
    for (size_t i = 0; i < sizeof arg / sizeof arg[0]; i++)
        if (arg[i].text[0]) {
            rt_out_printf(o, "%s\"%s\":", before, arg[i].key);
            rt_out_json(o, arg[i].text);
            before = ",";
            end = "}}";
        }
    if (v->has_value) {
        rt_out_printf(o, "%s\"" TAG_FLOW "\":%llu", before, (unsigned long long)v->value);
        end = "}}";
    }
    rt_out_str(o, end);
}

static void chrome_counter(struct rt_out *o, const struct zone_rows *r, const struct event *v,
                           uint32_t tid)
{
    chrome_head(o, r, "C", r->row[v->row].name, tid);
    if (r->row[v->row].label[0]) {
        rt_out_str(o, ",\"id\":");
        rt_out_json(o, r->row[v->row].label);
    }
    rt_out_printf(o, ",\"ts\":%.3f,\"args\":{\"value\":", us_at(r, v->start));
    rt_out_number(o, live_double(v->value));
    rt_out_str(o, "}}");
}

static void chrome_event(struct rt_out *o, const struct zone_rows *r, const struct events *e,
                         const struct event *v)
{
    const struct zone_row *w = &r->row[v->row];
    uint32_t tid = e->thread[v->task].tid;

    rt_out_str(o, ",\n");
    if (v->has_value && w->kind != LIVE_FLOW) {
        chrome_counter(o, r, v, tid);
        return;
    }
    if (w->kind == LIVE_INSTANT || w->kind == LIVE_FLOW) {
        chrome_head(o, r, "i", w->name, tid);
        rt_out_printf(o, ",\"s\":\"t\",\"ts\":%.3f", us_at(r, v->start));
    } else {
        chrome_head(o, r, "X", w->name, tid);
        rt_out_printf(o, ",\"ts\":%.3f,\"dur\":%.3f", us_at(r, v->start),
                      (double)v->duration * r->ns_per_tick / 1e3);
    }
    chrome_args(o, r, v);
}

void rt_export_chrome(struct rt_out *o, const struct zone_rows *r, const struct events *e)
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
