/* store.h - read and write .fathom files.
 *
 * A file is a sequence of chunks, each with type, sizes, checksums and zstd-compressed columns;
 * docs/format.md describes every byte.  The writer is a sink that buffers columns and writes only
 * whole chunks, so all whole chunks of a truncated file can be read.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_STORE_STORE_H
#define FATHOM_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/sink.h"
#include "text/out.h"

struct store_writer;
/* Write to OUT, a binary one that remains the caller's. */
struct store_writer *store_writer_new(struct out *out);
struct sink *store_writer_sink(struct store_writer *w);
/* Write all buffered records as chunks.  The recorder calls this about once a second. */
void store_writer_flush(struct store_writer *w);
uint64_t store_writer_bytes(const struct store_writer *w); /* written so far */
void store_writer_free(struct store_writer *w);

bool store_is(const void *data, size_t size); /* recognized by its first bytes */

struct store_damage {
    uint64_t missing_bytes; /* size of an incomplete chunk at the end */
    uint64_t bad_chunks;    /* skipped: invalid checksum or contents */
    uint64_t lost_samples;  /* samples known to be in skipped chunks */
    uint64_t lost_references; /* references to skipped records; they now refer to "[lost]" */
    bool unfinished;        /* no end chunk: the writer did not finish the file */
};
/* Describe the damage as a sentence, "" when there is none. */
void store_damage_text(const struct store_damage *d, char *text, size_t size);

/* Send all valid chunks to OUT and call its end().  Return -1 with *E if the data is no .fathom
 * file or has another version.  Damage is not an error: it is reported in *D, and to the sink
 * as meta "file.damage" (a sentence) and "file.missing_bytes". */
int store_read(const void *data, size_t size, struct sink *out, struct store_damage *d,
               struct err *e);

#endif
