/* marshal.c - see marshal.h.  Type letters are those of CPython's marshal.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/marshal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLAG_REF = 0x80, MAX_DIGITS = 64 };

static struct marshal_object text(struct cursor *c, size_t n)
{
    const unsigned char *p = cur_bytes(c, n);

    return (struct marshal_object){ .kind = p ? MARSHAL_TEXT : MARSHAL_BAD, .text = (char *)p,
                                    .n = p ? n : 0 };
}

static struct marshal_object number(double x)
{
    return (struct marshal_object){ .kind = MARSHAL_NUMBER, .number = x };
}

/* Digits of 15 bits, the lowest first; a negative count means a negative number. */
static struct marshal_object long_number(struct cursor *c)
{
    int32_t n = (int32_t)cur_u32(c);
    double x = 0, scale = 1;

    if (n > MAX_DIGITS || n < -MAX_DIGITS)
        return (struct marshal_object){ 0 };
    for (int32_t i = n < 0 ? -n : n; i; i--, scale *= 32768)
        x += scale * cur_u16(c);
    return number(n < 0 ? -x : x);
}

static struct marshal_object real_number(struct cursor *c)
{
    uint64_t bits = cur_u64(c);
    double x;

    memcpy(&x, &bits, sizeof x);
    return number(isfinite(x) ? x : 0);
}

static struct marshal_object read_type(struct cursor *c, char type)
{
    switch (type) {
    case '{':
        return (struct marshal_object){ .kind = MARSHAL_DICT };
    case '0':
        return (struct marshal_object){ .kind = MARSHAL_END };
    case '(':
        return (struct marshal_object){ .kind = MARSHAL_TUPLE, .n = cur_u32(c) };
    case ')':
        return (struct marshal_object){ .kind = MARSHAL_TUPLE, .n = cur_u8(c) };
    case 'i':
        return number((int32_t)cur_u32(c));
    case 'l':
        return long_number(c);
    case 'g':
        return real_number(c);
    case 'T':
    case 'F':
        return number(type == 'T');
    case 'z': /* short, ASCII; Z: and interned */
    case 'Z':
        return text(c, cur_u8(c));
    case 'a':
    case 'A':
    case 's':
    case 't':
    case 'u':
        return text(c, cur_u32(c));
    default:
        return (struct marshal_object){ 0 };
    }
}

struct marshal_object marshal_next(struct marshal_reader *r)
{
    uint8_t byte = cur_u8(&r->c);
    struct marshal_object o = { 0 };

    if (r->c.failed)
        return o;
    if ((byte & ~FLAG_REF) == 'r') {
        uint32_t i = cur_u32(&r->c);

        if (!r->c.failed && i < r->ref.n)
            o = r->ref.v[i];
        if (o.kind == MARSHAL_TUPLE && !o.known) /* refers to itself or has no number */
            o.kind = MARSHAL_BAD;
        return o;
    }
    o = read_type(&r->c, (char)(byte & ~FLAG_REF));
    if (r->c.failed)
        o.kind = MARSHAL_BAD;
    if (byte & FLAG_REF) {
        vec_push(&r->ref, o);
        o.ref = (uint32_t)r->ref.n;
    }
    return o;
}

void marshal_remember(struct marshal_reader *r, const struct marshal_object *o, uint32_t known)
{
    if (o->ref)
        r->ref.v[o->ref - 1].known = known;
}

void marshal_release(struct marshal_reader *r)
{
    vec_release(&r->ref);
}

void marshal_dict(struct buf *b)
{
    buf_u8(b, '{');
}

void marshal_dict_end(struct buf *b)
{
    buf_u8(b, '0');
}

void marshal_tuple(struct buf *b, uint32_t n)
{
    buf_u8(b, '(');
    buf_u32(b, n);
}

void marshal_int(struct buf *b, uint64_t x)
{
    uint32_t digits = 0;

    if (x <= INT32_MAX) {
        buf_u8(b, 'i');
        buf_u32(b, (uint32_t)x);
        return;
    }
    for (uint64_t rest = x; rest; rest >>= 15)
        digits++;
    buf_u8(b, 'l');
    buf_u32(b, digits);
    for (; x; x >>= 15)
        buf_u16(b, x & 0x7fff);
}

void marshal_double(struct buf *b, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    buf_u8(b, 'g');
    buf_u64(b, bits);
}

void marshal_text(struct buf *b, const char *s, size_t n)
{
    buf_u8(b, 'u');
    buf_u32(b, (uint32_t)n);
    buf_add(b, s, n);
}
