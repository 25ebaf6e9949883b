/* rt_out.c - see rt_out.h.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_out.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/utf8.h"
#include "channel/live.h"
#include "text/escape.h"

enum { FIRST = 1 << 16 };

/* A character at the end that may still be incomplete is left. */
static void clean_start(struct rt_out *o)
{
    if (o->is_binary)
        o->clean = o->n;
    else
        o->clean += utf8_clean(o->data + o->clean, o->n - o->clean, true);
}

void rt_out_clean(struct rt_out *o)
{
    clean_start(o);
    if (o->clean < o->n)
        utf8_clean_line(o->data + o->clean, o->n - o->clean);
    o->clean = o->n;
}

static bool grow(struct rt_out *o, size_t more)
{
    size_t cap = o->cap ? o->cap : FIRST;
    void *p;

    if (o->failed || more > ((size_t)1 << 40))
        return false;
    if (o->is_open && o->n) {
        clean_start(o);
        o->failed = save_write(o->save.fd, o->data, o->clean) < 0;
        o->n -= o->clean;
        memmove(o->data, o->data + o->clean, o->n);
        o->clean = 0;
    }
    while (cap - o->n < more)
        cap *= 2;
    if (cap == o->cap)
        return true;
    p = o->data ? mremap(o->data, o->cap, cap, MREMAP_MAYMOVE)
                : mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        o->failed = true;
        return false;
    }
    o->data = p;
    o->cap = cap;
    return true;
}

void rt_out_release(struct rt_out *o)
{
    if (o->data)
        munmap(o->data, o->cap);
    memset(o, 0, sizeof *o);
}

void rt_out_add(struct rt_out *o, const void *data, size_t n)
{
    if (n == 0 || (o->cap - o->n < n && !grow(o, n)))
        return;
    memcpy(o->data + o->n, data, n);
    o->n += n;
}

void rt_out_str(struct rt_out *o, const char *s)
{
    rt_out_add(o, s, strlen(s));
}

void rt_out_name(struct rt_out *o, const char *s)
{
    for (size_t n = strlen(s), line; n; s += line, n -= line) {
        line = strcspn(s, "\n");
        rt_out_add(o, s, line);
        if (line < n) {
            rt_out_add(o, "?", 1);
            line++;
        }
    }
}

void rt_out_printf(struct rt_out *o, const char *fmt, ...)
{
    va_list ap;
    int n;

    if (o->cap - o->n < 1200 && !grow(o, 1200))
        return;
    va_start(ap, fmt);
    n = vsnprintf(o->data + o->n, o->cap - o->n, fmt, ap);
    va_end(ap);
    if (n > 0)
        o->n += (size_t)n < o->cap - o->n ? (size_t)n : o->cap - o->n - 1;
}

void rt_out_json(struct rt_out *o, const char *s)
{
    size_t n = strlen(s);

    rt_out_str(o, "\"");
    for (struct escaped e; n; s += e.taken, n -= e.taken) {
        e = escape_json(s, n);
        rt_out_add(o, escaped_text(&e), e.n);
    }
    rt_out_str(o, "\"");
}

void rt_out_number(struct rt_out *o, double x)
{
    if (x != x || x > 1e300 || x < -1e300)
        rt_out_str(o, "null");
    else if (x < 1e15 && x > -1e15 && x == (double)(int64_t)x)
        rt_out_printf(o, "%lld", (long long)x);
    else
        rt_out_printf(o, "%.10g", x);
}

void rt_out_csv(struct rt_out *o, const char *s)
{
    size_t n = strlen(s);
    const char *quote = escape_csv_needs_quotes(s) ? "\"" : "";

    rt_out_str(o, quote);
    rt_out_str(o, escape_csv_start(s));
    for (struct escaped e; n; s += e.taken, n -= e.taken) {
        e = escape_csv(s, n);
        rt_out_add(o, escaped_text(&e), e.n);
    }
    rt_out_str(o, quote);
}

int rt_out_open(struct rt_out *o, const char *path, mode_t mode)
{
    o->is_open = save_open(&o->save, path, mode) == 0;
    return o->is_open ? 0 : FATHOM_E_SYSTEM;
}

int rt_out_save(struct rt_out *o, bool good)
{
    bool written;

    rt_out_clean(o);
    written = good && !o->failed && save_write(o->save.fd, o->data, o->n) == 0;
    o->is_open = false;
    if (save_close(&o->save, written) < 0)
        return FATHOM_E_SYSTEM;
    if (written)
        return 0;
    return good && !o->failed ? FATHOM_E_SYSTEM : FATHOM_E_MEMORY;
}
