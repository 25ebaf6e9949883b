/* utf8.h - is this text what it says it is?  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_UTF8_H
#define FATHOM_TEXT_UTF8_H

#include <stddef.h>

/* Length of the UTF-8 sequence at S (N > 0 bytes left), or 0 when it is not one. */
size_t utf8_length(const unsigned char *s, size_t n);

#endif
