/* sym_utf8.c - see sym_utf8.h.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_utf8.h"

bool sym_utf8_add(struct buf *b, uint32_t x)
{
    if (x < 0x20 || (x >= 0x7f && x < 0xa0) || x > 0x10ffff || (x >= 0xd800 && x < 0xe000))
        return false;
    if (x < 0x80) {
        buf_u8(b, (uint8_t)x);
        return true;
    }
    if (x < 0x800) {
        buf_u8(b, (uint8_t)(0xc0 | x >> 6));
    } else {
        if (x < 0x10000) {
            buf_u8(b, (uint8_t)(0xe0 | x >> 12));
        } else {
            buf_u8(b, (uint8_t)(0xf0 | x >> 18));
            buf_u8(b, (uint8_t)(0x80 | (x >> 12 & 0x3f)));
        }
        buf_u8(b, (uint8_t)(0x80 | (x >> 6 & 0x3f)));
    }
    buf_u8(b, (uint8_t)(0x80 | (x & 0x3f)));
    return true;
}

/* Bytes of the clean character at S, 0 when it is not one. */
static size_t char_size(const unsigned char *s, size_t n)
{
    size_t k = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7f;
    if (s[0] < 0xc2 || s[0] >= 0xf5)
        return 0;
    if (k > n)
        return 0;
    for (size_t i = 1; i < k; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) ||
        (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] >= 0x90))
        return 0;
    return k;
}

/* Eight bytes that are all from space to '~': nearly all names are nothing else. */
static bool is_plain_word(const char *s)
{
    uint64_t x;

    memcpy(&x, s, 8);
    return !((x | (x - 0x2020202020202020u) | (x + 0x0101010101010101u)) & 0x8080808080808080u);
}

bool sym_utf8_is_clean(const char *s, size_t n)
{
    size_t i = 0;

    while (n - i >= 8 && is_plain_word(s + i))
        i += 8;
    for (size_t k; i < n; i += k)
        if (!(k = char_size((const unsigned char *)s + i, n - i)))
            return false;
    return true;
}

void sym_utf8_add_clean(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t k = char_size((const unsigned char *)s + i, n - i);

        buf_add(b, k ? s + i : "?", k ? k : 1);
        i += k ? k : 1;
    }
}
