/* err.c - see err.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    va_list ap;

    if (!e || e->code)
        return -1;
    e->code = code;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    return -1;
}

int err_sys(struct err *e, const char *fmt, ...)
{
    int saved = errno;
    va_list ap;
    size_t n;

    if (!e || e->code)
        return -1;
    e->code = ERR_SYSTEM;
    e->sys = saved;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    n = strlen(e->msg);
    snprintf(e->msg + n, sizeof e->msg - n, ": %s", strerror(saved));
    return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    char old[sizeof e->msg];
    va_list ap;
    size_t n;

    if (!e)
        return -1;
    memcpy(old, e->msg, sizeof old);
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    n = strlen(e->msg);
    snprintf(e->msg + n, sizeof e->msg - n, ": %s", old);
    return -1;
}

void err_hint(struct err *e, const char *fmt, ...)
{
    va_list ap;

    if (!e || e->hint[0])
        return;
    va_start(ap, fmt);
    vsnprintf(e->hint, sizeof e->hint, fmt, ap);
    va_end(ap);
}
