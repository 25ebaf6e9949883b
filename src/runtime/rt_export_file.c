/* rt_export_file.c - the .fathom file (docs/format.md), uncompressed: libfathom has no zstd.
 * Rows become stacks, their self time exact samples of the metric "zones" per thread, trace
 * records spans, gauges counters.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_export.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { COLUMNS = 8, RECORDS_EACH = 1 << 16, TYPES = 19 };
enum { T_META = 1, T_STRING, T_METRIC, T_PROCESS, T_THREAD, T_FRAME = 9, T_FUNCTION, T_LOCATION,
       T_STACK, T_SAMPLE, T_SPAN, T_COUNTER, T_END = 18 };
enum { METRIC_EXACT = 1, FRAME_ZONE = 5 };

struct chunk { /* being filled: one column each, lengths of text apart */
    int type, columns;
    uint32_t records;
    struct rt_out column[COLUMNS];
    struct rt_out text;      /* bytes of the one text column, put behind its lengths */
    uint64_t last[COLUMNS];  /* for deltas */
};

struct file {
    struct rt_out *o;
    const struct result *r;
    uint64_t records[TYPES];
    uint32_t next_id[TYPES];
    uint32_t crc[256];
    const char **string; /* what id N-1 is */
    uint32_t n_strings, most_strings;
    uint32_t *frame_of; /* row -> frame */
    uint32_t *stack_of; /* row -> stack */
    uint32_t *name_of, *detail_of; /* row -> strings */
    double *self;       /* view node -> its own ticks */
    double *row_self;   /* row -> the sum of them */
    void *memory;
    size_t bytes;
};

/* ---- Bytes ---- */

static void crc_init(struct file *f)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;

        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        f->crc[i] = c;
    }
}

static uint32_t crc_of(const struct file *f, const char *p, size_t n)
{
    uint32_t c = ~0u;

    while (n-- > 0)
        c = f->crc[(c ^ (unsigned char)*p++) & 255] ^ c >> 8;
    return ~c;
}

static void put_uint(struct chunk *c, int column, uint64_t x)
{
    rt_out_uleb(&c->column[column], x);
}

static void put_int(struct chunk *c, int column, int64_t x)
{
    put_uint(c, column, ((uint64_t)x << 1) ^ (uint64_t)(x >> 63));
}

static void put_delta(struct chunk *c, int column, uint64_t x)
{
    put_int(c, column, (int64_t)(x - c->last[column]));
    c->last[column] = x;
}

/* All text columns of a chunk share no bytes: each call's text goes to TEXT of its own. */
static void put_text(struct chunk *c, int column, struct rt_out *text, const char *s)
{
    size_t n = strlen(s);

    put_uint(c, column, n);
    rt_out_add(text, s, n);
}

static void begin(struct chunk *c, int type, int columns)
{
    memset(c, 0, sizeof *c);
    c->type = type;
    c->columns = columns;
}

static void write_head(struct file *f, const struct chunk *c, const struct rt_out *body,
                       uint32_t first)
{
    struct rt_out h = { 0 };
    unsigned char small[4] = { (unsigned char)c->type, 0, (unsigned char)c->columns, 0 };

    rt_out_add(&h, "\x89" "FCH", 4);
    rt_out_add(&h, small, 4);
    rt_out_u32(&h, c->records);
    rt_out_u32(&h, first);
    rt_out_u32(&h, (uint32_t)body->n);
    rt_out_u32(&h, (uint32_t)body->n);
    rt_out_u32(&h, crc_of(f, body->data, body->n));
    if (!h.failed)
        rt_out_u32(&h, crc_of(f, h.data, h.n));
    rt_out_add(f->o, h.data, h.n);
    f->o->failed |= h.failed;
    rt_out_release(&h);
}

static bool defines(int type)
{
    return type == T_STRING || type == T_METRIC || type == T_PROCESS || type == T_THREAD ||
           type == T_FRAME || type == T_FUNCTION || type == T_STACK;
}

/* Put the chunk down.  TEXT[i] follows the lengths in column i; NULL where there is none. */
static void end(struct file *f, struct chunk *c, struct rt_out *const *text)
{
    struct rt_out body = { 0 };

    for (int i = 0; i < c->columns; i++) {
        size_t more = text && text[i] ? text[i]->n : 0;

        rt_out_uleb(&body, c->column[i].n + more);
        rt_out_add(&body, c->column[i].data, c->column[i].n);
        if (more)
            rt_out_add(&body, text[i]->data, more);
        f->o->failed |= c->column[i].failed || (text && text[i] && text[i]->failed);
    }
    if (c->records && !body.failed) {
        write_head(f, c, &body, defines(c->type) ? f->next_id[c->type] + 1 : 0);
        rt_out_add(f->o, body.data, body.n);
        f->records[c->type] += c->records;
        f->next_id[c->type] += c->records;
    }
    f->o->failed |= body.failed;
    rt_out_release(&body);
    for (int i = 0; i < c->columns; i++)
        rt_out_release(&c->column[i]);
}

/* ---- Strings ---- */

static uint32_t string_id(struct file *f, const char *s)
{
    if (!*s)
        return 0;
    for (uint32_t i = f->n_strings; i-- > 0;)
        if (f->string[i] == s || !strcmp(f->string[i], s))
            return i + 1;
    if (f->n_strings == f->most_strings)
        return 0;
    f->string[f->n_strings++] = s;
    return f->n_strings;
}

static const char *detail_text(const struct row *w)
{
    return w->backend[0] ? w->backend : w->label;
}

static void gather_strings(struct file *f, const struct events *e)
{
    const struct result *r = f->r;

    string_id(f, "zones");
    string_id(f, "ns");
    string_id(f, "time of zones marked in the program, measured in full");
    string_id(f, r->view.head.comm);
    for (uint32_t i = 0; i < r->view.n_tasks; i++)
        string_id(f, r->view.task[i].name);
    for (uint32_t i = 0; i < e->n_threads; i++)
        string_id(f, e->thread[i].name);
    for (uint32_t i = 0; i < r->n; i++) {
        string_id(f, r->row[i].name);
        string_id(f, r->row[i].file);
        string_id(f, detail_text(&r->row[i]));
    }
}

static void write_strings(struct file *f)
{
    struct chunk c;
    struct rt_out text = { 0 }, *texts[] = { &text };

    begin(&c, T_STRING, 1);
    for (uint32_t i = 0; i < f->n_strings; i++)
        put_text(&c, 0, &text, f->string[i]);
    c.records = f->n_strings;
    end(f, &c, texts);
    rt_out_release(&text);
}

/* ---- What the recording is ---- */

static void meta(struct chunk *c, struct rt_out *keys, struct rt_out *values, const char *key,
                 const char *value)
{
    put_text(c, 0, keys, key);
    put_text(c, 1, values, value);
    c->records++;
}

static void write_meta(struct file *f)
{
    const struct result *r = f->r;
    struct rt_out keys = { 0 }, values = { 0 }, *texts[] = { &keys, &values };
    struct chunk c;
    char number[32];
    uint64_t lost = 0;

    for (int i = 0; i < FATHOM_LOST_CAUSES; i++)
        lost += r->lost[i];
    begin(&c, T_META, 2);
    meta(&c, &keys, &values, "producer", "libfathom " FATHOM_VERSION);
    meta(&c, &keys, &values, "command", r->view.head.comm);
    meta(&c, &keys, &values, "clock", "monotonic");
    snprintf(number, sizeof number, "%llu", (unsigned long long)r->view.head.start_ns);
    meta(&c, &keys, &values, "start_ns", number);
    snprintf(number, sizeof number, "%.0f", r->wall_ns);
    meta(&c, &keys, &values, "duration_ns", number);
    snprintf(number, sizeof number, "%llu", (unsigned long long)lost);
    meta(&c, &keys, &values, "quality.dropped", number);
    snprintf(number, sizeof number, "%.0f", r->overhead_ns);
    meta(&c, &keys, &values, "quality.recorder_cpu_ns", number);
    end(f, &c, texts);
    rt_out_release(&keys);
    rt_out_release(&values);
}

static void write_metric(struct file *f)
{
    struct chunk c;

    begin(&c, T_METRIC, 5);
    put_delta(&c, 0, string_id(f, "zones"));
    put_delta(&c, 1, string_id(f, "ns"));
    put_delta(&c, 2, string_id(f, "time of zones marked in the program, measured in full"));
    put_uint(&c, 3, METRIC_EXACT);
    put_uint(&c, 4, 0);
    c.records = 1;
    end(f, &c, NULL);
}

static void write_process(struct file *f)
{
    const struct live_header *h = &f->r->view.head;
    struct chunk c;

    begin(&c, T_PROCESS, 6);
    put_delta(&c, 0, h->pid);
    put_delta(&c, 1, h->parent_pid);
    put_delta(&c, 2, string_id(f, h->comm));
    put_delta(&c, 3, 0);
    put_delta(&c, 4, h->start_ns);
    put_delta(&c, 5, 0);
    c.records = 1;
    end(f, &c, NULL);
}

static void put_thread(struct file *f, struct chunk *c, const char *name, uint32_t tid)
{
    put_delta(c, 0, 1);
    put_delta(c, 1, string_id(f, name));
    put_delta(c, 2, tid);
    put_delta(c, 3, 0);
    put_delta(c, 4, 0);
    c->records++;
}

/* Threads 1..n are the tasks of the region; a record's thread is one of them when that is
 * still running, else it has a line of its own behind them. */
static void write_threads(struct file *f, struct events *e)
{
    const struct live_view *v = &f->r->view;
    struct chunk c;

    begin(&c, T_THREAD, 5);
    for (uint32_t i = 0; i < v->n_tasks; i++)
        put_thread(f, &c, v->task[i].name, v->task[i].tid);
    for (uint32_t i = 0; i < e->n_threads; i++) {
        struct event_thread *t = &e->thread[i];

        for (uint32_t k = 0; k < v->n_tasks && !t->id; k++)
            if (t->tid && v->task[k].tid == t->tid)
                t->id = k + 1;
        if (!t->id) {
            put_thread(f, &c, t->name, t->tid);
            t->id = c.records;
        }
    }
    end(f, &c, NULL);
}

/* ---- Places ---- */

static bool is_frame(const struct row *w)
{
    return w->kind < LIVE_ROOT && row_is_timed(w) && w->kind != LIVE_FRAME &&
           w->kind != LIVE_LOCK_HOLD;
}

static uint32_t twin_of(const struct result *r, uint32_t row)
{
    const struct row *w = &r->row[row];

    for (uint32_t i = 0; i < row; i++)
        if (is_frame(&r->row[i]) && r->row[i].line == w->line && !strcmp(r->row[i].name, w->name) &&
            !strcmp(r->row[i].file, w->file))
            return i;
    return LIVE_NO_NODE;
}

static void write_frames(struct file *f)
{
    struct chunk frames, functions, locations;
    const struct result *r = f->r;

    begin(&frames, T_FRAME, 4);
    begin(&functions, T_FUNCTION, 5);
    begin(&locations, T_LOCATION, 4);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t twin;

        if (!is_frame(&r->row[i]))
            continue;
        twin = twin_of(r, i);
        f->frame_of[i] = twin == LIVE_NO_NODE ? ++frames.records : f->frame_of[twin];
        if (twin != LIVE_NO_NODE)
            continue;
        put_uint(&frames, 0, FRAME_ZONE);
        put_uint(&frames, 1, 0);
        put_delta(&frames, 2, 0);
        put_delta(&frames, 3, 0);
        put_delta(&functions, 0, string_id(f, r->row[i].name));
        put_delta(&functions, 1, 0);
        put_delta(&functions, 2, string_id(f, r->row[i].file));
        put_uint(&functions, 3, r->row[i].line);
        put_delta(&functions, 4, 0);
        functions.records++;
        put_delta(&locations, 0, f->frame_of[i]);
        put_delta(&locations, 1, f->frame_of[i]);
        put_delta(&locations, 2, r->row[i].line);
        put_uint(&locations, 3, 0);
        locations.records++;
    }
    end(f, &frames, NULL);
    end(f, &functions, NULL);
    end(f, &locations, NULL);
}

static uint32_t parent_stack(const struct file *f, uint32_t row)
{
    for (row = f->r->row[row].parent; row != LIVE_NO_NODE; row = f->r->row[row].parent)
        if (f->stack_of[row])
            return f->stack_of[row];
    return 0;
}

static void write_stacks(struct file *f)
{
    struct chunk c;

    begin(&c, T_STACK, 2);
    for (uint32_t i = 0; i < f->r->n; i++) {
        uint32_t up;

        if (!f->frame_of[i])
            continue;
        up = parent_stack(f, i);
        f->stack_of[i] = ++c.records;
        put_uint(&c, 0, up ? f->stack_of[i] - up : 0);
        put_delta(&c, 1, f->frame_of[i]);
    }
    end(f, &c, NULL);
}

/* ---- Samples: a row's self time, shared out by what each thread had of it ---- */

static void raw_selfs(struct file *f)
{
    const struct live_view *v = &f->r->view;

    for (uint32_t i = v->n_nodes; i-- > 0;) {
        const struct live_node *n = &v->node[i];

        f->self[i] = (double)n->total - f->self[i];
        if (f->self[i] < 0)
            f->self[i] = 0;
        for (uint32_t up = n->parent; up != LIVE_NO_NODE; up = v->node[up].parent)
            if (f->frame_of[f->r->row_of[up]]) {
                f->self[up] += (double)n->total;
                break;
            }
        f->row_self[f->r->row_of[i]] += f->self[i];
    }
}

static void write_samples(struct file *f)
{
    const struct result *r = f->r;
    struct chunk c;

    raw_selfs(f);
    begin(&c, T_SAMPLE, 7);
    for (uint32_t i = 0; i < r->view.n_nodes; i++) {
        uint32_t row = r->row_of[i];
        const struct live_node *n = &r->view.node[i];
        double part = f->row_self[row] > 0 ? f->self[i] / f->row_self[row] : 0;
        int64_t weight = (int64_t)(r->row[row].self * part + 0.5);

        if (!f->stack_of[row] || (weight <= 0 && n->count == 0))
            continue;
        put_delta(&c, 0, r->view.head.start_ns);
        put_delta(&c, 1, n->task + 1);
        put_delta(&c, 2, f->stack_of[row]);
        put_delta(&c, 3, 1);
        put_int(&c, 4, -1);
        put_int(&c, 5, weight);
        put_uint(&c, 6, n->count ? n->count : 1);
        c.records++;
    }
    end(f, &c, NULL);
}

/* ---- The trace ---- */

static uint64_t ns_at(const struct result *r, uint64_t ticks)
{
    double ns = live_ns_at(&r->view.head, ticks);

    return ns > 0 ? (uint64_t)ns : 0;
}

struct trace { /* written as the records come: the region may be larger than memory */
    struct file *f;
    struct events *e;
    struct chunk spans, counters;
    uint32_t last; /* thread of the record before */
};

static void full_chunk(struct file *f, struct chunk *c, uint32_t most)
{
    int type = c->type, columns = c->columns;

    if (c->records < most)
        return;
    end(f, c, NULL);
    begin(c, type, columns);
}

static uint32_t thread_of_record(struct trace *t, const struct live_record *rec)
{
    struct event_thread *list = t->e->thread;

    for (uint32_t i = 0; i < t->e->n_threads && (list[t->last].tid != rec->tid ||
                                                 list[t->last].name != rec->thread); i++)
        t->last = i;
    return list[t->last].id;
}

static void write_record(const struct live_record *rec, void *arg)
{
    struct trace *t = arg;
    struct file *f = t->f;
    uint32_t row = f->r->row_of[rec->node];
    struct chunk *c = rec->has_value ? &t->counters : &t->spans;

    if (!rec->in_trace || (rec->has_value && f->r->row[row].kind == LIVE_FLOW))
        return;
    put_delta(c, 0, ns_at(f->r, rec->start));
    if (rec->has_value) {
        put_delta(c, 1, 1);
        put_delta(c, 2, f->name_of[row]);
        put_delta(c, 3, 0);
        rt_out_u64(&c->column[4], rec->value);
    } else {
        put_uint(c, 1, (uint64_t)((double)rec->duration * f->r->ns_per_tick + 0.5));
        put_delta(c, 2, thread_of_record(t, rec));
        put_delta(c, 3, f->name_of[row]);
        put_delta(c, 4, f->stack_of[row]);
        put_delta(c, 5, f->detail_of[row]);
    }
    c->records++;
    full_chunk(f, c, RECORDS_EACH);
}

static void write_trace(struct file *f, struct events *e)
{
    struct trace t = { .f = f, .e = e };

    for (uint32_t i = 0; i < f->r->n; i++) {
        f->name_of[i] = string_id(f, f->r->row[i].name);
        f->detail_of[i] = string_id(f, detail_text(&f->r->row[i]));
    }
    begin(&t.spans, T_SPAN, 6);
    begin(&t.counters, T_COUNTER, 5);
    live_each_record(&f->r->view, write_record, &t);
    end(f, &t.spans, NULL);
    end(f, &t.counters, NULL);
}

static void write_end(struct file *f)
{
    struct chunk c;

    f->records[T_END] = 1;
    begin(&c, T_END, 2);
    for (int i = 1; i < TYPES; i++) {
        if (!f->records[i])
            continue;
        put_uint(&c, 0, (uint64_t)i);
        put_uint(&c, 1, f->records[i]);
        c.records++;
    }
    end(f, &c, NULL);
}

static bool take_memory(struct file *f, const struct events *e)
{
    size_t rows = f->r->n, nodes = f->r->view.n_nodes;
    size_t strings = 8 + f->r->view.n_tasks + e->n_threads + 3 * rows;
    char *p;

    f->bytes = strings * sizeof *f->string + (rows + nodes) * 8 + 4 * rows * 4 + 64;
    p = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return false;
    f->memory = p;
    f->string = (const char **)p;
    f->most_strings = (uint32_t)strings;
    f->self = (double *)(p + strings * sizeof *f->string);
    f->row_self = f->self + nodes;
    f->frame_of = (uint32_t *)(f->row_self + rows);
    f->stack_of = f->frame_of + rows;
    f->name_of = f->stack_of + rows;
    f->detail_of = f->name_of + rows;
    return true;
}

void rt_export_file(struct rt_out *o, const struct result *r, struct events *e)
{
    struct file f = { .o = o, .r = r };

    if (!take_memory(&f, e)) {
        o->failed = true;
        return;
    }
    crc_init(&f);
    gather_strings(&f, e);
    rt_out_add(o, "FATHOM\x01\n", 8);
    write_meta(&f);
    write_strings(&f);
    write_metric(&f);
    write_process(&f);
    write_threads(&f, e);
    write_frames(&f);
    write_stacks(&f);
    write_samples(&f);
    write_trace(&f, e);
    write_end(&f);
    munmap(f.memory, f.bytes);
}
