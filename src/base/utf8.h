/* utf8.h - the only UTF-8 coder.  No allocation except in utf8_add: safe in target code.
 * buf_add_repaired and buf_add_clean (base/buf.h) copy untrusted text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_UTF8_H
#define FATHOM_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Length of the UTF-8 sequence at S (N > 0 bytes left), or 0 when it is malformed. */
size_t utf8_length(const unsigned char *s, size_t n);
/* The same, and its code point in *CODE (set to 0 when malformed). */
size_t utf8_decode(const unsigned char *s, size_t n, uint32_t *code);
/* The same, but 0 for characters that are not printable too. */
size_t utf8_printable_length(const char *s, size_t n);
/* Encode CODE, at most 0x10ffff; returns the number of bytes. */
size_t utf8_encode(unsigned char to[4], uint32_t code);

/* Whether CODE is a code point (no surrogate) and neither a control character nor one that ends a
 * line or changes the direction of the text around it. */
bool utf8_is_printable(uint32_t code);
bool utf8_is_valid(const char *s, size_t n);
/* Whether S is valid UTF-8 and printable. */
bool utf8_is_clean(const char *s, size_t n);
/* Replace every byte that is not part of a printable character by '?', except line ends if LINES.
 * Returns the number of bytes that are clean now: a character that is cut at the end is left. */
size_t utf8_clean(char *s, size_t n, bool lines);
/* The same for the whole of one line. */
void utf8_clean_line(char *s, size_t n);

static inline void utf8_add(struct buf *out, uint32_t code)
{
    unsigned char bytes[4];

    buf_add(out, bytes, utf8_encode(bytes, code));
}

#endif
