/* fmt_perfdata.c - import perf.data, as a file or as perf writes it to a pipe.
 * SPDX-License-Identifier: Apache-2.0 */

#include "formats/formats.h"
#include "formats/pages.h"
#include "formats/perfdata.h"

struct importer {
    const struct import_input *input;
    struct perf_file file;
    struct intern in;
    struct perf_engine engine;
    uint64_t lost_in_rings; /* sum of the LOST records */
    bool has_metrics;
    bool has_totals;        /* perf wrote the numbers of lost samples at the end */
};

enum { FILTERED = 1 << 15 }; /* misc of LOST_SAMPLES: a BPF program rejected these samples */

static void add_thread_map(struct importer *im, struct cursor c)
{
    for (uint64_t n = cur_u64(&c); n && cur_left(&c) >= 24; n--) {
        uint32_t pid = (uint32_t)cur_u64(&c);
        const unsigned char *name = cur_bytes(&c, 16);
        char text[17] = { 0 };
        struct perf_record r = { .type = PERF_RECORD_COMM, .pid = pid, .tid = pid, .text = text };

        memcpy(text, name, 16);
        if (pid && pid != UINT32_MAX && *text)
            perf_engine_record(&im->engine, &r);
    }
}

/* The load address of the kernel applies to all samples, including earlier ones. */
static void look_for_kernel(struct importer *im, const struct perf_raw *raw)
{
    struct perf_record r;

    if ((raw->type == PERF_RECORD_MMAP || raw->type == PERF_RECORD_MMAP2) &&
        (raw->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL &&
        perf_decode(&im->engine.attrs, raw, &r))
        perfdata_host_map_kernel(&im->file, &r);
}

/* Since 6.1 perf ends a recording with the losses of each event, at time 0.  They repeat those of
 * the LOST records, whose ids name the event that found room again, not the one that lost.  Other
 * LOST_SAMPLES are written by the kernel for losses of the hardware. */
static void take_loss(struct importer *im, const struct perf_raw *raw)
{
    struct perf_record r;

    if (!perf_decode(&im->engine.attrs, raw, &r))
        return;
    if (raw->type == PERF_RECORD_LOST)
        im->lost_in_rings += r.lost;
    else if (!perf_decode_time(&im->engine.attrs, raw))
        im->has_totals = true;
}

static bool is_loss(const struct perf_raw *raw)
{
    return raw->type == PERF_RECORD_LOST || raw->type == PERF_RECORD_LOST_SAMPLES;
}

/* Number of the first event, from AT on, that may have samples but none was found yet. */
static size_t next_without_samples(const struct importer *im, size_t at)
{
    for (; at < im->engine.attrs.v.n; at++) {
        const struct perf_attr *a = im->engine.attrs.v.v[at];

        if (!a->expected && (a->type != PERF_TYPE_SOFTWARE || a->config != PERF_COUNT_SW_DUMMY))
            break;
    }
    return at;
}

/* The order of metrics is that of the events, and events without samples have none.  Read ahead
 * to find the others, usually not far. */
static void define_metrics(struct importer *im)
{
    struct perf_attrs *attrs = &im->engine.attrs;
    struct perf_stream ahead;
    struct perf_raw raw;
    size_t dropped = 0, next = next_without_samples(im, 0);

    perfdata_stream_init(&ahead, im->file.data);
    while (next < attrs->v.n && perfdata_stream_next(&ahead, &raw, NULL) > 0) {
        if (perf_engine_expect(&im->engine, &raw))
            next = next_without_samples(im, next);
        pages_drop(im->input, ahead.raw.p, &dropped);
    }
    perfdata_stream_release(&ahead);
    for (size_t i = 0; i < attrs->v.n; i++)
        if (attrs->v.v[i]->expected)
            perf_engine_metric(&im->engine, attrs->v.v[i]);
}

/* Process records that describe the file at once; queue the others in time order. */
static void take_record(struct importer *im, const struct perf_raw *raw)
{
    struct cursor c = raw->body;

    switch (raw->type) {
    case PERFDATA_ATTR:
        perfdata_add_attr(&im->file, c);
        break;
    case PERFDATA_EVENT_UPDATE:
        perfdata_update_event(&im->file, c);
        break;
    case PERFDATA_FEATURE: {
        uint64_t feature = cur_u64(&c);

        perfdata_add_feature(&im->file, feature, c);
        break;
    }
    case PERFDATA_BUILD_ID:
        perfdata_add_build_id(&im->file, raw->misc, c);
        break;
    case PERFDATA_THREAD_MAP:
        add_thread_map(im, c);
        break;
    case PERFDATA_FINISHED_ROUND:
        perf_order_round(&im->engine.queue);
        break;
    default:
        if (raw->type == PERF_RECORD_LOST_SAMPLES && raw->misc & FILTERED)
            break;
        if (!im->has_metrics && raw->type < PERFDATA_ATTR) { /* a pipe has described its events */
            define_metrics(im);
            im->has_metrics = true;
        }
        look_for_kernel(im, raw);
        if (is_loss(raw))
            take_loss(im, raw);
        if (raw->type < PERFDATA_ATTR)
            perf_engine_add(&im->engine, raw);
    }
}

static int read_records(struct importer *im, bool *cut, struct err *e)
{
    size_t dropped = 0;
    struct perf_stream stream;
    struct perf_raw raw;
    int rc;

    perfdata_stream_init(&stream, im->file.data);
    while ((rc = perfdata_stream_next(&stream, &raw, e)) > 0) {
        take_record(im, &raw);
        pages_drop(im->input, stream.raw.p, &dropped);
    }
    *cut = stream.cut || im->file.cut;
    perf_engine_finish(&im->engine, im->engine.queue.newest_ns);
    if (im->has_totals && im->engine.counts.lost >= im->lost_in_rings)
        im->engine.counts.lost -= im->lost_in_rings;
    perfdata_stream_release(&stream);
    return rc;
}

static void write_meta(struct importer *im, const char *key, const char *text)
{
    if (*text)
        sink_meta(im->in.out, key, text);
}

static void write_facts(struct importer *im, bool cut)
{
    const struct perf_counts *n = &im->engine.counts;

    write_meta(im, "producer", "perf record");
    write_meta(im, "host", im->file.host);
    write_meta(im, "kernel", im->file.release);
    write_meta(im, "arch", im->file.arch);
    write_meta(im, "cpu", im->file.cpu);
    write_meta(im, "command", im->file.command);
    write_meta(im, "clock", "perf");
    if (n->last_ns) {
        sink_meta_u64(im->in.out, "start_ns", n->first_ns);
        sink_meta_u64(im->in.out, "duration_ns", n->last_ns - n->first_ns);
    }
    if (cut)
        write_meta(im, "file.damage",
                   "the file is truncated: perf was killed or the copy is incomplete");
}

static void name_frames(struct importer *im)
{
    struct sym_resolve names;

    perf_names(&im->engine, &names);
    sym_resolve_release(&names);
}

int perfdata_import(const struct import_input *in, const struct perf_host *host, struct sink *out,
                    struct err *e)
{
    struct importer im = { .input = in };
    bool cut = false;
    int rc;

    intern_init(&im.in, out);
    perf_engine_init(&im.engine, &im.in, host);
    rc = perfdata_open(&im.file, &im.engine, in->data, in->size, e);
    if (rc == 0)
        rc = read_records(&im, &cut, e);
    if (rc == 0 && !im.engine.counts.samples)
        rc = err_set(e, ERR_FORMAT, "perf.data has no samples");
    if (rc == 0) {
        write_facts(&im, cut);
        name_frames(&im);
        perf_engine_quality(&im.engine);
    }
    perf_engine_release(&im.engine);
    intern_release(&im.in);
    perfdata_close(&im.file);
    return sink_end(out, e) < 0 || rc < 0 ? -1 : 0;
}

static int import(const struct import_input *in, struct sink *out, struct err *e)
{
    return perfdata_import(in, &perfdata_host, out, e);
}

static int recognize(const struct import_input *in)
{
    return perfdata_is(in->data, in->size) ? 100 : 0;
}

const struct format format_perfdata = {
    .name = "perf.data",
    .about = "recordings of Linux perf",
    .recognize = recognize,
    .import = import,
};
