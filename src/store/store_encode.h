/* store_encode.h - the bytes of chunks: heads, checksums, fields of columns.  Shared by the
 * tool's writer and by the one inside profiled programs, so no memory is taken here: libc only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_STORE_STORE_ENCODE_H
#define FATHOM_STORE_STORE_ENCODE_H

#include <string.h>

#include "base/leb.h"
#include "store/store_table.h"

#define STORE_MAGIC "FATHOM\x01\n" /* 8 bytes */
#define STORE_SYNC "\x89" "FCH"

enum {
    STORE_HEAD_SIZE = 32,
    STORE_MAX_RECORDS = 1 << 20, /* in one chunk */
    STORE_ZSTD = 1,              /* head flag: the contents are one zstd frame */
    STORE_MAX_FIELD = LEB_MAX,   /* bytes that store_encode_field writes at most */
};

struct store_head { /* as in the file, without sync and checksum of the head itself */
    uint8_t type, flags, columns;
    uint32_t records, first; /* first: id of the first record, 0 when the type defines none */
    uint32_t raw_size, stored_size, crc;
};
/* STORE_HEAD_SIZE bytes. */
void store_encode_head(unsigned char *to, const struct store_head *h);

/* CRC-32 as zlib has it. */
uint32_t store_crc(const void *data, size_t n);

static inline size_t store_encode_real(unsigned char *to, uint64_t bits)
{
    for (int i = 0; i < 8; i++)
        to[i] = (unsigned char)(bits >> 8 * i);
    return 8;
}

/* What a record's FIELD adds to its column; of text its length, the bytes follow in the column's
 * second part.  OWN is the id of the record, *LAST the field of the record before.  Returns the
 * number of bytes. */
static inline size_t store_encode_field(unsigned char *to, const struct store_column *k,
                                        const unsigned char *field, uint64_t own, uint64_t *last)
{
    struct store_text text;
    uint64_t x, before = *last;

    if (store_kind_is_text(k->kind)) {
        memcpy(&text, field, sizeof text);
        return leb_put(to, text.n);
    }
    x = store_table_field(field, k);
    switch (k->kind) {
    case STORE_UINT: return leb_put(to, x);
    case STORE_INT: return leb_put(to, leb_zigzag((int64_t)x));
    case STORE_PARENT: return leb_put(to, x ? own - x : 0);
    case STORE_REAL: return store_encode_real(to, x);
    case STORE_DURATION: return leb_put(to, store_pack_duration(field, x));
    default: *last = x; return leb_put(to, leb_zigzag((int64_t)(x - before)));
    }
}

#endif
