/* pprof_read.c - import pprof's profile.proto (already decompressed).  Makes two passes over the
 * top level: tables first, because they may follow the samples that use them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/pprof.h"
#include "formats/protobuf.h"
#include "formats/textscan.h"
#include "profile/intern.h"
#include "profile/module_kind.h"

enum { MAX_TYPES = 256, MAX_LINES = 256 };

struct type {
    uint64_t type, unit; /* strings */
    uint32_t metric;     /* id; 0: the count of samples of the first metric */
};

struct owner { /* thread and process of a sample, from its labels */
    uint64_t thread, process; /* strings */
    int64_t tid, pid;
};

struct reader {
    struct sink *out;
    struct intern in;
    VEC(struct scan_text) string;
    VEC(struct type) type;
    VEC(struct cursor) mapping, function, location; /* messages, decoded in turn */
    struct umap module_of, function_of, frame_of;   /* by the file's ids */
    VEC(struct owner) thread;
    struct index threads;
    struct index processes; /* by pid and name: the first thread of each */
    VEC(uint64_t) stack; /* scratch: frame ids, leaf first */
    uint64_t default_type, period, period_type, duration, comment, samples;
    uint32_t n_frames;
};

static struct scan_text text_of(const struct reader *r, uint64_t i)
{
    return i < r->string.n ? r->string.v[i] : (struct scan_text){ "", 0 };
}

static uint32_t string_of(struct reader *r, uint64_t i)
{
    struct scan_text t = text_of(r, i);

    return t.n ? intern_string(&r->in, t.s, t.n) : 0;
}

static struct type read_type(struct cursor c)
{
    struct pb_reader m = pb_reader_of(c);
    struct type t = { 0 };

    while (pb_next(&m)) {
        if (m.field == PPROF_TYPE_TYPE)
            t.type = m.value;
        else if (m.field == PPROF_TYPE_UNIT)
            t.unit = m.value;
    }
    return t;
}

/* First pass: everything but samples. */
static bool read_tables(struct reader *r, struct cursor whole)
{
    struct pb_reader m = pb_reader_of(whole);

    while (pb_next(&m)) {
        switch (m.field) {
        case PPROF_SAMPLE_TYPE:
            if (r->type.n < MAX_TYPES)
                vec_push(&r->type, read_type(m.bytes));
            break;
        case PPROF_MAPPING:
            vec_push(&r->mapping, m.bytes);
            break;
        case PPROF_LOCATION:
            vec_push(&r->location, m.bytes);
            break;
        case PPROF_FUNCTION:
            vec_push(&r->function, m.bytes);
            break;
        case PPROF_STRING:
            vec_push(&r->string, scan_of(m.bytes.p, cur_left(&m.bytes)));
            break;
        case PPROF_DURATION:
            r->duration = m.value;
            break;
        case PPROF_PERIOD_TYPE:
            r->period_type = read_type(m.bytes).type;
            break;
        case PPROF_PERIOD:
            r->period = m.value;
            break;
        case PPROF_COMMENT:
            pb_each(&m, &r->comment);
            break;
        case PPROF_DEFAULT_TYPE:
            r->default_type = m.value;
            break;
        default:
            break;
        }
    }
    return !m.at.failed;
}

static const char *our_unit(struct scan_text unit)
{
    static const struct { const char *theirs, *ours; } same[] = {
        { "nanoseconds", "ns" }, { "nanosecond", "ns" }, { "count", "count" },
    };

    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        if (scan_is(unit, same[i].theirs))
            return same[i].ours;
    return NULL;
}

static void define_metric(struct reader *r, struct type *t)
{
    struct scan_text unit = text_of(r, t->unit);
    const char *ours = our_unit(unit);
    struct metric m = { .name = string_of(r, t->type) };

    m.unit = ours ? intern_cstr(&r->in, ours) : string_of(r, t->unit);
    m.period = t->type == r->period_type && r->period < INT64_MAX ? r->period : 0;
    t->metric = intern_metric(&r->in, &m);
}

/* The default type becomes the first metric.  Without one, the last type does, as in pprof.  A
 * first column that counts samples is not a metric if there are other columns. */
static void define_metrics(struct reader *r)
{
    size_t first = r->type.n - 1, from = 0;

    for (size_t i = 0; i < r->type.n; i++)
        if (r->default_type && r->type.v[i].type == r->default_type)
            first = i;
    if (first > 0 && scan_is(text_of(r, r->type.v[0].type), "samples"))
        from = 1;
    define_metric(r, &r->type.v[first]);
    for (size_t i = from; i < r->type.n; i++)
        if (i != first)
            define_metric(r, &r->type.v[i]);
}

static void read_build_id(struct module *m, struct scan_text hex)
{
    for (; hex.n >= 2 && m->build_id_size < sizeof m->build_id; scan_drop(&hex, 2)) {
        struct scan_text two = { hex.s, 2 };
        uint64_t byte;

        if (!scan_hex(&two, &byte) || two.n)
            break;
        m->build_id[m->build_id_size++] = (uint8_t)byte;
    }
}

static void define_module(struct reader *r, struct cursor c)
{
    struct pb_reader m = pb_reader_of(c);
    struct module mod = { 0 };
    struct scan_text path = { "", 0 };
    uint64_t id = 0;

    while (pb_next(&m)) {
        if (m.field == PPROF_MAPPING_ID)
            id = m.value;
        else if (m.field == PPROF_MAPPING_FILE)
            path = text_of(r, m.value);
        else if (m.field == PPROF_MAPPING_BUILD_ID)
            read_build_id(&mod, text_of(r, m.value));
    }
    if (!path.n)
        return;
    mod.path = intern_string(&r->in, path.s, path.n);
    mod.kind = module_kind_of(intern_text_of(&r->in, mod.path));
    umap_put(&r->module_of, id, intern_module(&r->in, &mod));
}

struct place { /* a location message */
    uint64_t id, mapping, address;
    struct { uint64_t function, line; } line[MAX_LINES];
    size_t n_lines;
};

static struct place read_location(struct cursor c)
{
    struct pb_reader m = pb_reader_of(c);
    struct place p;

    memset(&p, 0, offsetof(struct place, line));
    p.n_lines = 0;
    while (pb_next(&m)) {
        struct pb_reader l = pb_reader_of(m.bytes);

        if (m.field == PPROF_LOCATION_ID)
            p.id = m.value;
        else if (m.field == PPROF_LOCATION_MAPPING)
            p.mapping = m.value;
        else if (m.field == PPROF_LOCATION_ADDRESS)
            p.address = m.value;
        if (m.field != PPROF_LOCATION_LINE || m.wire != PB_BYTES || p.n_lines == MAX_LINES)
            continue;
        p.line[p.n_lines].function = p.line[p.n_lines].line = 0;
        while (pb_next(&l)) {
            if (l.field == PPROF_LINE_FUNCTION)
                p.line[p.n_lines].function = l.value;
            else if (l.field == PPROF_LINE_LINE)
                p.line[p.n_lines].line = l.value <= UINT32_MAX ? l.value : 0;
        }
        p.n_lines++;
    }
    return p;
}

static uint32_t define_function(struct reader *r, struct cursor c, uint32_t module, uint64_t *id)
{
    struct pb_reader m = pb_reader_of(c);
    struct function f = { .module = module };

    while (pb_next(&m)) {
        if (m.field == PPROF_FUNCTION_ID)
            *id = m.value;
        else if (m.field == PPROF_FUNCTION_NAME)
            f.name = string_of(r, m.value);
        else if (m.field == PPROF_FUNCTION_SYSTEM_NAME)
            f.linkage_name = string_of(r, m.value);
        else if (m.field == PPROF_FUNCTION_FILE)
            f.file = string_of(r, m.value);
        else if (m.field == PPROF_FUNCTION_LINE)
            f.line = m.value <= UINT32_MAX ? (uint32_t)m.value : 0;
    }
    if (!f.name)
        f.name = f.linkage_name;
    if (f.linkage_name == f.name)
        f.linkage_name = 0;
    return intern_function(&r->in, &f);
}

/* A function belongs to the module of the first location that uses it. */
static void set_modules(struct reader *r)
{
    struct umap module_of = { 0 }; /* function id -> module */

    for (size_t i = 0; i < r->location.n; i++) {
        struct place p = read_location(r->location.v[i]);
        uint32_t module = umap_find(&r->module_of, p.mapping);

        for (size_t k = 0; module && k < p.n_lines; k++)
            if (!umap_find(&module_of, p.line[k].function))
                umap_put(&module_of, p.line[k].function, module);
    }
    for (size_t i = 0; i < r->function.n; i++) {
        struct pb_reader m = pb_reader_of(r->function.v[i]);
        uint64_t id = 0;

        while (pb_next(&m) && m.field != PPROF_FUNCTION_ID)
            ;
        id = m.field == PPROF_FUNCTION_ID ? m.value : 0;
        umap_put(&r->function_of, id,
                 define_function(r, r->function.v[i], umap_find(&module_of, id), &id));
    }
    umap_release(&module_of);
}

static uint32_t kind_of(const struct reader *r, uint32_t module, uint32_t function)
{
    const char *file = function ? intern_text_of(&r->in, r->in.function.v[function - 1].file) : "";
    size_t n = strlen(file);
    enum frame_kind kind =
        module ? module_frame_kind(r->in.module.v[module - 1].kind) : FRAME_NATIVE;

    if (kind != FRAME_KERNEL && n > 3 && strcmp(file + n - 3, ".py") == 0)
        return FRAME_PYTHON;
    return kind;
}

static void define_frame(struct reader *r, struct cursor c)
{
    struct place p = read_location(c);
    struct frame f = { .module = umap_find(&r->module_of, p.mapping), .address = p.address };
    struct location chain[MAX_LINES];
    size_t n = 0;

    for (size_t i = p.n_lines; i--;) { /* pprof's order is innermost first */
        uint32_t function = umap_find(&r->function_of, p.line[i].function);

        if (function)
            chain[n++] = (struct location){ function, (uint32_t)p.line[i].line };
    }
    f.kind = kind_of(r, f.module, n ? chain[0].function : 0);
    r->n_frames++;
    umap_put(&r->frame_of, p.id, r->n_frames);
    sink_frame(r->out, &f);
    if (n)
        sink_resolve(r->out, r->n_frames, chain, n);
}

/* A label that does not describe the thread or process is a tag, added to *TAGS.  Names of threads
 * and processes are texts, ids are numbers; any other value is a tag as well. */
static void read_label(struct reader *r, struct cursor c, struct owner *to, uint32_t *tags)
{
    struct pb_reader m = pb_reader_of(c);
    uint64_t key = 0, string = 0, number = 0, unit = 0;
    struct scan_text name;

    while (pb_next(&m)) {
        if (m.field == PPROF_LABEL_KEY)
            key = m.value;
        else if (m.field == PPROF_LABEL_TEXT)
            string = m.value;
        else if (m.field == PPROF_LABEL_NUMBER)
            number = m.value;
        else if (m.field == PPROF_LABEL_UNIT)
            unit = m.value;
    }
    name = text_of(r, key);
    if (string && scan_is(name, "thread"))
        to->thread = string;
    else if (string && scan_is(name, "process"))
        to->process = string;
    else if (!string && (scan_is(name, "tid") || scan_is(name, "thread_id")))
        to->tid = (int64_t)number;
    else if (!string && scan_is(name, "pid"))
        to->pid = (int64_t)number;
    else if (name.n)
        *tags = intern_tag_of(&r->in, &(struct tag){
            .parent = *tags, .key = string_of(r, key), .text = string_of(r, string),
            .value = string ? 0 : (int64_t)number, .unit = string ? 0 : string_of(r, unit) });
}

/* ID of the process of L, which NEXT is if there is none yet. */
static uint32_t process_of(struct reader *r, const struct owner *l, uint32_t next)
{
    uint64_t h = hash_pair((uint64_t)l->pid, l->process);

    for (uint32_t at = index_first(&r->processes, h), id;
         (id = index_id(&r->processes, h, &at));)
        if (r->thread.v[id - 1].pid == l->pid && r->thread.v[id - 1].process == l->process)
            return id;
    index_add(&r->processes, h, next);
    return next;
}

/* Define a process for every thread, so that both have the same ids; it is unused if an earlier
 * process has the same pid and name. */
static uint32_t thread_of(struct reader *r, const struct owner *l)
{
    uint64_t h = hash_pair(hash_pair(l->thread, l->process), hash_pair((uint64_t)l->tid,
                                                                       (uint64_t)l->pid));
    uint32_t process;

    if (!l->thread && !l->process && !l->tid && !l->pid)
        return 0;
    for (uint32_t at = index_first(&r->threads, h), id; (id = index_id(&r->threads, h, &at));)
        if (memcmp(&r->thread.v[id - 1], l, sizeof *l) == 0)
            return id;
    process = process_of(r, l, (uint32_t)r->thread.n + 1);
    intern_process(&r->in, &(struct process){ .pid = l->pid, .name = string_of(r, l->process) });
    vec_push(&r->thread, *l);
    index_add(&r->threads, h, (uint32_t)r->thread.n);
    intern_thread(&r->in, &(struct thread){ .process = process,
                                            .name = string_of(r, l->thread), .tid = l->tid });
    return (uint32_t)r->thread.n;
}

static uint32_t stack_of(struct reader *r)
{
    uint32_t stack = 0;

    for (size_t i = r->stack.n; i--;) {
        uint32_t frame = umap_find(&r->frame_of, r->stack.v[i]);

        if (frame)
            stack = intern_stack(&r->in, stack, frame);
    }
    return stack;
}

static void write_sample(struct reader *r, const int64_t *value, const struct owner *l,
                         uint32_t tags)
{
    struct sample m = { .stack = stack_of(r), .thread = thread_of(r, l), .tags = tags, .cpu = -1 };
    bool counts = r->type.v[0].metric == 0;

    for (size_t i = 0; i < r->type.n; i++) {
        m.metric = r->type.v[i].metric;
        m.weight = value[i];
        m.count = counts && m.metric == 1 && value[0] > 0 ? (uint64_t)value[0] : 1;
        if (m.metric && m.weight)
            sink_sample(r->out, &m);
    }
    r->samples++;
}

static bool read_sample(struct reader *r, struct cursor c)
{
    struct pb_reader m = pb_reader_of(c);
    int64_t value[MAX_TYPES] = { 0 };
    struct owner l;
    uint32_t tags = 0;
    size_t n = 0;
    uint64_t x;

    memset(&l, 0, sizeof l);
    vec_clear(&r->stack);
    while (pb_next(&m)) {
        if (m.field == PPROF_SAMPLE_LOCATION)
            while (pb_each(&m, &x))
                vec_push(&r->stack, x);
        else if (m.field == PPROF_SAMPLE_VALUE)
            while (pb_each(&m, &x))
                value[n < MAX_TYPES ? n++ : MAX_TYPES - 1] = (int64_t)x;
        else if (m.field == PPROF_SAMPLE_LABEL && m.wire == PB_BYTES)
            read_label(r, m.bytes, &l, &tags);
    }
    if (m.at.failed)
        return false;
    write_sample(r, value, &l, tags);
    return true;
}

static void write_facts(struct reader *r)
{
    struct scan_text command = text_of(r, r->comment);
    char *text;

    sink_meta(r->out, "producer", "pprof");
    if (r->duration)
        sink_meta_u64(r->out, "duration_ns", r->duration);
    if (scan_take(&command, PPROF_COMMAND) && command.n) {
        text = mem_strndup(command.s, command.n);
        sink_meta(r->out, "command", text);
        free(text);
    }
}

static int read_profile(struct reader *r, struct cursor whole, struct err *e)
{
    struct pb_reader m = pb_reader_of(whole);

    if (!read_tables(r, whole))
        return err_set(e, ERR_FORMAT, "the pprof profile has invalid fields");
    if (!r->type.n)
        return err_set(e, ERR_FORMAT, "the pprof profile has no sample types");
    define_metrics(r);
    for (size_t i = 0; i < r->mapping.n; i++)
        define_module(r, r->mapping.v[i]);
    set_modules(r);
    for (size_t i = 0; i < r->location.n; i++)
        define_frame(r, r->location.v[i]);
    while (pb_next(&m))
        if (m.field == PPROF_SAMPLE && !read_sample(r, m.bytes))
            return err_set(e, ERR_FORMAT, "the pprof profile has an invalid sample");
    write_facts(r);
    return 0;
}

int pprof_import(const struct import_input *in, struct sink *out, struct err *e)
{
    struct reader r = { .out = out };
    int rc;

    intern_init(&r.in, out);
    rc = read_profile(&r, cursor_of(in->data, in->size), e);
    intern_release(&r.in);
    vec_release(&r.string);
    vec_release(&r.type);
    vec_release(&r.mapping);
    vec_release(&r.function);
    vec_release(&r.location);
    umap_release(&r.module_of);
    umap_release(&r.function_of);
    umap_release(&r.frame_of);
    vec_release(&r.thread);
    index_release(&r.threads);
    index_release(&r.processes);
    vec_release(&r.stack);
    return sink_end(out, e) < 0 || rc < 0 ? -1 : 0;
}

/* Protobuf has no magic: the whole top level must look like a profile's. */
int pprof_recognize(const struct import_input *in)
{
    struct pb_reader m = pb_reader_of(cursor_of(in->data, in->size));
    bool types = false, strings = false;

    while (pb_next(&m)) {
        bool is_message = m.field >= PPROF_SAMPLE_TYPE && m.field <= PPROF_STRING;

        if (m.field > 64 || (is_message && m.wire != PB_BYTES))
            return 0;
        types |= m.field == PPROF_SAMPLE_TYPE;
        if (m.field == PPROF_STRING && !strings && cur_left(&m.bytes))
            return 0; /* entry 0 is "" */
        strings |= m.field == PPROF_STRING;
    }
    return types && strings && !m.at.failed ? 90 : 0;
}
