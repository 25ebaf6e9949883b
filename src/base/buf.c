/* buf.c - see buf.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"

void buf_reserve(struct buf *b, size_t more)
{
    size_t cap = b->cap ? b->cap : 256;

    if (b->cap - b->n >= more)
        return;
    if (more > SIZE_MAX / 2 - b->n)
        mem_failed(more);
    while (cap - b->n < more)
        cap *= 2;
    b->data = mem_realloc(b->data, cap);
    b->cap = cap;
}

void buf_release(struct buf *b)
{
    free(b->data);
    *b = (struct buf){ 0 };
}

char *buf_text(struct buf *b)
{
    buf_reserve(b, 1);
    b->data[b->n] = 0;
    return (char *)b->data;
}

static void add_formatted(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    if (n > 0) {
        buf_reserve(b, (size_t)n + 1);
        vsnprintf((char *)b->data + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_formatted(b, fmt, ap);
    va_end(ap);
}

void buf_printf_clean(struct buf *b, const char *fmt, ...)
{
    size_t before = b->n;
    va_list ap;

    va_start(ap, fmt);
    add_formatted(b, fmt, ap);
    va_end(ap);
    if (b->n > before)
        utf8_clean_line((char *)b->data + before, b->n - before);
}

void buf_add_repaired(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0, k; i < n; i += k ? k : 1) {
        k = utf8_length((const unsigned char *)s + i, n - i);
        buf_add(b, k ? s + i : "\xef\xbf\xbd", k ? k : 3);
    }
}

void buf_add_clean(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0, k; i < n; i += k ? k : 1) {
        k = utf8_printable_length(s + i, n - i);
        buf_add(b, k ? s + i : "?", k ? k : 1);
    }
}
