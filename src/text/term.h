/* term.h - what a descriptor can display.  Use colors and widths only on a terminal, so that a pipe
 * always gets the same plain text.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_TERM_H
#define FATHOM_TEXT_TERM_H

#include <stdbool.h>
#include <stddef.h>

#include "text/out.h"

enum term_style { TERM_PLAIN, TERM_BOLD, TERM_DIM, TERM_HOT, TERM_WARM, TERM_GOOD };

struct term {
    bool tty;
    bool color; /* a terminal, NO_COLOR unset, TERM not "dumb" */
    int width;   /* display columns; 0 = no limit (not a terminal) */
};

struct term term_of(int fd);
void term_begin(const struct term *t, struct out *o, enum term_style s); /* nothing for plain */
void term_end(const struct term *t, struct out *o, enum term_style s);

/* Display columns of N bytes of UTF-8; a byte that is not UTF-8 counts as one. */
size_t term_columns(const char *s, size_t n);
/* Bytes of the character at S (at most N), at least 1; *COLUMNS is its display width. */
size_t term_char(const char *s, size_t n, int *columns);
/* Sanitize untrusted text of one line: what is not printable becomes '?'. */
void term_clean(char *s, size_t n);

#endif
