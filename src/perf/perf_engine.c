/* perf_engine.c - see perf_engine.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_engine.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/sat.h"
#include "perf/perf_event.h"
#include "perf/perf_unsampled.h"

#if defined(__aarch64__)
static const enum unw_arch this_arch = UNW_AARCH64;
#else
static const enum unw_arch this_arch = UNW_X86_64;
#endif

/* More than the rings of perf hold; a file without rounds may contain any amount. */
enum { MOST_COPIED = 1 << 30 };

static void apply(void *with, const struct perf_raw *raw)
{
    struct perf_engine *e = with;
    struct perf_record r;

    if (perf_decode(&e->attrs, raw, &r))
        perf_engine_record(e, &r);
    else
        e->counts.broken++;
}

void perf_engine_init(struct perf_engine *e, struct intern *in, const struct perf_host *host)
{
    memset(e, 0, sizeof *e);
    e->in = in;
    e->queue.deliver = apply;
    e->queue.with = e;
    e->queue.most_copied = MOST_COPIED;
    perf_module_init(&e->modules, in, host);
    perf_process_init(&e->processes, in, &e->modules);
    perf_stack_init(&e->stacks, in, &e->processes);
    perf_ifunc_init(&e->ifuncs, &e->processes);
    perf_wait_init(&e->waits, in, &e->processes, &e->stacks);
    perf_engine_arch(e, this_arch);
}

void perf_engine_release(struct perf_engine *e)
{
    for (size_t i = 0; i < e->attrs.v.n; i++)
        free(e->attrs.v.v[i]);
    vec_release(&e->attrs.v);
    perf_deferred_release(&e->deferred);
    vec_release(&e->group_value);
    vec_release(&e->self);
    vec_release(&e->bare);
    umap_release(&e->attrs.of_id);
    umap_release(&e->group_at);
    perf_order_release(&e->queue);
    perf_wait_release(&e->waits);
    perf_ifunc_release(&e->ifuncs);
    perf_stack_release(&e->stacks);
    perf_process_release(&e->processes);
    perf_module_release(&e->modules);
}

void perf_engine_arch(struct perf_engine *e, enum unw_arch arch)
{
    e->attrs.arch = e->processes.arch = arch;
}

/* --- events --- */

uint32_t perf_engine_attr(struct perf_engine *e, const struct perf_attr *a)
{
    struct perf_attr *copy = mem_alloc(sizeof *copy);

    *copy = *a;
    vec_push(&e->attrs.v, copy);
    return (uint32_t)e->attrs.v.n - 1;
}

void perf_engine_id(struct perf_engine *e, uint64_t id, uint32_t number)
{
    umap_put(&e->attrs.of_id, id, number + 1);
}

/* The first clock event has the metric "cpu", whatever its name; others keep their names. */
static const char *metric_name(struct perf_engine *e, const struct perf_attr *a)
{
    if (a->is_clock && !e->has_clock_metric) {
        e->has_clock_metric = true;
        return PERF_CPU_METRIC;
    }
    return a->name ? a->name : "event";
}

uint32_t perf_engine_metric(struct perf_engine *e, struct perf_attr *a)
{
    struct metric m = { 0 };

    if (a->metric)
        return a->metric;
    m.name = intern_cstr(e->in, metric_name(e, a));
    m.unit = intern_cstr(e->in, a->unit ? a->unit : a->is_clock ? "ns" : "events");
    if (a->is_clock)
        m.about = intern_cstr(e->in, "time running on a CPU");
    if (!a->is_frequency && a->period == 1) /* exact: every occurrence */
        m.flags = METRIC_EXACT;
    else if (!a->is_frequency)
        m.period = a->period;
    return a->metric = intern_metric(e->in, &m);
}

/* --- samples --- */

static void add_self(struct perf_engine *e, uint32_t stack, uint64_t weight)
{
    uint32_t frame = e->in->stack.v[stack - 1].frame;

    if (frame > e->self.n) {
        size_t n = e->self.n;

        vec_reserve(&e->self, frame);
        memset(e->self.v + n, 0, (frame - n) * sizeof *e->self.v);
        e->self.n = frame;
    }
    e->self.v[frame - 1] += weight;
}

/* Write R as a sample of event A.  OUT lacks only the fields that depend on the event. */
static void write_sample(struct perf_engine *e, const struct perf_record *r, struct perf_attr *a,
                         struct sample out, uint64_t weight)
{
    sample_ends_at(&out, r->time_ns, a->is_clock ? weight : 0);
    out.metric = perf_engine_metric(e, a);
    out.weight = sat_of_u64(weight);
    a->samples++;
    a->weight += weight;
    if (a == e->attrs.v.v[0] && out.stack)
        add_self(e, out.stack, weight);
    e->counts.samples++;
    sink_sample(e->in->out, &out);
}

/* Increase of the counter with sample id ID, whose new value is VALUE. */
static uint64_t grown(struct perf_engine *e, uint64_t id, uint64_t value)
{
    uint32_t at = umap_find(&e->group_at, id);
    uint64_t before;

    if (!at) {
        vec_push(&e->group_value, 0);
        at = (uint32_t)e->group_value.n;
        umap_put(&e->group_at, id, at);
    }
    before = e->group_value.v[at - 1];
    e->group_value.v[at - 1] = value;
    return value > before ? value - before : 0;
}

static bool is_group(const struct perf_record *r)
{
    const uint64_t needed = PERF_FORMAT_GROUP | PERF_FORMAT_ID;

    return r->read.n && (r->attr->read_format & needed) == needed;
}

struct group_value {
    uint64_t value, id;
    struct perf_attr *attr;
};

/* Get the next value of an event that is known, from word *AT on; *AT starts at 0. */
static bool next_value(struct perf_engine *e, const struct perf_record *r, size_t *at,
                       struct group_value *v)
{
    uint64_t format = r->attr->read_format;
    size_t each = format & PERF_FORMAT_LOST ? 3 : 2;

    if (!*at)
        *at = 1 + (size_t)!!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
              !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    for (; *at + each <= r->read.n; *at += each) {
        uint64_t id = perf_word(&r->read, *at + 1);
        uint32_t attr = umap_find(&e->attrs.of_id, id);

        if (!attr)
            continue;
        *v = (struct group_value){ perf_word(&r->read, *at), id, e->attrs.v.v[attr - 1] };
        *at += each;
        return true;
    }
    return false;
}

/* The sample of the leader contains the values of all events in its group. */
static void write_group(struct perf_engine *e, const struct perf_record *r, struct sample out)
{
    struct group_value v;

    for (size_t at = 0; next_value(e, r, &at, &v);) {
        uint64_t weight = grown(e, v.id, v.value);

        if (weight)
            write_sample(e, r, v.attr, out, weight);
    }
}

static bool expect(struct perf_attr *a)
{
    bool is_new = !a->expected;

    a->expected = true;
    return is_new;
}

bool perf_engine_expect(struct perf_engine *e, const struct perf_raw *raw)
{
    struct group_value v;
    struct perf_record r;
    bool is_new = false;

    if (raw->type != PERF_RECORD_SAMPLE || !perf_decode(&e->attrs, raw, &r) || r.attr->no_metric)
        return false;
    if (!is_group(&r))
        return expect(r.attr);
    for (size_t at = 0; next_value(e, &r, &at, &v);)
        if (v.value)
            is_new |= expect(v.attr);
    return is_new;
}

static uint32_t stack_of(struct perf_engine *e, struct perf_thread *t, const struct perf_record *r)
{
    uint64_t before = e->stacks.counts.bare;
    uint32_t stack = perf_stack_of(&e->stacks, t, r), module = e->stacks.bare_module;

    if (e->stacks.counts.bare == before)
        return stack;
    while (e->bare.n <= module)
        vec_push(&e->bare, 0);
    e->bare.v[module]++;
    return stack;
}

static void take_sample(void *with, const struct perf_record *r)
{
    struct perf_engine *e = with;
    /* A thread that is about to end has tid -1. */
    struct perf_thread *t = perf_process_thread(&e->processes, (int32_t)r->pid, (int32_t)r->tid);
    struct sample out = { .cpu = r->cpu, .tags = r->tags, .count = r->count ? r->count : 1 };

    if (r->attr->at_switch)
        perf_wait_sample(&e->waits, t, r);
    if (r->attr->in_wait)
        perf_wait_look(&e->waits, t, r);
    if (r->attr->no_metric)
        return;
    out.thread = perf_process_use(&e->processes, t, r->time_ns);
    out.stack = stack_of(e, t, r);
    if (!r->attr->at_switch)
        perf_wait_running(t, r->time_ns);
    if (is_group(r))
        write_group(e, r, out);
    else
        write_sample(e, r, r->attr, out, r->period ? r->period : 1);
    if (r->attr == e->attrs.v.v[0])
        t->sampled_ns += r->period;
}

static void on_sample(struct perf_engine *e, const struct perf_record *r)
{
    if (r->time_ns && (!e->counts.first_ns || r->time_ns < e->counts.first_ns))
        e->counts.first_ns = r->time_ns;
    if (r->time_ns > e->counts.last_ns)
        e->counts.last_ns = r->time_ns;
    if (!perf_deferred_add(&e->deferred, r))
        take_sample(e, r);
}

/* --- records --- */

void perf_engine_record(struct perf_engine *e, const struct perf_record *r)
{
    perf_work_earn(&e->processes.work);
    switch (r->type) {
    case PERF_RECORD_SAMPLE:
        on_sample(e, r);
        break;
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
        e->counts.lost += r->lost;
        break;
    case PERF_RECORD_THROTTLE:
        e->counts.throttled++;
        break;
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
        perf_wait_switch(&e->waits, r);
        break;
    case PERF_RECORD_KSYMBOL:
        perf_stack_ksymbol(&e->stacks, r);
        break;
    case PERF_RECORD_CALLCHAIN_DEFERRED_:
        perf_deferred_complete(&e->deferred, r, take_sample, e);
        break;
    default:
        perf_process_record(&e->processes, r);
    }
}

void perf_engine_add(struct perf_engine *e, const struct perf_raw *raw)
{
    perf_order_add(&e->queue, raw, perf_decode_time(&e->attrs, raw));
}

void perf_engine_until(struct perf_engine *e, uint64_t until_ns)
{
    perf_order_until(&e->queue, until_ns);
}

void perf_engine_finish(struct perf_engine *e, uint64_t stop_ns)
{
    perf_order_until(&e->queue, UINT64_MAX);
    perf_deferred_finish(&e->deferred, take_sample, e);
    perf_wait_end(&e->waits, stop_ns);
}

void perf_engine_unsampled(struct perf_engine *e, uint64_t unsampled_ns, uint64_t stop_ns)
{
    struct perf_attr *first = e->attrs.v.v[0];

    perf_unsampled_add(&e->processes, &(struct perf_unsampled){
        .metric = perf_engine_metric(e, first), .period_ns = first->period,
        .sampled_ns = first->weight, .unsampled_ns = unsampled_ns,
        .lost_ns = e->counts.lost * first->period, .stop_ns = stop_ns,
        .some_unknown = e->modules.host->rereads_maps });
}

/* --- quality --- */

enum { MOST_NAMED = 4 }; /* modules */

/* Write the modules without unwind information in which most stacks end. */
static void name_bare_modules(struct perf_engine *e)
{
    struct buf text = { 0 };

    for (int i = 0; i < MOST_NAMED && e->bare.n; i++) {
        size_t most = 0;

        for (size_t m = 1; m < e->bare.n; m++)
            most = e->bare.v[m] > e->bare.v[most] ? m : most;
        if (!e->bare.v[most])
            break;
        buf_printf(&text, "%s%s", text.n ? ", " : "",
                   most ? intern_text_of(e->in, e->in->module.v[most - 1].path) : "[unknown]");
        e->bare.v[most] = 0;
    }
    sink_meta(e->in->out, "quality.not_walked_in", buf_text(&text));
    buf_release(&text);
}

void perf_engine_quality(struct perf_engine *e)
{
    const struct perf_stack_counts *s = &e->stacks.counts;
    struct sink *out = e->in->out;

    sink_meta_u64(out, "quality.samples", e->counts.samples);
    sink_meta_u64(out, "quality.lost", e->counts.lost);
    sink_meta_u64(out, "quality.throttled", e->counts.throttled);
    sink_meta_u64(out, "quality.stacks", s->all);
    sink_meta_u64(out, "quality.complete", s->complete);
    sink_meta_u64(out, "quality.truncated", s->cut);
    sink_meta_u64(out, "quality.joined", s->joined);
    sink_meta_u64(out, "quality.unreadable", s->lost + e->counts.broken);
    if (s->chains)
        sink_meta_u64(out, "quality.chains_ended", s->chains);
    sink_meta_u64(out, "quality.not_walked", s->bare);
    if (s->bare)
        name_bare_modules(e);
    if (e->modules.unopened)
        sink_meta_u64(out, "quality.files_unopened", e->modules.unopened);
    if (e->processes.work.ignored)
        sink_meta_u64(out, "quality.mappings_ignored", e->processes.work.ignored);
    if (e->waits.metric) {
        sink_meta_u64(out, "quality.waits", e->waits.waits);
        sink_meta_u64(out, "quality.waits_guessed", e->waits.guessed);
    }
}
