/* gzip.h - compress a finished run of bytes.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_GZIP_H
#define FATHOM_FORMATS_GZIP_H

#include <stddef.h>

#include "text/out.h"

/* DATA as one gzip member, appended to O. */
void gzip_write(struct out *o, const void *data, size_t n);

#endif
