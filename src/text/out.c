/* out.c - see out.h.  SPDX-License-Identifier: Apache-2.0 */
#include "text/out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/save.h"

struct out out_fd(int fd)
{
    return (struct out){ .fd = fd };
}

struct out out_memory(void)
{
    return (struct out){ .fd = -1 };
}

void out_spill_(struct out *o)
{
    size_t n = o->buf.n;

    o->buf.n = 0;
    if (o->failed)
        return;
    if (save_write(o->fd, o->buf.data, n) < 0)
        o->failed = errno;
    else
        o->written += n;
}

void out_flush(struct out *o)
{
    if (o->fd >= 0 && o->buf.n)
        out_spill_(o);
}

int out_close(struct out *o, struct err *e)
{
    int failed;

    out_flush(o);
    failed = o->failed;
    buf_release(&o->buf);
    *o = out_memory();
    if (!failed)
        return 0;
    errno = failed;
    return err_sys(e, "cannot write");
}

void out_printf(struct out *o, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    if ((size_t)n < sizeof text) {
        out_add(o, text, (size_t)n);
        return;
    }
    buf_reserve(&o->buf, (size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf((char *)o->buf.data + o->buf.n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    o->buf.n += (size_t)n;
    if (o->fd >= 0 && o->buf.n >= 1 << 16)
        out_spill_(o);
}

void out_u64(struct out *o, uint64_t x)
{
    char digits[20];
    int at = sizeof digits;

    do {
        digits[--at] = (char)('0' + x % 10);
        x /= 10;
    } while (x);
    out_add(o, digits + at, sizeof digits - (size_t)at);
}

void out_i64(struct out *o, int64_t x)
{
    if (x < 0)
        out_char(o, '-');
    out_u64(o, x < 0 ? -(uint64_t)x : (uint64_t)x);
}
