/* protobuf.c - see protobuf.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/protobuf.h"

#include "base/utf8.h"

/* Bytes reserved for the length of a nested message, which is filled in at its end.  They suffice
 * for 256 MB, and a padded varint is valid. */
enum { LENGTH_BYTES = 4 };

void pb_double(struct buf *b, uint32_t field, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    pb_tag(b, field, PB_FIXED64);
    buf_u64(b, bits);
}

void pb_text(struct buf *b, uint32_t field, const char *s, size_t n)
{
    size_t start;

    pb_tag(b, field, PB_BYTES);
    buf_uleb(b, n);
    start = b->n;
    buf_add(b, s, n);
    for (size_t i = 0; i < n;) {
        size_t len = utf8_length(b->data + start + i, n - i);

        if (!len)
            b->data[start + i] = '?';
        i += len ? len : 1;
    }
}

size_t pb_begin(struct buf *b, uint32_t field)
{
    pb_tag(b, field, PB_BYTES);
    buf_add(b, "\0\0\0\0", LENGTH_BYTES);
    return b->n;
}

void pb_end(struct buf *b, size_t at)
{
    size_t n = b->n - at;
    unsigned char *p = b->data + at - LENGTH_BYTES;

    for (int i = 0; i < LENGTH_BYTES; i++, n >>= 7)
        p[i] = (unsigned char)((n & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}

bool pb_next(struct pb_reader *r)
{
    uint64_t tag;

    if (r->at.failed || !cur_left(&r->at))
        return false;
    tag = cur_uleb(&r->at);
    r->field = (uint32_t)(tag >> 3);
    r->wire = (enum pb_wire)(tag & 7);
    r->value = 0;
    switch (r->wire) {
    case PB_VARINT:
        r->value = cur_uleb(&r->at);
        break;
    case PB_FIXED64:
        r->value = cur_u64(&r->at);
        break;
    case PB_BYTES:
        r->value = cur_uleb(&r->at);
        r->bytes = cur_sub(&r->at, r->value);
        break;
    case PB_FIXED32:
        r->value = cur_u32(&r->at);
        break;
    default: /* groups: obsolete, unsupported */
        r->at.failed = true;
    }
    return !r->at.failed && r->field != 0;
}

bool pb_each(struct pb_reader *r, uint64_t *x)
{
    if (r->wire == PB_BYTES) {
        if (!cur_left(&r->bytes))
            return false;
        *x = cur_uleb(&r->bytes);
        r->at.failed |= r->bytes.failed;
        return !r->bytes.failed;
    }
    *x = r->value;
    r->wire = PB_BYTES; /* a second call finds nothing left */
    r->bytes = (struct cursor){ r->at.p, r->at.p, false };
    return true;
}
