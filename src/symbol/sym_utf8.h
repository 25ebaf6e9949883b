/* sym_utf8.h - text of names: code points in, and nothing but printable UTF-8 out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_UTF8_H
#define FATHOM_SYMBOL_SYM_UTF8_H

#include <stdbool.h>

#include "base/buf.h"

/* Append code point X; false (nothing added) when it is not one or is a control. */
bool sym_utf8_add(struct buf *b, uint32_t x);
/* Whether S is valid UTF-8 without control characters. */
bool sym_utf8_is_clean(const char *s, size_t n);
/* S with every other byte replaced by '?', added to B. */
void sym_utf8_add_clean(struct buf *b, const char *s, size_t n);

#endif
