/* utf8.c - see utf8.h.  SPDX-License-Identifier: Apache-2.0 */
#include "text/utf8.h"

#include <stdint.h>
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

void utf8_repair(struct buf *out, const char *s, size_t n)
{
    for (size_t i = 0, k; i < n; i += k ? k : 1) {
        k = utf8_length((const unsigned char *)s + i, n - i);
        buf_add(out, k ? s + i : "\xef\xbf\xbd", k ? k : 3);
    }
}
