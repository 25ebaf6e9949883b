/* buf.h - a growable byte buffer, with little-endian and LEB128 writers.
 * Start from {0}; buf_release frees.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_BUF_H
#define FATHOM_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/leb.h"

struct buf {
    unsigned char *data;
    size_t n, cap;
};

void buf_reserve(struct buf *b, size_t more); /* room for MORE bytes past n */
void buf_release(struct buf *b);
char *buf_text(struct buf *b); /* NUL-terminated (not counted in n); valid until the next add */
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a part of a line that contains names: what is not printable becomes '?'. */
void buf_printf_clean(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Append S, N bytes of untrusted text, with U+FFFD for each byte that is not part of UTF-8. */
void buf_add_repaired(struct buf *b, const char *s, size_t n);
/* Append S with '?' for every malformed byte and every byte of a control character. */
void buf_add_clean(struct buf *b, const char *s, size_t n);

static inline void buf_add(struct buf *b, const void *p, size_t n)
{
    if (b->cap - b->n < n)
        buf_reserve(b, n);
    if (n)
        memcpy(b->data + b->n, p, n);
    b->n += n;
}

static inline void buf_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

static inline void buf_u8(struct buf *b, uint8_t x)
{
    if (b->n == b->cap)
        buf_reserve(b, 1);
    b->data[b->n++] = x;
}

static inline void buf_u16(struct buf *b, uint16_t x)
{
    unsigned char t[2] = { (unsigned char)x, (unsigned char)(x >> 8) };
    buf_add(b, t, 2);
}

static inline void buf_u32(struct buf *b, uint32_t x)
{
    buf_u16(b, (uint16_t)x);
    buf_u16(b, (uint16_t)(x >> 16));
}

static inline void buf_u64(struct buf *b, uint64_t x)
{
    buf_u32(b, (uint32_t)x);
    buf_u32(b, (uint32_t)(x >> 32));
}

/* Unsigned LEB128. */
static inline void buf_uleb(struct buf *b, uint64_t x)
{
    if (b->cap - b->n < LEB_MAX)
        buf_reserve(b, LEB_MAX);
    b->n += leb_put(b->data + b->n, x);
}

/* Zigzag LEB128. */
static inline void buf_zig(struct buf *b, int64_t x)
{
    buf_uleb(b, leb_zigzag(x));
}

#endif
