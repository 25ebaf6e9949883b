/* escape.h - escape text for JSON and CSV, piece by piece.  No allocation: safe in target code.
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

struct escaped { /* replaces the first TAKEN bytes of the text */
    const char *plain; /* in the text itself, or NULL: in own */
    char own[8];
    size_t n, taken;
};

static inline const char *escaped_text(const struct escaped *e)
{
    return e->plain ? e->plain : e->own;
}

/* Within the quotes of a JSON string; N > 0.  Only printable characters (base/utf8.h) stay as they
 * are.  Bytes that are not UTF-8 become U+FFFD. */
struct escaped escape_json(const char *s, size_t n);
/* Within a CSV cell; N > 0.  CSV can quote line ends, but has no escapes: what else is not
 * printable becomes '?'. */
struct escaped escape_csv(const char *s, size_t n);
bool escape_csv_needs_quotes(const char *s);
/* What to write before the text of a cell: "'" if a spreadsheet would take it for a formula.  Text
 * that is a number, such as "-12.5", stays one. */
const char *escape_csv_start(const char *s);

#endif
