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

/* The escape of a character of LENGTH bytes that is not printable: all are below 0x10000. */
static struct escaped escape_code(uint32_t code, size_t length)
{
    static const char hex[] = "0123456789abcdef";

    return (struct escaped){ .own = { '\\', 'u', hex[code >> 12], hex[code >> 8 & 15],
                                      hex[code >> 4 & 15], hex[code & 15] }, .n = 6,
                             .taken = length };
}

struct escaped escape_json(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t run = plain_run(u, n), length;
    uint32_t code;

    if (run)
        return (struct escaped){ .plain = s, .n = run, .taken = run };
    length = utf8_decode(u, n, &code);
    if (length > 1 && utf8_is_printable(code))
        return (struct escaped){ .plain = s, .n = length, .taken = length };
    if (length > 1)
        return escape_code(code, length);
    if (length == 0)
        return (struct escaped){ .own = "\\ufffd", .n = 6, .taken = 1 };
    return escape_byte(*u);
}

struct escaped escape_csv(const char *s, size_t n)
{
    size_t run = 0, k;

    for (; run < n; run += k) {
        unsigned char c = (unsigned char)s[run];

        k = (c >= 0x20 && c < 0x7f && c != '"') || c == '\n';
        if (c >= 0x80)
            k = utf8_printable_length(s + run, n - run);
        if (!k)
            break;
    }
    if (run)
        return (struct escaped){ .plain = s, .n = run, .taken = run };
    if (*s == '"')
        return (struct escaped){ .own = "\"\"", .n = 2, .taken = 1 };
    k = utf8_length((const unsigned char *)s, n);
    return (struct escaped){ .own = "?", .n = 1, .taken = k ? k : 1 };
}

bool escape_csv_needs_quotes(const char *s)
{
    return strpbrk(s, ",\"\n") != NULL;
}

/* Digits with at most one point and an exponent, after a sign. */
static bool is_number(const char *s)
{
    size_t digits;

    s += *s == '-' || *s == '+';
    digits = strspn(s, "0123456789");
    s += digits;
    if (*s == '.') {
        s++;
        digits += strspn(s, "0123456789");
        s += strspn(s, "0123456789");
    }
    if (digits && (*s == 'e' || *s == 'E')) {
        s++;
        s += *s == '-' || *s == '+';
        digits = strspn(s, "0123456789");
        s += digits;
    }
    return digits && !*s;
}

const char *escape_csv_start(const char *s)
{
    static const char *const starts[] = { "=", "+", "-", "@", "\t", "\r", "\xef\xbc\x9d",
                                          "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0" };

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(s, starts[i], strlen(starts[i])) == 0)
            return is_number(s) ? "" : "'";
    return "";
}
