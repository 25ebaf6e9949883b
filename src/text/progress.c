/* progress.c - see progress.h.  SPDX-License-Identifier: Apache-2.0 */
#include "text/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "text/table.h"
#include "text/term.h"

enum { EVERY_NS = 100 * 1000 * 1000 };

static void put(int fd, const void *p, size_t n)
{
    ssize_t done = write(fd, p, n); /* only decoration: ignore failures */

    (void)done;
}

void progress_init(struct progress *p, int fd)
{
    *p = (struct progress){ .fd = fd, .on = term_of(fd).tty };
}

void progress_show(struct progress *p, const char *fmt, ...)
{
    char text[512];
    struct buf line = { 0 };
    uint64_t now;
    va_list ap;

    if (!p->on || (now = clock_mono_ns()) - p->last_ns < EVERY_NS)
        return;
    p->last_ns = now;
    p->shown = true;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    term_clean(text, strlen(text));
    buf_str(&line, "\r");
    table_cut(&line, text, strlen(text), (size_t)term_of(p->fd).width - 1);
    buf_str(&line, "\033[K");
    put(p->fd, line.data, line.n);
    buf_release(&line);
}

void progress_clear(struct progress *p)
{
    if (p->shown)
        put(p->fd, "\r\033[K", 4);
    p->shown = false;
}
