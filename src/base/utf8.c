/* utf8.c - see utf8.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

size_t utf8_length(const unsigned char *s, size_t n)
{
    size_t len = s[0] < 0x80 ? 1 : (s[0] & 0xe0) == 0xc0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : 4;

    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

size_t utf8_decode(const unsigned char *s, size_t n, uint32_t *code)
{
    size_t len = utf8_length(s, n);

    *code = len == 0 ? 0 : len == 1 ? s[0] : s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        *code = *code << 6 | (s[i] & 0x3f);
    return len;
}

size_t utf8_encode(unsigned char to[4], uint32_t code)
{
    unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = { 0, 0xc0, 0xe0, 0xf0 };

    to[0] = (uint8_t)(lead[more] | code >> 6 * more);
    for (unsigned i = 1; i <= more; i++)
        to[i] = (uint8_t)(0x80 | (code >> 6 * (more - i) & 0x3f));
    return more + 1;
}

bool utf8_is_printable(uint32_t code)
{
    return code >= 0x20 && !(code >= 0x7f && code < 0xa0) && code <= 0x10ffff &&
           !(code >= 0xd800 && code < 0xe000);
}

bool utf8_is_valid(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t i = 0;

    for (uint64_t x; n - i >= 8; i += 8) { /* names are mostly ASCII */
        memcpy(&x, u + i, 8);
        if (x & 0x8080808080808080u)
            break;
    }
    for (size_t k; i < n; i += k)
        if (!(k = utf8_length(u + i, n - i)))
            return false;
    return true;
}

size_t utf8_printable_length(const char *s, size_t n)
{
    uint32_t code;
    size_t len = utf8_decode((const unsigned char *)s, n, &code);

    return utf8_is_printable(code) ? len : 0;
}

/* Eight bytes from space to '~', as nearly all names are. */
static bool is_plain_word(const char *s)
{
    uint64_t x;

    memcpy(&x, s, 8);
    return !((x | (x - 0x2020202020202020u) | (x + 0x0101010101010101u)) & 0x8080808080808080u);
}

bool utf8_is_clean(const char *s, size_t n)
{
    size_t i = 0;

    while (n - i >= 8 && is_plain_word(s + i))
        i += 8;
    for (size_t k; i < n; i += k)
        if (!(k = utf8_printable_length(s + i, n - i)))
            return false;
    return true;
}
