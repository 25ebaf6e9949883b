/* textscan.c - see textscan.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/textscan.h"

#include <stdlib.h>

size_t scan_line_number(const void *data, const char *at)
{
    size_t n = 1;

    for (const char *s = data; s < at && (s = memchr(s, '\n', (size_t)(at - s))); s++)
        n++;
    return n;
}

uint64_t scan_big_u64_(struct scan_text *t)
{
    uint64_t v = 0;
    size_t i = 0;

    for (; i < t->n && scan_digit(t->s[i]); i++)
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(t->s[i] - '0'), &v))
            v = UINT64_MAX;
    scan_drop(t, i);
    return v;
}

bool scan_i64(struct scan_text *t, int64_t *x)
{
    bool negative = t->n && *t->s == '-';
    struct scan_text digits = { t->s + negative, t->n - negative };
    uint64_t v;

    if (!scan_u64(&digits, &v))
        return false;
    v = v > INT64_MAX ? INT64_MAX : v;
    *x = negative ? -(int64_t)v : (int64_t)v;
    *t = digits;
    return true;
}

#define SIX(first) [first] = 11, 12, 13, 14, 15, 16
const uint8_t scan_hex_digit[256] = {
    ['0'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, SIX('a'), SIX('A'),
};
#undef SIX
