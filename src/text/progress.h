/* progress.h - a progress line, rewritten in place on a terminal, not shown elsewhere.  Start with
 * progress_init.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_PROGRESS_H
#define FATHOM_TEXT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    int fd;
    bool on, shown;
    uint64_t last_ns;
};

void progress_init(struct progress *p, int fd);
/* Show the line, at most ten times a second; further calls return before formatting. */
void progress_show(struct progress *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void progress_clear(struct progress *p); /* before anything else is printed */

#endif
