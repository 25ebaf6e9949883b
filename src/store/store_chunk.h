/* store_chunk.h - the chunks of a .fathom file: finding them among damage, and their contents
 * as arrays of records.  Used by the reader and the dumper.  Everything read is untrusted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_STORE_STORE_CHUNK_H
#define FATHOM_STORE_STORE_CHUNK_H

#include "base/buf.h"
#include "store/store.h"
#include "store/store_encode.h"

enum { STORE_MAX_RAW = 64 << 20 }; /* bytes of one chunk, decompressed */

/* All chunks up to one of them may decompress to this much more than the file up to its end;
 * the writer keeps to it, so a reader can refuse a file made to fill its memory. */
static inline uint64_t store_raw_limit(uint64_t file_bytes)
{
    return (8u << 20) + 64 * file_bytes;
}

struct store_scan { /* start from { data, size, 8 } after the magic was checked */
    const unsigned char *data;
    size_t size, at;
    struct store_damage damage;
    uint64_t raw_total;
    uint64_t defined[STORE_TYPES]; /* the highest id so far, of types that define */
    uint64_t skipped[STORE_TYPES]; /* records in chunks that were bad, where their head was not */
    bool ended;
    struct buf raw; /* contents of the chunk at hand, decompressed */
};
/* Is this a file for us?  0, or -1 with *E. */
int store_check_magic(const void *data, size_t size, struct err *e);
/* The next whole chunk with good checksums, of any type; false after the last. */
bool store_next(struct store_scan *s, struct store_head *h, const unsigned char **stored);
void store_scan_release(struct store_scan *s);

/* Decode a chunk that store_next found into RECORDS, an array of its type's struct, TEXT
 * and BYTES fields pointing into S->raw or the file.  False, and nothing to use, when it is
 * malformed or defines ids again. */
bool store_decode(struct store_scan *s, const struct store_head *h, const unsigned char *stored,
                  struct buf *records);
/* Count a chunk that store_next found good but whose contents are of no use. */
void store_reject(struct store_scan *s, const struct store_head *h);

#endif
