/* store_encode.h - encode chunks: heads, checksums, fields of columns.  Used by the writer of the
 * tool and the one inside the target, so this code uses only libc and allocates nothing.
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
    STORE_MAX_FIELD = LEB_MAX,   /* largest number of bytes store_encode_field() writes */
};

struct store_head { /* as in the file, without the sync bytes and the checksum of the head */
    uint8_t type, flags, columns;
    uint32_t records, first; /* first: id of the first record, 0 if the type has no ids */
    uint32_t raw_size, stored_size, crc;
};
/* Write STORE_HEAD_SIZE bytes. */
void store_encode_head(unsigned char *to, const struct store_head *h);

/* CRC-32 as in zlib. */
uint32_t store_crc(const void *data, size_t n);

static inline size_t store_encode_real(unsigned char *to, uint64_t bits)
{
    for (int i = 0; i < 8; i++)
        to[i] = (unsigned char)(bits >> 8 * i);
    return 8;
}

/* Encode FIELD of a record for its column.  For text, encode only the length: the bytes follow in
 * the second part of the column.  OWN is the id of the record, *LAST the field of the previous
 * record.  Return the number of bytes. */
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
