/* textscan.h - parse text line by line without copies.  A scan_text is a piece of the input and
 * shrinks from the front as it is read; all reads stay inside it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_TEXTSCAN_H
#define FATHOM_FORMATS_TEXTSCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/digits.h"

struct scan_text {
    const char *s;
    size_t n;
};

static inline struct scan_text scan_of(const void *s, size_t n)
{
    return (struct scan_text){ s, n };
}

/* Remove the next line from *REST; *LINE excludes its end (\n or \r\n).  False at the end. */
static inline bool scan_line(struct scan_text *rest, struct scan_text *line)
{
    const char *end;
    size_t n;

    if (!rest->n)
        return false;
    end = memchr(rest->s, '\n', rest->n);
    n = end ? (size_t)(end - rest->s) : rest->n;
    *line = (struct scan_text){ rest->s, n };
    rest->s += n + !!end;
    rest->n -= n + !!end;
    if (line->n && line->s[line->n - 1] == '\r')
        line->n--;
    return true;
}

/* The line number, from 1, of AT in the input that starts at DATA: for messages. */
size_t scan_line_number(const void *data, const char *at);

static inline void scan_drop(struct scan_text *t, size_t n)
{
    t->s += n;
    t->n -= n;
}

static inline void scan_space(struct scan_text *t)
{
    while (t->n && (*t->s == ' ' || *t->s == '\t'))
        scan_drop(t, 1);
}

static inline void scan_trim(struct scan_text *t)
{
    scan_space(t);
    while (t->n && (t->s[t->n - 1] == ' ' || t->s[t->n - 1] == '\t'))
        t->n--;
}

static inline bool scan_is(struct scan_text t, const char *s)
{
    size_t n = strlen(s);

    return t.n == n && memcmp(t.s, s, n) == 0;
}

static inline bool scan_starts(struct scan_text t, const char *s)
{
    size_t n = strlen(s);

    return t.n >= n && memcmp(t.s, s, n) == 0;
}

/* Remove PREFIX from *T; if it is not there, return false and leave *T unchanged. */
static inline bool scan_take(struct scan_text *t, const char *prefix)
{
    if (!scan_starts(*t, prefix))
        return false;
    scan_drop(t, strlen(prefix));
    return true;
}

/* Remove and return the text before the first C, and remove C; all of it when there is no C. */
static inline struct scan_text scan_until(struct scan_text *t, char c)
{
    const char *at = t->n ? memchr(t->s, c, t->n) : NULL;
    size_t n = at ? (size_t)(at - t->s) : t->n;
    struct scan_text head = { t->s, n };

    scan_drop(t, n + !!at);
    return head;
}

/* Remove leading space and the next word; return the word. */
static inline struct scan_text scan_word(struct scan_text *t)
{
    size_t n = 0;

    scan_space(t);
    while (n < t->n && t->s[n] != ' ' && t->s[n] != '\t')
        n++;
    t->s += n;
    t->n -= n;
    return (struct scan_text){ t->s - n, n };
}

static inline bool scan_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Parse and remove leading decimal digits; false (nothing removed) when there are none.  Saturates
 * at UINT64_MAX. */
uint64_t scan_big_u64_(struct scan_text *t);
static inline bool scan_u64(struct scan_text *t, uint64_t *x)
{
    uint64_t v = 0;
    unsigned n = 0;
    size_t i;

    if (t->n >= 2 && scan_digit(t->s[0]) && !scan_digit(t->s[1])) { /* most are small */
        *x = (uint64_t)(t->s[0] - '0');
        scan_drop(t, 1);
        return true;
    }
    if (t->n >= 8)
        v = digits_of_8(t->s, &n);
    i = n;
    while (i < t->n && scan_digit(t->s[i])) {
        v = v * 10 + (uint64_t)(t->s[i] - '0');
        i++;
    }
    if (i > 18) { /* a copy, because *T stays in registers only if its address is not passed on */
        struct scan_text big = *t;

        *x = scan_big_u64_(&big);
        *t = big;
        return true;
    }
    *x = v;
    scan_drop(t, i);
    return i > 0;
}

/* The same with an optional minus sign; saturates at the limits of int64_t. */
bool scan_i64(struct scan_text *t, int64_t *x);
/* Parse and remove leading hexadecimal digits, without 0x; false (nothing removed) when there are
 * none.  Of more than 16 digits the last 16 count. */
extern const uint8_t scan_hex_digit[256]; /* value + 1; 0 for other characters */
static inline bool scan_hex(struct scan_text *t, uint64_t *x)
{
    uint64_t v = 0;
    size_t i = 0;
    uint8_t digit;

    for (; i < t->n && (digit = scan_hex_digit[(unsigned char)t->s[i]]); i++)
        v = v << 4 | (digit - 1u);
    *x = v;
    scan_drop(t, i);
    return i > 0;
}

/* The same without a value. */
static inline bool scan_skip_hex(struct scan_text *t)
{
    size_t n = 0;

    while (n < t->n && scan_hex_digit[(unsigned char)t->s[n]])
        n++;
    scan_drop(t, n);
    return n > 0;
}

#endif
