/* store.h - the .fathom file.
 *
 * Append-only chunks, each with type, sizes and checksum, zstd-compressed columns; docs/format.md
 * describes every byte.  The writer is a sink that buffers columns and puts them down in whole
 * chunks, so that a file cut at any byte opens with what its whole chunks hold.
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
/* Write to FD (not closed by us; may be a pipe). */
struct store_writer *store_writer_new(int fd);
struct store_writer *store_writer_to(struct out *out); /* the same, through OUT */
struct sink *store_writer_sink(struct store_writer *w);
/* Put down what is buffered as whole chunks now (the recorder calls it about once a second). */
void store_writer_flush(struct store_writer *w);
uint64_t store_writer_bytes(const struct store_writer *w); /* written so far */
void store_writer_free(struct store_writer *w);

bool store_is(const void *data, size_t size); /* recognised by its first bytes */

struct store_damage {
    uint64_t missing_bytes; /* at the end, not whole or never written */
    uint64_t bad_chunks;    /* checksum or contents wrong; skipped */
    uint64_t lost_samples;  /* known to have been in what was skipped */
    uint64_t lost_references; /* to what a skipped chunk defined; they name "[lost]" now */
    bool unfinished;        /* no end chunk: the writer was killed */
};
/* The damage as a sentence, "" when there is none. */
void store_damage_text(const struct store_damage *d, char *text, size_t size);

/* Read everything that is whole into SINK (end() included).  -1 with *E when it is no such
 * file, or of a newer version; damage is not an error, it is told in *D and to the sink as
 * meta "file.damage" (the sentence) and "file.missing_bytes". */
int store_read(const void *data, size_t size, struct sink *out, struct store_damage *d,
               struct err *e);

#endif
