/* notice.c - see notice.h.  SPDX-License-Identifier: Apache-2.0 */
#include "text/notice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/save.h"
#include "text/term.h"

void notice(const char *fmt, ...)
{
    char line[8192]; /* on the stack: the message may be that no memory is left */
    va_list ap;
    size_t n;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line - 1, fmt, ap);
    va_end(ap);
    n = strlen(line);
    term_clean(line, n);
    line[n] = '\n';
    save_write(STDERR_FILENO, line, n + 1);
}
