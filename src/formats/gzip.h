/* gzip.h - compress a buffer.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_GZIP_H
#define FATHOM_FORMATS_GZIP_H

#include <stddef.h>

#include "text/out.h"

/* Append DATA to O as one gzip member. */
void gzip_write(struct out *o, const void *data, size_t n);

#endif
