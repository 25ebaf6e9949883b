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

bool scan_big_u64_(struct scan_text *t, uint64_t *x)
{
    uint64_t v = 0;
    size_t i = 0;

    for (; i < t->n && scan_digit(t->s[i]); i++)
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(t->s[i] - '0'), &v))
            v = UINT64_MAX;
    *x = v;
    scan_drop(t, i);
    return i > 0;
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

bool scan_hex(struct scan_text *t, uint64_t *x)
{
    uint64_t v = 0;
    size_t i = 0;

    for (; i < t->n; i++) {
        char c = t->s[i];
        int digit = scan_digit(c)          ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            break;
        v = v << 4 | (uint64_t)digit;
    }
    *x = v;
    scan_drop(t, i);
    return i > 0;
}
