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

/* Unicode's Bidi_Control, and the separators of lines and paragraphs. */
static bool is_layout(uint32_t code)
{
    return code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x206f);
}

bool utf8_is_printable(uint32_t code)
{
    return code >= 0x20 && !(code >= 0x7f && code < 0xa0) && code <= 0x10ffff &&
           !(code >= 0xd800 && code < 0xe000) && !is_layout(code);
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

static bool is_plain(uint64_t x)
{
    return !((x | (x - 0x2020202020202020u) | (x + 0x0101010101010101u)) & 0x8080808080808080u);
}

/* Eight bytes from space to '~', as nearly all names are; with LINES also line ends. */
static bool is_plain_word(const char *s, bool lines)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    uint64_t x, y;

    memcpy(&x, s, 8);
    if (is_plain(x) || !lines)
        return is_plain(x);
    y = x ^ 0x0a0a0a0a0a0a0a0au; /* a line end is a byte of y that is 0: make it printable */
    return is_plain(x | ~(((y & low) + low) | y | low) >> 2);
}

/* Whether the N bytes at S start a character that needs more bytes. */
static bool is_cut(const char *s, size_t n)
{
    unsigned char c = (unsigned char)s[0];

    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return false;
    return n < (c < 0xc2 ? 1u : c < 0xe0 ? 2u : c < 0xf0 ? 3u : c < 0xf5 ? 4u : 1u);
}

size_t utf8_clean(char *s, size_t n, bool lines)
{
    size_t i = 0, k;

    for (;;) {
        while (n - i >= 8 && is_plain_word(s + i, lines))
            i += 8;
        if (i == n)
            break;
        if ((s[i] >= 0x20 && s[i] < 0x7f) || (lines && s[i] == '\n')) {
            i++;
        } else if ((k = utf8_printable_length(s + i, n - i))) {
            i += k;
        } else if (is_cut(s + i, n - i)) {
            break;
        } else {
            k = utf8_length((unsigned char *)s + i, n - i);
            k = k ? k : 1;
            memset(s + i, '?', k);
            i += k;
        }
    }
    return i;
}

void utf8_clean_line(char *s, size_t n)
{
    size_t clean = utf8_clean(s, n, false);

    if (clean < n) /* S may be NULL if N is 0 */
        memset(s + clean, '?', n - clean);
}

bool utf8_is_clean(const char *s, size_t n)
{
    size_t i = 0;

    while (n - i >= 8 && is_plain_word(s + i, false))
        i += 8;
    for (size_t k; i < n; i += k)
        if (!(k = utf8_printable_length(s + i, n - i)))
            return false;
    return true;
}
