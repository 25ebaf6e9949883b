/* escape.c - see escape.h.  SPDX-License-Identifier: Apache-2.0 */
#include "text/escape.h"

#include <string.h>

#include "base/utf8.h"

static size_t plain_run(const unsigned char *s, size_t n)
{
    size_t i = 0;

    while (i < n && s[i] >= 0x20 && s[i] < 0x7f && s[i] != '"' && s[i] != '\\')
        i++;
    return i;
}

/* The escape of the one byte C. */
static struct escaped escape_byte(unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt", hex[] = "0123456789abcdef";
    const char *at = c ? strchr(from, c) : NULL;

    if (at)
        return (struct escaped){ .own = { '\\', to[at - from] }, .n = 2, .taken = 1 };
    return (struct escaped){ .own = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, .n = 6,
                             .taken = 1 };
}

struct escaped escape_json(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t run = plain_run(u, n), length;

    if (run)
        return (struct escaped){ .plain = s, .n = run, .taken = run };
    length = utf8_length(u, n);
    if (length > 1)
        return (struct escaped){ .plain = s, .n = length, .taken = length };
    if (length == 0)
        return (struct escaped){ .own = "\\ufffd", .n = 6, .taken = 1 };
    return escape_byte(*u);
}

struct escaped escape_csv(const char *s, size_t n)
{
    const char *quote = memchr(s, '"', n);
    size_t run = quote ? (size_t)(quote - s) : n;

    if (run)
        return (struct escaped){ .plain = s, .n = run, .taken = run };
    return (struct escaped){ .own = "\"\"", .n = 2, .taken = 1 };
}

bool escape_csv_needs_quotes(const char *s)
{
    return strpbrk(s, ",\"\r\n") != NULL;
}
