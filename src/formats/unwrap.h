/* unwrap.h - undo gzip and zstd around a file.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_UNWRAP_H
#define FATHOM_FORMATS_UNWRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

bool unwrap_needed(const unsigned char *data, size_t size);
/* All of DATA decompressed into OUT; -1 when it is damaged or grows beyond reason.  What was
 * decompressed before a cut is kept: *CUT says that the wrapping is not whole. */
int unwrap(const unsigned char *data, size_t size, struct buf *out, bool *cut, struct err *e);

#endif
