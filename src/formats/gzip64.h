/* gzip64.h - write bytes as base64-encoded gzip, for data inside a page; streaming.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_GZIP64_H
#define FATHOM_FORMATS_GZIP64_H

#include <zlib.h>

#include "text/out.h"

struct gzip64 {
    struct out *out;
    z_stream z;
    unsigned char chunk[3 << 14]; /* whole groups of three, so that only the end is padded */
};

void gzip64_init(struct gzip64 *g, struct out *out);
/* Chooses the compression by trying a piece of DATA, so call it once per kind of data. */
void gzip64_add(struct gzip64 *g, const void *data, size_t n);
void gzip64_end(struct gzip64 *g);

#endif
