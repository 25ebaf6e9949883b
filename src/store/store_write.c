/* store_write.c - the writer: a sink that buffers columns and writes whole chunks.  A flush writes
 * the types in the order of store.def, so that any prefix of the file defines every id it uses.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"
#include "store/store.h"
#include "store/store_chunk.h"
#include "text/out.h"

enum {
    LEVEL = 5,            /* zstd level for numbers: a higher one saves little */
    TEXT_LEVEL = 8,       /* names make up most of many files */
    FLUSH_BYTES = 1 << 20, /* at most STORE_MAX_RECORDS records, since each takes a byte */
    MIN_ZSTD = 48,        /* store smaller chunks uncompressed */
    MAX_TEXT = 16 << 20,  /* bytes of one string, source file or piece of code */
};

struct table { /* buffered records of one type */
    uint32_t records;
    uint32_t first;   /* id of the first buffered record */
    uint64_t total;   /* records since the start of the file */
    uint64_t last[STORE_MAX_COLUMNS];
    struct buf column[STORE_MAX_COLUMNS];
    struct buf bytes[STORE_MAX_COLUMNS]; /* second part of a TEXT or BYTES column */
};

struct store_writer {
    struct sink sink;
    struct out *out;
    struct table table[STORE_TYPES];
    size_t buffered; /* bytes, approximately */
    uint64_t raw_total;
    uint64_t before; /* bytes the caller wrote before */
    ZSTD_CCtx *zstd;
    struct buf raw, packed;
    struct err first;
};

static struct store_writer *writer_of(struct sink *s)
{
    return (struct store_writer *)((char *)s - offsetof(struct store_writer, sink));
}

/* Return the number of bytes added to the column. */
static size_t put_column(struct table *t, uint8_t i, const struct store_column *k,
                         const unsigned char *field)
{
    struct buf *b = &t->column[i];
    struct store_text text;
    size_t n;

    if (b->cap - b->n < STORE_MAX_FIELD)
        buf_reserve(b, STORE_MAX_FIELD);
    n = store_encode_field(b->data + b->n, k, field, (uint64_t)t->first + t->records,
                           &t->last[i]);
    b->n += n;
    if (!store_kind_is_text(k->kind))
        return n;
    memcpy(&text, field, sizeof text);
    buf_add(&t->bytes[i], text.p, text.n);
    return n + text.n;
}

/* Add RECORD, the struct of TYPE, to its columns. */
static void put(struct store_writer *w, enum store_type type, const void *record)
{
    const struct store_chunk *c = &store_chunks[type];
    struct table *t = &w->table[type];

    if (w->first.code || w->out->failed)
        return;
    if (c->defines && t->total >= UINT32_MAX - 1) {
        err_set(&w->first, ERR_LIMIT, "too many records of type %s: the limit is 4 billion",
                c->name);
        return;
    }
    if (!t->records)
        t->first = c->defines ? (uint32_t)t->total + 1 : 0;
    for (uint8_t i = 0; i < c->n_columns; i++)
        w->buffered += put_column(t, i, &c->column[i],
                                  (const unsigned char *)record + c->column[i].offset);
    t->records++;
    t->total++;
}

static void flush_when_full(struct store_writer *w)
{
    if (w->buffered >= FLUSH_BYTES)
        store_writer_flush(w);
}

static void put_and_flush(struct sink *s, enum store_type type, const void *record)
{
    put(writer_of(s), type, record);
    flush_when_full(writer_of(s));
}

static struct store_text text_of(const void *p, size_t n)
{
    return (struct store_text){ p, n < MAX_TEXT ? n : MAX_TEXT };
}

/* Compress the columns in W->raw, which end at ENDS, into one zstd frame with one block per
 * column: columns differ too much to share a Huffman table. */
static bool pack(struct store_writer *w, const size_t *ends, const struct store_chunk *c)
{
    uint8_t n = c->n_columns;
    bool text = store_kind_is_text(c->column[n - 1].kind);
    ZSTD_inBuffer in = { w->raw.data, 0, 0 };
    ZSTD_outBuffer out;

    w->packed.n = 0;
    buf_reserve(&w->packed, ZSTD_compressBound(w->raw.n) + (size_t)n * 32);
    out = (ZSTD_outBuffer){ w->packed.data, w->packed.cap, 0 };
    ZSTD_CCtx_reset(w->zstd, ZSTD_reset_session_only);
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, text ? TEXT_LEVEL : LEVEL);
    ZSTD_CCtx_setPledgedSrcSize(w->zstd, w->raw.n);
    for (uint8_t i = 0; i < n; i++) {
        in.size = ends[i];
        if (ZSTD_compressStream2(w->zstd, &out, &in, i + 1 < n ? ZSTD_e_flush : ZSTD_e_end) != 0)
            return false;
    }
    w->packed.n = out.pos;
    return true;
}

static void gather(struct store_writer *w, struct table *t, uint8_t n, size_t *ends)
{
    w->raw.n = 0;
    for (uint8_t i = 0; i < n; i++) {
        buf_uleb(&w->raw, t->column[i].n + t->bytes[i].n);
        buf_add(&w->raw, t->column[i].data, t->column[i].n);
        buf_add(&w->raw, t->bytes[i].data, t->bytes[i].n);
        ends[i] = w->raw.n;
        t->column[i].n = t->bytes[i].n = 0;
        t->last[i] = 0;
    }
}

static void put_down(struct store_writer *w, enum store_type type)
{
    const struct store_chunk *c = &store_chunks[type];
    struct table *t = &w->table[type];
    struct store_head h = { .type = (uint8_t)type,
                            .columns = c->n_columns,
                            .records = t->records,
                            .first = t->first };
    size_t ends[STORE_MAX_COLUMNS];
    unsigned char head[STORE_HEAD_SIZE];
    struct buf *stored = &w->raw;

    gather(w, t, c->n_columns, ends);
    t->records = 0;
    if (w->raw.n >= MIN_ZSTD && pack(w, ends, c) && w->packed.n < w->raw.n &&
        w->raw_total + w->raw.n <=
            store_raw_limit(store_writer_bytes(w) + STORE_HEAD_SIZE + w->packed.n)) {
        stored = &w->packed;
        h.flags = STORE_ZSTD;
    }
    w->raw_total += w->raw.n;
    h.raw_size = (uint32_t)w->raw.n;
    h.stored_size = (uint32_t)stored->n;
    h.crc = store_crc(stored->data, stored->n);
    store_encode_head(head, &h);
    out_add(w->out, head, sizeof head);
    out_add(w->out, stored->data, stored->n);
}

void store_writer_flush(struct store_writer *w)
{
    for (int type = 1; type < STORE_TYPES; type++)
        if (w->table[type].records)
            put_down(w, type);
    w->buffered = 0;
    out_flush(w->out);
}

static void write_meta(struct sink *s, const char *key, const char *value)
{
    struct store_meta m = { text_of(key, strlen(key)), text_of(value, strlen(value)) };

    put_and_flush(s, STORE_meta, &m);
}

static void write_string(struct sink *s, const char *text, size_t n)
{
    put_and_flush(s, STORE_string, &(struct store_string){ text_of(text, n) });
}

/* Callbacks whose argument is the record. */
#define WRITE_AS_IT_IS(name)                                        \
    static void write_##name(struct sink *s, const struct name *x) \
    {                                                               \
        put_and_flush(s, STORE_##name, x);                          \
    }
WRITE_AS_IT_IS(metric)
WRITE_AS_IT_IS(process)
WRITE_AS_IT_IS(thread)
WRITE_AS_IT_IS(function)
WRITE_AS_IT_IS(tag)
WRITE_AS_IT_IS(sample)
WRITE_AS_IT_IS(span)
WRITE_AS_IT_IS(counter)

static void write_update_process(struct sink *s, uint32_t id, const struct process *p)
{
    struct store_process_update u = { .id = id,
                                      .name = p->name,
                                      .command = p->command,
                                      .pid = p->pid,
                                      .parent_pid = p->parent_pid,
                                      .start_ns = p->start_ns,
                                      .end_ns = p->end_ns };

    put_and_flush(s, STORE_process_update, &u);
}

static void write_update_thread(struct sink *s, uint32_t id, const struct thread *t)
{
    struct store_thread_update u = { .id = id,
                                     .process = t->process,
                                     .name = t->name,
                                     .tid = t->tid,
                                     .start_ns = t->start_ns,
                                     .end_ns = t->end_ns };

    put_and_flush(s, STORE_thread_update, &u);
}

static void write_module(struct sink *s, const struct module *m)
{
    struct store_module x = { m->path, m->kind, text_of(m->build_id, m->build_id_size) };

    put_and_flush(s, STORE_module, &x);
    if (m->symbols || m->problem || m->advice)
        sink_update_module(s, (uint32_t)writer_of(s)->table[STORE_module].total, m);
}

static void write_update_module(struct sink *s, uint32_t id, const struct module *m)
{
    struct store_module_update u = { id, m->symbols, m->problem, m->advice };

    put_and_flush(s, STORE_module_update, &u);
}

static void write_frame(struct sink *s, const struct frame *f)
{
    struct store_frame x = { f->kind, f->flags, f->module, f->address };

    put_and_flush(s, STORE_frame, &x);
}

static void write_stack(struct sink *s, uint32_t parent, uint32_t frame)
{
    put_and_flush(s, STORE_stack, &(struct store_stack){ parent, frame });
}

/* A chain must not span two chunks. */
static void write_resolve(struct sink *s, uint32_t frame, const struct location *chain, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct store_location x = { frame, chain[i].function, chain[i].line, i > 0 };

        put(writer_of(s), STORE_location, &x);
    }
    flush_when_full(writer_of(s));
}

static void write_line(struct sink *s, const struct line_row *row, const struct location *chain,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct store_line x = { row->module, chain[i].function, chain[i].line, i > 0,
                                row->address };

        put(writer_of(s), STORE_line, &x);
    }
    flush_when_full(writer_of(s));
}

static void write_source(struct sink *s, const struct source_text *t)
{
    put_and_flush(s, STORE_source, &(struct store_source){ t->file, text_of(t->text, t->size) });
}

static void write_code(struct sink *s, const struct code_bytes *c)
{
    struct store_code x = { c->module, c->address, text_of(c->bytes, c->size) };

    put_and_flush(s, STORE_code, &x);
}

static int write_end(struct sink *s, struct err *e)
{
    struct store_writer *w = writer_of(s);

    store_writer_flush(w);
    for (uint32_t type = 1; type < STORE_end; type++)
        if (w->table[type].total)
            put(w, STORE_end, &(struct store_total){ type, w->table[type].total });
    put(w, STORE_end, &(struct store_total){ STORE_end, 1 });
    store_writer_flush(w);
    if (w->out->failed) {
        errno = w->out->failed;
        return err_sys(e, "cannot write the profile");
    }
    if (w->first.code)
        return err_set(e, w->first.code, "%s", w->first.msg);
    return 0;
}

struct store_writer *store_writer_new(struct out *out)
{
    struct store_writer *w = mem_zalloc(sizeof *w);

    w->out = out;
    w->before = w->out->written + w->out->buf.n;
    w->zstd = ZSTD_createCCtx();
    if (!w->zstd)
        mem_failed(sizeof w->zstd);
    out_add(w->out, STORE_MAGIC, 8);
    w->sink = (struct sink){
        .meta = write_meta,
        .string = write_string,
        .metric = write_metric,
        .process = write_process,
        .thread = write_thread,
        .update_process = write_update_process,
        .update_thread = write_update_thread,
        .update_module = write_update_module,
        .module = write_module,
        .frame = write_frame,
        .stack = write_stack,
        .tag = write_tag,
        .sample = write_sample,
        .span = write_span,
        .counter = write_counter,
        .function = write_function,
        .resolve = write_resolve,
        .line = write_line,
        .source = write_source,
        .code = write_code,
        .end = write_end,
    };
    return w;
}

struct sink *store_writer_sink(struct store_writer *w)
{
    return &w->sink;
}

uint64_t store_writer_bytes(const struct store_writer *w)
{
    return w->out->written + w->out->buf.n - w->before;
}

void store_writer_free(struct store_writer *w)
{
    if (!w)
        return;
    for (int type = 0; type < STORE_TYPES; type++)
        for (int i = 0; i < STORE_MAX_COLUMNS; i++) {
            buf_release(&w->table[type].column[i]);
            buf_release(&w->table[type].bytes[i]);
        }
    buf_release(&w->raw);
    buf_release(&w->packed);
    ZSTD_freeCCtx(w->zstd);
    free(w);
}
