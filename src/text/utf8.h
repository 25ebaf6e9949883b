/* utf8.h - the only UTF-8 coder: decode, encode, validate and clean untrusted text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_UTF8_H
#define FATHOM_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Length of the UTF-8 sequence at S (N > 0 bytes left), or 0 when it is malformed. */
size_t utf8_length(const unsigned char *s, size_t n);
/* The same, and its code point in *CODE (set to 0 when malformed). */
size_t utf8_decode(const unsigned char *s, size_t n, uint32_t *code);
/* Append CODE, which must be at most 0x10ffff. */
void utf8_add(struct buf *out, uint32_t code);
/* Whether CODE is a code point (no surrogate) and not a control character. */
bool utf8_is_printable(uint32_t code);

bool utf8_is_valid(const char *s, size_t n);
/* Append S with U+FFFD in place of each byte that is not part of UTF-8. */
void utf8_repair(struct buf *out, const char *s, size_t n);

/* Whether S is valid UTF-8 without control characters. */
bool utf8_is_clean(const char *s, size_t n);
/* Append S with '?' in place of every malformed byte and every byte of a control character. */
void utf8_add_clean(struct buf *out, const char *s, size_t n);

#endif
