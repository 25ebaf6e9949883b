/* escape.h - text as JSON and CSV want it, piece by piece: no allocation, fit for target code.
 *
 *     for (struct escaped e; n; s += e.taken, n -= e.taken) {
 *         e = escape_json(s, n);
 *         out_add(o, escaped_text(&e), e.n);
 *     }
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_ESCAPE_H
#define FATHOM_TEXT_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

struct escaped { /* what stands for the first TAKEN bytes of the text */
    const char *plain; /* in the text itself, or NULL: in own */
    char own[8];
    size_t n, taken;
};

static inline const char *escaped_text(const struct escaped *e)
{
    return e->plain ? e->plain : e->own;
}

/* Within the quotes of a JSON string; N > 0.  What is not UTF-8 becomes U+FFFD. */
struct escaped escape_json(const char *s, size_t n);
/* Within the quotes of a CSV cell; N > 0.  Other cells are written as they are. */
struct escaped escape_csv(const char *s, size_t n);
bool escape_csv_needs_quotes(const char *s);

#endif
