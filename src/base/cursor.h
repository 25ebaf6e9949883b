/* cursor.h - bounds-checked reading of untrusted bytes.
 * After the first read past the end every read returns 0 and failed stays set, so parsers
 * check it once at the end.  No allocation, no locks: safe in target code.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_CURSOR_H
#define FATHOM_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const unsigned char *p, *end;
    bool failed;
};

static inline struct cursor cursor_of(const void *data, size_t n)
{
    const unsigned char *p = data;

    return (struct cursor){ p, n ? p + n : p, false }; /* NULL + 0 is undefined */
}

static inline size_t cur_left(const struct cursor *c)
{
    return (size_t)(c->end - c->p);
}

/* The next N bytes, or NULL (and failed) when fewer are left. */
static inline const unsigned char *cur_bytes(struct cursor *c, size_t n)
{
    const unsigned char *p = c->p;

    if (n > cur_left(c)) {
        c->failed = true;
        c->p = c->end;
        return NULL;
    }
    c->p += n;
    return p;
}

static inline void cur_skip(struct cursor *c, size_t n)
{
    (void)cur_bytes(c, n);
}

/* Return a cursor over the next N bytes and skip them. */
static inline struct cursor cur_sub(struct cursor *c, size_t n)
{
    const unsigned char *p = cur_bytes(c, n);

    if (!p)
        return (struct cursor){ c->end, c->end, true };
    return (struct cursor){ p, p + n, false };
}

#define CURSOR_READ_(name, type)                            \
    static inline type name(struct cursor *c)               \
    {                                                       \
        const unsigned char *p = cur_bytes(c, sizeof(type)); \
        type x = 0;                                         \
        if (p)                                              \
            memcpy(&x, p, sizeof x);                        \
        return x;                                           \
    }
CURSOR_READ_(cur_u8, uint8_t)
CURSOR_READ_(cur_u16, uint16_t)
CURSOR_READ_(cur_u32, uint32_t)
CURSOR_READ_(cur_u64, uint64_t)
#undef CURSOR_READ_

/* Unsigned LEB128; fails on more than 64 bits or ten bytes. */
static inline uint64_t cur_uleb(struct cursor *c)
{
    uint64_t x = 0;

    for (unsigned shift = 0;; shift += 7) {
        unsigned char b;

        if (c->p >= c->end || (shift == 63 && *c->p > 1)) {
            c->failed = true;
            return 0;
        }
        b = *c->p++;
        x |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return x;
    }
}

static inline int64_t cur_zig(struct cursor *c)
{
    uint64_t x = cur_uleb(c);

    return (int64_t)(x >> 1) ^ -(int64_t)(x & 1);
}

/* Signed LEB128 as DWARF writes it. */
static inline int64_t cur_sleb(struct cursor *c)
{
    uint64_t x = 0;
    unsigned shift = 0;
    unsigned char b;

    do {
        if (c->p >= c->end || shift > 70) {
            c->failed = true;
            return 0;
        }
        b = *c->p++;
        if (shift < 64)
            x |= (uint64_t)(b & 0x7f) << shift;
        shift += 7;
    } while (b & 0x80);
    if (shift < 64 && (b & 0x40))
        x |= ~(uint64_t)0 << shift;
    return (int64_t)x;
}

/* A NUL-terminated string inside the bytes, or "" (and failed) when there is no NUL. */
static inline const char *cur_cstr(struct cursor *c)
{
    const unsigned char *p = c->p, *nul = p < c->end ? memchr(p, 0, cur_left(c)) : NULL;

    if (!nul) {
        c->failed = true;
        c->p = c->end;
        return "";
    }
    c->p = nul + 1;
    return (const char *)p;
}

#endif
