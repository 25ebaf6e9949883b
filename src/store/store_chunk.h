/* store_chunk.h - find the chunks of a possibly damaged .fathom file and decode them to arrays of
 * records.  Used by the reader and the dumper.  All input is untrusted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_STORE_STORE_CHUNK_H
#define FATHOM_STORE_STORE_CHUNK_H

#include "base/buf.h"
#include "profile/limits.h"
#include "store/store.h"
#include "store/store_encode.h"

enum { STORE_MAX_RAW = 64 << 20 }; /* bytes of one chunk, decompressed */

/* Limit of the raw sizes of all chunks in the first FILE_BYTES of a file.  The writer respects it,
 * so a reader can refuse a file that would fill its memory. */
static inline uint64_t store_raw_limit(uint64_t file_bytes)
{
    uint64_t growth = (8u << 20) + 63 * file_bytes;

    return file_bytes + (growth < LIMIT_UNPACKED ? growth : LIMIT_UNPACKED);
}

struct store_scan { /* initialize with { data, size, 8 } after store_check_magic() */
    const unsigned char *data;
    size_t size, at;
    struct store_damage damage;
    uint64_t raw_total;
    uint64_t defined[STORE_TYPES]; /* highest id so far of each type that defines ids */
    uint64_t skipped[STORE_TYPES]; /* records of bad chunks with a valid head */
    bool ended;
    struct buf raw; /* decompressed contents of the current chunk */
};
/* Check magic and version.  Return 0, or -1 with *E. */
int store_check_magic(const void *data, size_t size, struct err *e);
/* Find the next whole chunk of any type with valid checksums; false after the last. */
bool store_next(struct store_scan *s, struct store_head *h, const unsigned char **stored);
void store_scan_release(struct store_scan *s);

/* Decode a chunk found by store_next() into RECORDS, an array of the struct of its type.  TEXT and
 * BYTES fields point into S->raw or the file.  Return false if the chunk is malformed or
 * redefines ids; RECORDS is then undefined. */
bool store_decode(struct store_scan *s, const struct store_head *h, const unsigned char *stored,
                  struct buf *records);
/* Count a chunk found by store_next() whose contents turn out to be invalid. */
void store_reject(struct store_scan *s, const struct store_head *h);

#endif
