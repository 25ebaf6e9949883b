/* utf8.h - is this text what it says it is?  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_UTF8_H
#define FATHOM_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Length of the UTF-8 sequence at S (N > 0 bytes left), or 0 when it is not one. */
size_t utf8_length(const unsigned char *s, size_t n);
bool utf8_is_valid(const char *s, size_t n);
/* Append S with U+FFFD for each byte that is not part of UTF-8. */
void utf8_repair(struct buf *out, const char *s, size_t n);

#endif
