/* fmt_perfdata.c - import of perf.data: what each record means, told to a sink.
 * The reading of bytes is in perfdata_*.c, see perfdata.h.  SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/formats.h"
#include "formats/pages.h"
#include "formats/perfdata.h"
#include "symbol/sym_resolve.h"

enum { MAX_WAITING = 65536, PROT_EXEC_BIT = 4 };

/* A sample whose user addresses come in a later record. */
struct waiting {
    struct sample m;
    uint64_t cookie;
    uint32_t pid, tid;
    uint32_t *frame; /* the kernel's part, leaf first */
    size_t n;
};

struct importer {
    struct perf_file file;
    struct intern in;
    struct sink *out;
    struct perf_world world;
    struct perf_stacker stacker;
    struct perf_queue queue;
    VEC(struct waiting) waiting;
    struct umap group_at; /* sample id -> index of its last group value + 1 */
    VEC(uint64_t) group_value;
    uint32_t off_cpu, waiting_note; /* metric and frame, 0 until needed */
    uint64_t samples, lost, throttled, unknown;
    uint64_t first_ns, last_ns;
    const struct perf_sample *reading; /* of a group, for read_one */
    uint32_t reading_stack;
};

static uint32_t metric_of(struct importer *im, struct perf_attr *a)
{
    if (!a->metric)
        a->metric = intern_metric(
            &im->in,
            &(struct metric){ .name = intern_cstr(&im->in, perfdata_event_name(a)),
                              .unit = intern_cstr(&im->in, a->is_time ? "ns" : "events"),
                              .period = a->is_frequency ? 0 : a->period });
    return a->metric;
}

static void give_sample(struct importer *im, const struct sample *m)
{
    sink_sample(im->out, m);
    if (m->thread)
        im->world.thread.v[m->thread - 1].last_stack = m->stack;
    im->samples++;
}

static struct sample sample_of(struct importer *im, const struct perf_sample *s, uint64_t weight)
{
    struct sample m = {
        .thread = perfdata_thread(&im->world, s->pid, s->tid)->id,
        .metric = metric_of(im, s->attr),
        .cpu = s->cpu,
        .weight = weight > INT64_MAX ? INT64_MAX : (int64_t)weight,
        .count = 1,
    };

    sample_ends_at(&m, s->time, s->attr->is_time ? weight : 0);
    return m;
}

static void wait_for_user(struct importer *im, const struct perf_sample *s, struct sample m)
{
    struct waiting *w;

    if (im->waiting.n >= MAX_WAITING)
        return;
    w = vec_add(&im->waiting);
    *w = (struct waiting){ .m = m, .cookie = im->stacker.deferred, .pid = s->pid, .tid = s->tid,
                           .n = im->stacker.frame.n };
    w->frame = mem_alloc(w->n * sizeof *w->frame);
    memcpy(w->frame, im->stacker.frame.v, w->n * sizeof *w->frame);
}

/* One event of a group that was read with the leader's sample: its growth since the last. */
static void read_one(void *with, uint64_t id, uint64_t value)
{
    struct importer *im = with;
    uint32_t attr = umap_find(&im->file.attr_of_id, id), at = umap_find(&im->group_at, id);
    struct perf_sample s = *im->reading;
    struct sample m;
    uint64_t before;

    if (!attr)
        return;
    if (!at) {
        vec_push(&im->group_value, 0);
        at = (uint32_t)im->group_value.n;
        umap_put(&im->group_at, id, at);
    }
    before = im->group_value.v[at - 1];
    im->group_value.v[at - 1] = value;
    if (value <= before)
        return;
    s.attr = &im->file.attr.v[attr - 1];
    m = sample_of(im, &s, value - before);
    m.stack = im->reading_stack;
    give_sample(im, &m);
}

static void on_sample(struct importer *im, const struct perf_record *r)
{
    struct perf_sample s;
    struct sample m;

    if (!perfdata_sample(&im->file, r, &s)) {
        im->unknown++;
        return;
    }
    if (s.time && (!im->first_ns || s.time < im->first_ns))
        im->first_ns = s.time;
    im->last_ns = s.time > im->last_ns ? s.time : im->last_ns;
    perfdata_stack_begin(&im->stacker, &s);
    if (cur_left(&s.read) > 8 * 4 && s.attr->read_format >> 3 & 1) {
        im->reading = &s;
        im->reading_stack = perfdata_stack_end(&im->stacker);
        perfdata_read_group(&s, im, read_one);
        return;
    }
    m = sample_of(im, &s, s.period ? s.period : 1);
    if (im->stacker.deferred) {
        wait_for_user(im, &s, m);
        return;
    }
    m.stack = perfdata_stack_end(&im->stacker);
    give_sample(im, &m);
}

static void finish_waiting(struct importer *im, const struct waiting *w, struct cursor chain)
{
    struct sample m = w->m;

    perfdata_stack_resume(&im->stacker, w->frame, w->n);
    perfdata_stack_user(&im->stacker, w->pid, chain);
    m.stack = perfdata_stack_end(&im->stacker);
    give_sample(im, &m);
    free(w->frame);
}

static void on_deferred(struct importer *im, struct cursor body, const struct perf_sample *by)
{
    uint64_t cookie = cur_u64(&body), n = cur_u64(&body);
    struct cursor chain = cur_sub(&body, n > cur_left(&body) / 8 ? SIZE_MAX : n * 8);
    size_t kept = 0;

    for (size_t i = 0; i < im->waiting.n; i++) {
        struct waiting w = im->waiting.v[i];

        if (w.cookie == cookie && w.tid == by->tid)
            finish_waiting(im, &w, chain);
        else
            im->waiting.v[kept++] = w;
    }
    im->waiting.n = kept;
}

static void on_mmap(struct importer *im, const struct perf_record *r, struct cursor c)
{
    struct perf_mapping m = { 0 };
    uint32_t prot = PROT_EXEC_BIT;

    m.pid = cur_u32(&c);
    cur_u32(&c); /* tid */
    m.start = cur_u64(&c);
    m.size = cur_u64(&c);
    m.offset = cur_u64(&c);
    if (r->type == PERF_MMAP2) {
        struct cursor id = cur_sub(&c, 24); /* device and inode, or a build id */

        if (r->misc & PERF_MISC_MMAP_BUILD_ID) {
            m.build_id_size = cur_u8(&id);
            m.build_id_size = m.build_id_size > 20 ? 20 : m.build_id_size;
            cur_skip(&id, 3);
            memcpy(m.build_id, id.failed ? m.build_id : id.p, m.build_id_size);
        }
        prot = cur_u32(&c);
        cur_u32(&c); /* flags */
    } else if (r->misc & PERF_MISC_MMAP_DATA) {
        prot = 0;
    }
    m.path = cur_cstr(&c);
    m.kernel = m.pid == UINT32_MAX || (r->misc & PERF_MISC_CPUMODE) == PERF_MISC_KERNEL;
    if (!c.failed && prot & PROT_EXEC_BIT)
        perfdata_map(&im->world, &m);
}

static void on_comm(struct importer *im, const struct perf_record *r, struct cursor c)
{
    uint32_t pid = cur_u32(&c), tid = cur_u32(&c);
    const char *name = cur_cstr(&c);

    if (!c.failed)
        perfdata_comm(&im->world, pid, tid, name, r->misc & PERF_MISC_COMM_EXEC);
}

static void on_task(struct importer *im, const struct perf_record *r, struct cursor c)
{
    struct perf_task t;

    t.pid = cur_u32(&c);
    t.parent_pid = cur_u32(&c);
    t.tid = cur_u32(&c);
    t.parent_tid = cur_u32(&c);
    t.time = cur_u64(&c);
    if (c.failed)
        return;
    if (r->type == PERF_FORK)
        perfdata_fork(&im->world, &t);
    else
        perfdata_exit(&im->world, &t);
}

static uint32_t note(struct intern *in, const char *text)
{
    return intern_named_frame(
        in, FRAME_NOTE, intern_function(in, &(struct function){ .name = intern_cstr(in, text) }),
        0);
}

/* A thread left the CPU or came back: the time between is waiting.  Where, only the last
 * sample can tell, and the frame says so. */
static void on_switch(struct importer *im, const struct perf_record *r,
                      const struct perf_sample *at)
{
    struct perf_thread *t = perfdata_thread(&im->world, at->pid, at->tid);
    struct sample m = { .thread = t->id, .cpu = at->cpu, .count = 1 };

    if (r->misc & PERF_MISC_SWITCH_OUT) {
        t->out_ns = at->time;
        return;
    }
    if (!t->out_ns || at->time <= t->out_ns || at->tid == 0)
        return;
    if (!im->off_cpu) {
        im->off_cpu = intern_metric(&im->in, &(struct metric){
                                                 .name = intern_cstr(&im->in, "off-cpu"),
                                                 .unit = intern_cstr(&im->in, "ns"),
                                                 .flags = METRIC_OFF_CPU | METRIC_EXACT });
        im->waiting_note = note(&im->in, "[waiting; the last known stack]");
    }
    m.metric = im->off_cpu;
    m.start_ns = t->out_ns;
    m.duration_ns = at->time - t->out_ns;
    m.weight = (int64_t)m.duration_ns;
    m.stack = intern_stack(&im->in, t->last_stack, im->waiting_note);
    t->out_ns = 0;
    sink_sample(im->out, &m);
}

static void on_ksymbol(struct importer *im, struct cursor c)
{
    uint64_t start = cur_u64(&c);
    uint32_t size = cur_u32(&c);
    struct function f = { 0 };
    const char *name;

    cur_u32(&c); /* kind and flags */
    name = cur_cstr(&c);
    if (c.failed || !*name)
        return;
    f.name = intern_cstr(&im->in, name);
    f.module = perfdata_kernel_module(&im->world);
    vec_push(&im->world.ksymbol,
             ((struct perf_ksymbol){
                 start, start + size,
                 intern_named_frame(&im->in, FRAME_KERNEL, intern_function(&im->in, &f), 0) }));
}

static void on_thread_map(struct importer *im, struct cursor c)
{
    for (uint64_t n = cur_u64(&c); n && cur_left(&c) >= 24; n--) {
        uint32_t pid = (uint32_t)cur_u64(&c);
        const unsigned char *name = cur_bytes(&c, 16);
        char text[17] = { 0 };

        memcpy(text, name, 16);
        if (pid && pid != UINT32_MAX && *text)
            perfdata_comm(&im->world, pid, pid, text, false);
    }
}

static void deliver(void *with, const struct perf_record *r)
{
    struct importer *im = with;
    struct perf_sample at;
    struct cursor c;

    if (r->type == PERF_SAMPLE) {
        on_sample(im, r);
        return;
    }
    perfdata_trailer(&im->file, r, &c, &at);
    switch (r->type) {
    case PERF_MMAP:
    case PERF_MMAP2:
        on_mmap(im, r, c);
        break;
    case PERF_COMM:
        on_comm(im, r, c);
        break;
    case PERF_FORK:
    case PERF_EXIT:
        on_task(im, r, c);
        break;
    case PERF_SWITCH:
    case PERF_SWITCH_CPU_WIDE:
        on_switch(im, r, &at);
        break;
    case PERF_KSYMBOL:
        on_ksymbol(im, c);
        break;
    case PERF_CALLCHAIN_DEFERRED:
        on_deferred(im, c, &at);
        break;
    case PERF_LOST:
        cur_u64(&c); /* event */
        im->lost += cur_u64(&c);
        break;
    case PERF_LOST_SAMPLES:
        im->lost += cur_u64(&c);
        break;
    case PERF_THROTTLE:
        im->throttled++;
        break;
    default:
        break;
    }
}

/* Records that tell about the file are taken at once; the rest wait for their time. */
static void sort_record(struct importer *im, const struct perf_record *r)
{
    struct cursor c = r->body;

    switch (r->type) {
    case PERF_ATTR:
        perfdata_add_attr(&im->file, c);
        im->world.tables = perfdata_has_stacks(&im->file);
        break;
    case PERF_EVENT_UPDATE:
        perfdata_update_event(&im->file, c);
        break;
    case PERF_FEATURE: {
        uint64_t feature = cur_u64(&c);

        perfdata_add_feature(&im->file, feature, c);
        break;
    }
    case PERF_BUILD_ID:
        perfdata_add_build_id(&im->file, r->misc, c);
        break;
    case PERF_THREAD_MAP:
        on_thread_map(im, c);
        break;
    case PERF_FINISHED_ROUND:
        perfdata_order_round(&im->queue);
        break;
    default:
        if (r->type < PERF_KERNEL_RECORDS_END)
            perfdata_order_add(&im->queue, r, perfdata_time(&im->file, r));
    }
}

static int read_records(struct importer *im, const struct import_input *in, bool *cut,
                        struct err *e)
{
    size_t dropped = 0;
    struct perf_stream stream;
    struct perf_record r;
    int rc;

    perfdata_stream_init(&stream, im->file.data);
    while ((rc = perfdata_stream_next(&stream, &r, e)) > 0) {
        sort_record(im, &r);
        pages_drop(in, stream.raw.p, &dropped);
    }
    *cut = stream.cut || im->file.cut;
    perfdata_order_end(&im->queue);
    perfdata_stream_release(&stream);
    for (size_t i = 0; i < im->waiting.n; i++) /* their user part never came */
        finish_waiting(im, &im->waiting.v[i], cursor_of("", 0));
    vec_release(&im->waiting);
    return rc;
}

static void say(struct importer *im, const char *key, const char *text)
{
    if (*text)
        sink_meta(im->out, key, text);
}

static void say_number(struct importer *im, const char *key, uint64_t x)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, x);
    say(im, key, text);
}

static void say_facts(struct importer *im, bool cut)
{
    const struct perf_unwound *u = &im->stacker.unwound;

    say(im, "producer", "perf record");
    say(im, "host", im->file.host);
    say(im, "kernel", im->file.release);
    say(im, "cpu", im->file.cpu);
    say(im, "command", im->file.command);
    say(im, "clock", "perf");
    if (im->last_ns) {
        say_number(im, "start_ns", im->first_ns);
        say_number(im, "duration_ns", im->last_ns - im->first_ns);
    }
    say_number(im, "quality.samples", im->samples);
    say_number(im, "quality.lost", im->lost);
    say_number(im, "quality.throttled", im->throttled);
    if (u->complete + u->cut + u->lost) {
        say_number(im, "quality.complete", u->complete);
        say_number(im, "quality.joined", u->joined);
        say_number(im, "quality.truncated", u->cut + u->lost);
    }
    if (im->unknown)
        say_number(im, "quality.unreadable", im->unknown);
    if (cut)
        say(im, "file.damage", "the file ends in the middle: perf was killed or the copy was cut");
}

static void name_frames(struct importer *im)
{
    struct sym_resolve s;

    sym_resolve_init(&s, &im->in);
    for (size_t i = 0; i < im->world.module_pid.n; i++)
        if (im->world.module_pid.v[i])
            sym_resolve_where(&s, (uint32_t)i + 1, "", im->world.module_pid.v[i],
                              im->world.module_pid.v[i]);
    sym_resolve_run(&s);
    sym_resolve_modules(&s);
    sym_resolve_release(&s);
}

static int import(const struct import_input *in, struct sink *out, struct err *e)
{
    struct importer im = { .out = out };
    bool cut = false;
    int rc = perfdata_open(&im.file, in->data, in->size, e);

    intern_init(&im.in, out);
    perfdata_world_init(&im.world, &im.file, &im.in);
    im.world.tables = perfdata_has_stacks(&im.file);
    im.stacker.w = &im.world;
    im.queue.deliver = deliver;
    im.queue.with = &im;
    if (rc == 0)
        rc = read_records(&im, in, &cut, e);
    if (rc == 0 && !im.samples)
        rc = err_set(e, ERR_FORMAT, "perf.data without any sample");
    if (rc == 0) {
        say_facts(&im, cut);
        name_frames(&im);
    }
    perfdata_stacker_release(&im.stacker);
    perfdata_world_release(&im.world);
    umap_release(&im.group_at);
    vec_release(&im.group_value);
    intern_release(&im.in);
    perfdata_close(&im.file);
    return sink_end(out, e) < 0 || rc < 0 ? -1 : 0;
}

static int recognise(const struct import_input *in)
{
    return perfdata_is(in->data, in->size) ? 100 : 0;
}

const struct format format_perfdata = {
    .name = "perf.data",
    .about = "recordings of Linux perf",
    .recognise = recognise,
    .import = import,
};
