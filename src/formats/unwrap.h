/* unwrap.h - decompress a gzip or zstd file.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_UNWRAP_H
#define FATHOM_FORMATS_UNWRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

bool unwrap_needed(const unsigned char *data, size_t size);
/* Bytes that SIZE compressed bytes may expand to. */
uint64_t unwrap_limit(uint64_t size);
/* Decompress DATA into OUT; -1 if it is damaged or expands too much.  For truncated data, keep what
 * was decompressed and set *CUT. */
int unwrap(const unsigned char *data, size_t size, struct buf *out, bool *cut, struct err *e);

#endif
