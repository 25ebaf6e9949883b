/* store_dump.c - see store_dump.h.  Driven by store.def alone: new chunk types and columns need
 * no code here.  Ids are those of the file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/store_dump.h"

#include "base/utf8.h"
#include "store/store_chunk.h"
#include "text/json.h"

struct dump {
    struct store_scan scan;
    struct buf records, hex;
    struct out *out;
    struct json json;
    const struct store_dump_options *options;
};

static struct store_text as_hex(struct dump *d, const struct store_text *t)
{
    d->hex.n = 0;
    for (size_t i = 0; i < t->n; i++)
        buf_printf(&d->hex, "%02x", t->p[i]);
    return (struct store_text){ d->hex.data, d->hex.n };
}

/* Write T in quotes, on one line.  "\xNN" is a byte that is not part of a printable character. */
static void put_quoted(struct out *o, const struct store_text *t)
{
    out_char(o, '"');
    for (size_t i = 0, k; i < t->n; i += k) {
        k = utf8_printable_length((const char *)t->p + i, t->n - i);
        if (t->p[i] == '"' || t->p[i] == '\\')
            out_printf(o, "\\%c", t->p[i]);
        else if (k)
            out_add(o, t->p + i, k);
        else
            out_printf(o, "\\x%02x", t->p[i]);
        k = k ? k : 1;
    }
    out_char(o, '"');
}

static double real_in(const unsigned char *field)
{
    double x;

    memcpy(&x, field, sizeof x);
    return x;
}

static void put_text_value(struct dump *d, const struct store_column *k,
                           const unsigned char *field)
{
    struct store_text text;

    if (k->kind == STORE_TEXT) {
        memcpy(&text, field, sizeof text);
        put_quoted(d->out, &text);
    } else if (k->kind == STORE_BYTES) {
        memcpy(&text, field, sizeof text);
        text = as_hex(d, &text);
        out_add(d->out, text.p, text.n);
    } else if (k->kind == STORE_REAL) {
        out_printf(d->out, "%.17g", real_in(field));
    } else if (k->is_signed) {
        out_i64(d->out, (int64_t)store_table_field(field, k));
    } else {
        out_u64(d->out, store_table_field(field, k));
    }
}

static void put_json_value(struct dump *d, const struct store_column *k,
                           const unsigned char *field)
{
    struct store_text text;

    if (store_kind_is_text(k->kind)) {
        memcpy(&text, field, sizeof text);
        if (k->kind == STORE_BYTES)
            text = as_hex(d, &text);
        json_strn(&d->json, (const char *)text.p, text.n);
    } else if (k->kind == STORE_REAL) {
        json_real(&d->json, real_in(field));
    } else if (k->is_signed) {
        json_i64(&d->json, (int64_t)store_table_field(field, k));
    } else {
        json_u64(&d->json, store_table_field(field, k));
    }
}

static void put_record(struct dump *d, const struct store_head *h, uint32_t i)
{
    const struct store_chunk *c = &store_chunks[h->type];
    const unsigned char *record = d->records.data + (size_t)i * c->record_size;

    out_str(d->out, c->name);
    if (c->defines)
        out_printf(d->out, " %u", h->first + i);
    for (uint8_t n = 0; n < c->n_columns; n++) {
        out_printf(d->out, " %s=", c->column[n].name);
        put_text_value(d, &c->column[n], record + c->column[n].offset);
    }
    out_char(d->out, '\n');
}

static void begin_object(struct dump *d, const char *what)
{
    d->json = (struct json){ .out = d->out };
    json_object(&d->json);
    json_put_str(&d->json, "record", what);
}

static void end_object(struct dump *d)
{
    json_end_object(&d->json);
    out_char(d->out, '\n');
}

static void put_json_record(struct dump *d, const struct store_head *h, uint32_t i)
{
    const struct store_chunk *c = &store_chunks[h->type];
    const unsigned char *record = d->records.data + (size_t)i * c->record_size;

    begin_object(d, c->name);
    if (c->defines)
        json_put_u64(&d->json, "number", (uint64_t)h->first + i);
    for (uint8_t n = 0; n < c->n_columns; n++) {
        json_key(&d->json, c->column[n].name);
        put_json_value(d, &c->column[n], record + c->column[n].offset);
    }
    end_object(d);
}

static void put_head(struct dump *d, const struct store_head *h, const char *name)
{
    if (!d->options->json) {
        out_printf(d->out, "chunk type=%u name=%s flags=%u columns=%u records=%u first=%u "
                   "raw_size=%u stored_size=%u crc=%08x\n", h->type, name, h->flags, h->columns,
                   h->records, h->first, h->raw_size, h->stored_size, h->crc);
        return;
    }
    begin_object(d, "chunk");
    json_put_u64(&d->json, "type", h->type);
    json_put_str(&d->json, "name", name);
    json_put_u64(&d->json, "flags", h->flags);
    json_put_u64(&d->json, "columns", h->columns);
    json_put_u64(&d->json, "records", h->records);
    json_put_u64(&d->json, "first", h->first);
    json_put_u64(&d->json, "raw_size", h->raw_size);
    json_put_u64(&d->json, "stored_size", h->stored_size);
    json_put_u64(&d->json, "crc", h->crc);
    end_object(d);
}

static void put_damage(struct dump *d)
{
    const struct store_damage *x = &d->scan.damage;

    if (!d->options->json) {
        out_printf(d->out, "damage bad_chunks=%llu missing_bytes=%llu unfinished=%d\n",
                   (unsigned long long)x->bad_chunks, (unsigned long long)x->missing_bytes,
                   !d->scan.ended);
        return;
    }
    begin_object(d, "damage");
    json_put_u64(&d->json, "bad_chunks", x->bad_chunks);
    json_put_u64(&d->json, "missing_bytes", x->missing_bytes);
    json_put_bool(&d->json, "unfinished", !d->scan.ended);
    end_object(d);
}

static void put_chunk(struct dump *d, const struct store_head *h, const unsigned char *stored)
{
    bool known = h->type > STORE_none && h->type < STORE_TYPES;
    const char *name = known ? store_chunks[h->type].name : "unknown";

    if (known && !store_decode(&d->scan, h, stored, &d->records)) {
        store_reject(&d->scan, h);
        return;
    }
    if (d->options->only && strcmp(d->options->only, name) != 0)
        return;
    if (d->options->chunks)
        put_head(d, h, name);
    for (uint32_t i = 0; known && !d->options->chunks && i < h->records; i++)
        d->options->json ? put_json_record(d, h, i) : put_record(d, h, i);
}

static int check_only(const char *only, struct err *e)
{
    if (!only)
        return 0;
    for (int type = 1; type < STORE_TYPES; type++)
        if (strcmp(store_chunks[type].name, only) == 0)
            return 0;
    return err_set(e, ERR_USAGE, "unknown record type \"%s\"", only);
}

int store_dump(const void *data, size_t size, const struct store_dump_options *o, struct out *out,
               struct err *e)
{
    struct dump d = { .scan = { .data = data, .size = size, .at = 8 }, .out = out, .options = o };
    const unsigned char *stored;
    struct store_head h;

    if (check_only(o->only, e) < 0 || store_check_magic(data, size, e) < 0)
        return -1;
    while (store_next(&d.scan, &h, &stored))
        put_chunk(&d, &h, stored);
    if (!o->only)
        put_damage(&d);
    buf_release(&d.records);
    buf_release(&d.hex);
    store_scan_release(&d.scan);
    return 0;
}
