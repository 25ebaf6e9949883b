/* protobuf.h - the subset of the protobuf wire format that we need: a writer into a buf and a
 * bounded reader.
 *
 * Writing a nested message: size_t at = pb_begin(b, field); ...fields...; pb_end(b, at).
 * Reading: while (pb_next(&r)) switch (r.field) ...; then check r.at.failed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_PROTOBUF_H
#define FATHOM_FORMATS_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

static inline void pb_tag(struct buf *b, uint32_t field, enum pb_wire wire)
{
    buf_uleb(b, (uint64_t)field << 3 | wire);
}

static inline void pb_u64(struct buf *b, uint32_t field, uint64_t x)
{
    pb_tag(b, field, PB_VARINT);
    buf_uleb(b, x);
}

/* proto3 omits zeros. */
static inline void pb_opt_u64(struct buf *b, uint32_t field, uint64_t x)
{
    if (x)
        pb_u64(b, field, x);
}

void pb_double(struct buf *b, uint32_t field, double x);
/* proto3 requires UTF-8: other bytes become '?'. */
void pb_text(struct buf *b, uint32_t field, const char *s, size_t n);

size_t pb_begin(struct buf *b, uint32_t field);
void pb_end(struct buf *b, size_t at);

struct pb_reader {
    struct cursor at;
    uint32_t field;
    enum pb_wire wire;
    uint64_t value;      /* PB_VARINT and the fixed types */
    struct cursor bytes; /* PB_BYTES */
};
static inline struct pb_reader pb_reader_of(struct cursor c)
{
    return (struct pb_reader){ .at = c };
}
/* The next field; false at the end or for invalid bytes (at.failed). */
bool pb_next(struct pb_reader *r);
/* For a repeated number: the next of a packed field, or the single value of a plain one.
 *     for (uint64_t x; pb_each(&r, &x);) */
bool pb_each(struct pb_reader *r, uint64_t *x);

#endif
