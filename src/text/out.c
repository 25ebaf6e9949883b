/* out.c - see out.h.  SPDX-License-Identifier: Apache-2.0 */
#include "text/out.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/save.h"
#include "base/utf8.h"

struct out out_fd(int fd)
{
    return (struct out){ .fd = fd };
}

struct out out_binary(int fd)
{
    return (struct out){ .fd = fd, .is_binary = true };
}

struct out out_memory(void)
{
    return (struct out){ .fd = -1 };
}

/* Clean what was added, except a character at the end that may still be incomplete. */
static void clean(struct out *o)
{
    if (o->is_binary || o->fd < 0)
        o->clean = o->buf.n;
    else
        o->clean += utf8_clean((char *)o->buf.data + o->clean, o->buf.n - o->clean, true);
}

/* Clean everything, because no more bytes of a character follow. */
static void clean_end(struct out *o)
{
    clean(o);
    if (o->clean < o->buf.n)
        memset(o->buf.data + o->clean, '?', o->buf.n - o->clean);
    o->clean = o->buf.n;
}

/* Write in pieces that do not block once ready() has returned true. */
static int write_when_ready(const struct out *o, const unsigned char *p, size_t n)
{
    for (size_t done = 0; done < n; done += PIPE_BUF) {
        if (!o->ready(o->context, o->fd)) {
            errno = ECANCELED;
            return -1;
        }
        if (save_write(o->fd, p + done, n - done < PIPE_BUF ? n - done : PIPE_BUF) < 0)
            return -1;
    }
    return 0;
}

static int write_bytes(const struct out *o, const unsigned char *p, size_t n)
{
    return o->ready ? write_when_ready(o, p, n) : save_write(o->fd, p, n);
}

static void write_clean(struct out *o)
{
    size_t n = o->clean;

    if (!o->failed)
        o->full = (o->limit && o->written + n > o->limit);
    if (o->full)
        o->failed = EFBIG;
    if (!o->failed && write_bytes(o, o->buf.data, n) < 0)
        o->failed = errno;
    else if (!o->failed)
        o->written += n;
    o->buf.n -= n;
    memmove(o->buf.data, o->buf.data + n, o->buf.n);
    o->clean = 0;
}

void out_spill_(struct out *o)
{
    clean(o);
    write_clean(o);
}

void out_flush(struct out *o)
{
    if (o->fd < 0 || !o->buf.n)
        return;
    clean_end(o);
    write_clean(o);
}

void out_trusted(struct out *o, const char *s)
{
    clean_end(o);
    buf_add(&o->buf, s, strlen(s));
    o->clean = o->buf.n;
}

int out_close(struct out *o, struct err *e)
{
    struct out was;

    out_flush(o);
    was = *o;
    buf_release(&o->buf);
    *o = out_memory();
    if (!was.failed)
        return 0;
    if (was.full) {
        err_set(e, ERR_LIMIT, "the output would have more than %llu MiB",
                (unsigned long long)was.limit >> 20);
        err_hint(e, "choose a part of the profile, as with --time, --thread or --function");
        return -1;
    }
    errno = was.failed;
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
