/* store_read.c - the reader: send every valid chunk to a sink, in file order.
 *
 * Damage is reported, but is not an error.  A reference to a record of a damaged chunk becomes a
 * reference to a placeholder named "[lost]", defined once per type when it is first needed.  So
 * totals include the samples that refer to it, and no sample is attributed to the wrong place.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "store/store_chunk.h"
#include "store/store_ids.h"

struct reader {
    struct store_scan scan;
    struct sink *out;
    struct store_ids ids[STORE_TYPES];
    struct buf records;
    VEC(struct location) chain;
    uint64_t delivered[STORE_TYPES];
    uint64_t total[STORE_TYPES]; /* from the end chunk */
    struct buf key, value; /* NUL-terminated copies */
};

#define SEND(r, call, ...) ((r)->out->call ? (r)->out->call((r)->out, __VA_ARGS__) : (void)0)

static uint32_t lost_id(struct reader *r, enum store_type type);

static uint32_t lost_frame(struct reader *r)
{
    struct location where = { .function = lost_id(r, STORE_function) };
    uint32_t id = r->ids[STORE_frame].n_sink + 1;

    SEND(r, frame, (&(struct frame){ .kind = FRAME_NOTE }));
    SEND(r, resolve, id, &where, 1);
    return id;
}

static void send_placeholder(struct reader *r, enum store_type type)
{
    static const char text[] = "[lost]";

    switch (type) {
    case STORE_string:
        SEND(r, string, text, sizeof text - 1);
        break;
    case STORE_metric:
        SEND(r, metric, (&(struct metric){ .name = lost_id(r, STORE_string) }));
        break;
    case STORE_process:
        SEND(r, process, (&(struct process){ .name = lost_id(r, STORE_string) }));
        break;
    case STORE_thread:
        SEND(r, thread, (&(struct thread){ .process = lost_id(r, STORE_process),
                                           .name = lost_id(r, STORE_string) }));
        break;
    case STORE_module:
        SEND(r, module, (&(struct module){ .path = lost_id(r, STORE_string),
                                           .kind = MODULE_NONE }));
        break;
    case STORE_function:
        SEND(r, function, (&(struct function){ .name = lost_id(r, STORE_string) }));
        break;
    case STORE_frame:
        lost_frame(r);
        break;
    case STORE_tag:
        SEND(r, tag, (&(struct tag){ .key = lost_id(r, STORE_string) }));
        break;
    default:
        SEND(r, stack, 0, lost_id(r, STORE_frame));
    }
}

/* Return the sink id of the placeholder for lost records of TYPE. */
static uint32_t lost_id(struct reader *r, enum store_type type)
{
    struct store_ids *t = &r->ids[type];

    if (!t->lost) {
        send_placeholder(r, type);
        t->lost = ++t->n_sink;
    }
    return t->lost;
}

static uint32_t *id_field(struct reader *r, const struct store_chunk *t,
                          const struct store_column *k, uint32_t i)
{
    return (uint32_t *)(void *)(r->records.data + (size_t)i * t->record_size + k->offset);
}

/* Map the ids in column K from the file's to the sink's. */
static void map_ids(struct reader *r, const struct store_head *h, const struct store_column *k)
{
    const struct store_chunk *t = &store_chunks[h->type];
    const struct store_ids *ids = &r->ids[k->refers];

    for (uint32_t i = 0; i < h->records; i++) {
        uint32_t *id = id_field(r, t, k, i), found;

        if (!*id && k->kind != STORE_ID)
            continue;
        found = store_ids_find(ids, *id);
        if (!found) {
            found = lost_id(r, k->refers);
            r->scan.damage.lost_references++;
        }
        *id = found;
    }
}

/* Define the placeholder for parents now if the chunk needs it: the ids of a chunk must be
 * contiguous, so nothing can be defined between its records. */
static void prepare_parents(struct reader *r, const struct store_head *h,
                            const struct store_column *k)
{
    for (uint32_t i = 0; i < h->records; i++) {
        uint32_t id = *id_field(r, &store_chunks[h->type], k, i);

        if (id && id - h->first >= h->records && !store_ids_find(&r->ids[k->refers], id)) {
            lost_id(r, k->refers);
            return;
        }
    }
}

/* Map all ids of a decoded chunk and define its own.  False when its ids are invalid. */
static bool take_ids(struct reader *r, const struct store_head *h)
{
    const struct store_chunk *t = &store_chunks[h->type];
    const struct store_column *parent = NULL;

    for (uint8_t i = 0; i < t->n_columns; i++) {
        const struct store_column *k = &t->column[i];

        if (k->kind == STORE_PARENT)
            prepare_parents(r, h, parent = k);
        else if (k->refers)
            map_ids(r, h, k);
    }
    if (t->defines && !store_ids_extend(&r->ids[h->type], h->first, h->records))
        return false;
    if (parent)
        map_ids(r, h, parent);
    return true;
}

static const char *text_of(struct buf *b, struct store_text t)
{
    b->n = 0;
    buf_add(b, t.p, t.n);
    return buf_text(b);
}

static void read_meta(struct reader *r, const struct store_meta *m)
{
    SEND(r, meta, text_of(&r->key, m->key), text_of(&r->value, m->value));
}

static void read_string(struct reader *r, const struct store_string *x)
{
    SEND(r, string, (const char *)x->text.p, x->text.n);
}

#define READ_AS_IT_IS(name)                                          \
    static void read_##name(struct reader *r, const struct name *x) \
    {                                                                \
        SEND(r, name, x);                                            \
    }
READ_AS_IT_IS(metric)
READ_AS_IT_IS(process)
READ_AS_IT_IS(thread)
READ_AS_IT_IS(function)
READ_AS_IT_IS(tag)
READ_AS_IT_IS(sample)
READ_AS_IT_IS(span)
READ_AS_IT_IS(counter)

static void read_process_update(struct reader *r, const struct store_process_update *x)
{
    struct process p = { .pid = x->pid,
                         .parent_pid = x->parent_pid,
                         .name = x->name,
                         .command = x->command,
                         .start_ns = x->start_ns,
                         .end_ns = x->end_ns };

    if (x->id != r->ids[STORE_process].lost)
        SEND(r, update_process, x->id, &p);
}

static void read_thread_update(struct reader *r, const struct store_thread_update *x)
{
    struct thread t = { .process = x->process,
                        .name = x->name,
                        .tid = x->tid,
                        .start_ns = x->start_ns,
                        .end_ns = x->end_ns };

    if (x->id != r->ids[STORE_thread].lost)
        SEND(r, update_thread, x->id, &t);
}

/* A newer writer may use more kinds; read them as MODULE_NONE. */
static void read_module(struct reader *r, const struct store_module *x)
{
    struct module m = { .path = x->path,
                        .kind = x->kind < MODULE_NONE ? x->kind : MODULE_NONE };

    m.build_id_size = (uint8_t)(x->build_id.n < sizeof m.build_id ? x->build_id.n
                                                                  : sizeof m.build_id);
    if (m.build_id_size)
        memcpy(m.build_id, x->build_id.p, m.build_id_size);
    SEND(r, module, &m);
}

static void read_module_update(struct reader *r, const struct store_module_update *x)
{
    struct module m = { .symbols = x->symbols, .problem = x->problem, .advice = x->advice };

    if (x->id != r->ids[STORE_module].lost)
        SEND(r, update_module, x->id, &m);
}

static void read_frame(struct reader *r, const struct store_frame *x)
{
    struct frame f = { .kind = (uint16_t)(x->kind < FRAME_NOTE ? x->kind : FRAME_NOTE),
                       .flags = (uint16_t)x->flags,
                       .module = x->module,
                       .address = x->address };

    SEND(r, frame, &f);
}

static void read_stack(struct reader *r, const struct store_stack *x)
{
    SEND(r, stack, x->parent, x->frame);
}

static void read_source(struct reader *r, const struct store_source *x)
{
    SEND(r, source, (&(struct source_text){ x->file, (const char *)x->text.p, x->text.n }));
}

static void read_code(struct reader *r, const struct store_code *x)
{
    SEND(r, code, (&(struct code_bytes){ x->module, x->address, x->bytes.p, x->bytes.n }));
}

static void read_end(struct reader *r, const struct store_total *x)
{
    if (x->type < STORE_TYPES)
        r->total[x->type] = x->records;
}

/* Add one link.  The chain is sent when the next record does not continue it. */
static void read_location(struct reader *r, const struct store_location *x)
{
    const struct store_location *end =
        (const void *)(r->records.data + r->records.n), *next = x + 1;

    vec_push(&r->chain, ((struct location){ x->function, x->line }));
    if (next < end && next->inlined && next->frame == x->frame)
        return;
    if (x->frame != r->ids[STORE_frame].lost) /* the placeholder keeps its name */
        SEND(r, resolve, x->frame, r->chain.v, r->chain.n);
    vec_clear(&r->chain);
}

static void read_line(struct reader *r, const struct store_line *x)
{
    const struct store_line *end = (const void *)(r->records.data + r->records.n), *next = x + 1;
    struct line_row row = { x->module, x->address };

    vec_push(&r->chain, ((struct location){ x->function, x->line }));
    if (next < end && next->inlined && next->module == x->module && next->address == x->address)
        return;
    if (x->module != r->ids[STORE_module].lost)
        SEND(r, line, &row, r->chain.v, r->chain.n);
    vec_clear(&r->chain);
}

static void deliver(struct reader *r, const struct store_head *h)
{
    switch (h->type) {
#define CHUNK(type, name, record, defines)                                             \
    case STORE_##name:                                                                 \
        for (size_t i = 0; i < h->records; i++)                                        \
            read_##name(r, (const struct record *)(const void *)r->records.data + i); \
        break;
#define COLUMN(name, column, kind, refers)
#include "store/store.def"
#undef CHUNK
#undef COLUMN
    }
    r->delivered[h->type] += h->records;
}

static void read_chunks(struct reader *r)
{
    const unsigned char *stored;
    struct store_head h;

    while (store_next(&r->scan, &h, &stored)) {
        if (h.type == STORE_none || h.type >= STORE_TYPES)
            continue; /* added by a newer writer */
        if (store_decode(&r->scan, &h, stored, &r->records) && take_ids(r, &h))
            deliver(r, &h);
        else
            store_reject(&r->scan, &h);
    }
}

static void send_damage(struct reader *r)
{
    struct store_damage *d = &r->scan.damage;
    char text[400];

    d->unfinished = !r->scan.ended;
    d->lost_samples = r->scan.skipped[STORE_sample];
    if (r->total[STORE_sample] > r->delivered[STORE_sample])
        d->lost_samples = r->total[STORE_sample] - r->delivered[STORE_sample];
    store_damage_text(d, text, sizeof text);
    if (!text[0])
        return;
    SEND(r, meta, "file.damage", text);
    snprintf(text, sizeof text, "%" PRIu64, d->missing_bytes);
    SEND(r, meta, "file.missing_bytes", text);
}

static void reader_release(struct reader *r)
{
    for (int i = 0; i < STORE_TYPES; i++)
        vec_release(&r->ids[i].run);
    vec_release(&r->chain);
    buf_release(&r->records);
    buf_release(&r->key);
    buf_release(&r->value);
    store_scan_release(&r->scan);
    free(r);
}

int store_read(const void *data, size_t size, struct sink *out, struct store_damage *d,
               struct err *e)
{
    struct reader *r;
    int rc;

    if (store_check_magic(data, size, e) < 0)
        return -1;
    r = mem_zalloc(sizeof *r);
    r->scan = (struct store_scan){ .data = data, .size = size, .at = 8 };
    r->out = out;
    read_chunks(r);
    send_damage(r);
    rc = sink_end(out, e);
    if (d)
        *d = r->scan.damage;
    reader_release(r);
    return rc;
}
