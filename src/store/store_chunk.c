/* store_chunk.c - see store_chunk.h.  A head has its own checksum.  A damaged chunk with a valid
 * head is skipped by its size; after an invalid head, search for the next sync bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/store_chunk.h"

#include <string.h>
#include <zstd.h>

#include "base/cursor.h"

static bool read_head(const unsigned char *p, struct store_head *h)
{
    struct cursor c = cursor_of(p, STORE_HEAD_SIZE);

    if (memcmp(p, STORE_SYNC, 4) != 0)
        return false;
    cur_skip(&c, 4);
    h->type = cur_u8(&c);
    h->flags = cur_u8(&c);
    h->columns = cur_u8(&c);
    cur_skip(&c, 1);
    h->records = cur_u32(&c);
    h->first = cur_u32(&c);
    h->raw_size = cur_u32(&c);
    h->stored_size = cur_u32(&c);
    h->crc = cur_u32(&c);
    return cur_u32(&c) == store_crc(p, STORE_HEAD_SIZE - 4);
}

int store_check_magic(const void *data, size_t size, struct err *e)
{
    const unsigned char *p = data;

    if (!store_is(data, size))
        return err_set(e, ERR_FORMAT, "not a .fathom file");
    if (p[6] == STORE_MAGIC[6])
        return 0;
    err_set(e, ERR_FORMAT, "format version %u is not supported; this fathom reads version %u",
            p[6], STORE_MAGIC[6]);
    err_hint(e, "open it with a newer fathom, or record again with this one");
    return -1;
}

bool store_is(const void *data, size_t size)
{
    const unsigned char *p = data;

    return size >= 8 && memcmp(p, STORE_MAGIC, 6) == 0 && p[6] != 0 && p[7] == '\n';
}

void store_reject(struct store_scan *s, const struct store_head *h)
{
    s->damage.bad_chunks++;
    if (h->type < STORE_TYPES)
        s->skipped[h->type] += h->records;
}

/* Move to the next valid head, or to the end. */
static void resync(struct store_scan *s)
{
    struct store_head h;

    s->damage.bad_chunks++;
    for (s->at++; s->at < s->size; s->at++) {
        const unsigned char *p = memchr(s->data + s->at, STORE_SYNC[0], s->size - s->at);

        if (!p)
            break;
        s->at = (size_t)(p - s->data);
        if (s->size - s->at >= STORE_HEAD_SIZE && read_head(p, &h))
            return;
    }
    s->at = s->size;
}

bool store_next(struct store_scan *s, struct store_head *h, const unsigned char **stored)
{
    while (s->at < s->size && !s->ended) {
        size_t left = s->size - s->at;

        if (left < STORE_HEAD_SIZE) {
            s->damage.missing_bytes = left;
            s->at = s->size;
            break;
        }
        if (!read_head(s->data + s->at, h)) {
            resync(s);
            continue;
        }
        if (h->stored_size > left - STORE_HEAD_SIZE) {
            s->damage.missing_bytes = (uint64_t)STORE_HEAD_SIZE + h->stored_size;
            if (h->type < STORE_TYPES)
                s->skipped[h->type] += h->records;
            s->at = s->size;
            break;
        }
        *stored = s->data + s->at + STORE_HEAD_SIZE;
        s->at += STORE_HEAD_SIZE + h->stored_size;
        if (store_crc(*stored, h->stored_size) == h->crc) {
            s->ended = h->type == STORE_end;
            return true;
        }
        store_reject(s, h);
    }
    if (s->ended && s->at < s->size) { /* no bytes may follow the end chunk */
        s->damage.bad_chunks++;
        s->at = s->size;
    }
    return false;
}

void store_scan_release(struct store_scan *s)
{
    buf_release(&s->raw);
}

/* Return the contents of the chunk, decompressed into S->raw if they are compressed. */
static struct cursor unpack(struct store_scan *s, const struct store_head *h,
                            const unsigned char *stored)
{
    struct cursor bad = { stored, stored, true };

    if (h->raw_size > STORE_MAX_RAW || s->raw_total + h->raw_size > store_raw_limit(s->at))
        return bad;
    s->raw_total += h->raw_size;
    if (!(h->flags & STORE_ZSTD))
        return h->raw_size == h->stored_size ? cursor_of(stored, h->stored_size) : bad;
    s->raw.n = 0;
    buf_reserve(&s->raw, h->raw_size + 1);
    if (ZSTD_findFrameCompressedSize(stored, h->stored_size) != h->stored_size ||
        ZSTD_decompress(s->raw.data, h->raw_size, stored, h->stored_size) != h->raw_size)
        return bad;
    return cursor_of(s->raw.data, h->raw_size);
}

/* Store a number in a field of 4 or 8 bytes; false when it does not fit. */
static inline bool put_field(unsigned char *field, size_t size, bool is_signed, uint64_t x)
{
    uint32_t small = (uint32_t)x;

    if (size == 8) {
        memcpy(field, &x, 8);
        return true;
    }
    memcpy(field, &small, 4);
    return is_signed ? (int64_t)x == (int32_t)small : x == small;
}

/* cur_uleb() with a fast path for numbers of one byte, which are the most. */
static inline uint64_t next_uint(struct cursor *c)
{
    return c->p < c->end && *c->p < 0x80 ? *c->p++ : cur_uleb(c);
}

static inline uint64_t next_int(struct cursor *c)
{
    uint64_t x = next_uint(c);

    return (x >> 1) ^ -(x & 1);
}

struct column_job {
    struct cursor c;
    unsigned char *field; /* of the first record */
    size_t stride;
    uint32_t records, first;
};

static bool decode_bytes(struct column_job *j)
{
    struct cursor lengths = j->c;

    for (uint32_t i = 0; i < j->records; i++)
        (void)cur_uleb(&j->c);
    for (uint32_t i = 0; i < j->records && !j->c.failed; i++) {
        struct store_text t = { .n = cur_uleb(&lengths) };

        t.p = cur_bytes(&j->c, t.n);
        memcpy(j->field + i * j->stride, &t, sizeof t);
    }
    return !j->c.failed;
}

/* Decode one column.  KIND and SIZE are constants in every call, so that each kind gets its own
 * loop without branches on them: a large file has millions of numbers. */
static inline __attribute__((always_inline)) bool decode_as(struct column_job *j,
                                                            enum store_kind kind, size_t size)
{
    uint64_t x = 0;
    bool fits = true;

    for (uint32_t i = 0; i < j->records; i++) {
        if (kind == STORE_UINT)
            x = next_uint(&j->c);
        else if (kind == STORE_INT)
            x = next_int(&j->c);
        else if (kind == STORE_REAL)
            x = cur_u64(&j->c);
        else if (kind == STORE_DURATION)
            x = store_unpack_duration(j->field + i * j->stride, next_uint(&j->c));
        else if (kind == STORE_PARENT)
            x = (x = next_uint(&j->c)) ? (uint64_t)j->first + i - x : 0;
        else
            x += next_int(&j->c);
        fits &= put_field(j->field + i * j->stride, size, kind == STORE_INT, x);
    }
    return fits && !j->c.failed;
}

static bool decode_numbers(struct column_job *j, const struct store_column *k)
{
    switch (k->kind) {
    case STORE_UINT:
        return k->size == 8 ? decode_as(j, STORE_UINT, 8) : decode_as(j, STORE_UINT, 4);
    case STORE_INT:
        return k->size == 8 ? decode_as(j, STORE_INT, 8) : decode_as(j, STORE_INT, 4);
    case STORE_DELTA:
        return k->size == 8 ? decode_as(j, STORE_DELTA, 8) : decode_as(j, STORE_DELTA, 4);
    case STORE_REAL:
        return decode_as(j, STORE_REAL, 8);
    case STORE_PARENT:
        return decode_as(j, STORE_PARENT, 4);
    case STORE_DURATION:
        return decode_as(j, STORE_DURATION, 8);
    default:
        return decode_as(j, STORE_REF, 4);
    }
}

/* Ids only increase: defining an id again would change the meaning of earlier chunks. */
static bool define_ids(struct store_scan *s, const struct store_head *h)
{
    uint64_t end = (uint64_t)h->first + h->records;

    if (!store_chunks[h->type].defines)
        return true;
    if (h->first <= s->defined[h->type] || end > UINT32_MAX)
        return false;
    s->defined[h->type] = end - 1;
    return true;
}

bool store_decode(struct store_scan *s, const struct store_head *h, const unsigned char *stored,
                  struct buf *records)
{
    const struct store_chunk *t = &store_chunks[h->type];
    struct cursor raw = unpack(s, h, stored);

    if (raw.failed || h->records > STORE_MAX_RECORDS || h->columns < t->n_columns ||
        h->records > h->raw_size / t->n_columns)
        return false;
    records->n = 0;
    buf_reserve(records, (size_t)h->records * t->record_size + 1);
    memset(records->data, 0, (size_t)h->records * t->record_size);
    for (uint8_t i = 0; i < t->n_columns; i++) {
        const struct store_column *k = &t->column[i];
        struct column_job j = { cur_sub(&raw, cur_uleb(&raw)), records->data + k->offset,
                                t->record_size, h->records, h->first };

        if (j.c.failed || !(store_kind_is_text(k->kind) ? decode_bytes(&j) : decode_numbers(&j, k)))
            return false;
    }
    records->n = (size_t)h->records * t->record_size;
    return define_ids(s, h);
}
