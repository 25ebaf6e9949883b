/* gzip.c - see gzip.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/gzip.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

enum { WINDOW = 15 + 16, /* 16: a gzip header */ MEMORY = 8 };

void gzip_write(struct out *o, const void *data, size_t n)
{
    unsigned char some[1 << 16];
    z_stream z;
    int rc;

    memset(&z, 0, sizeof z);
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY))
        return;
    z.next_in = (unsigned char *)data;
    do {
        if (!z.avail_in) {
            z.avail_in = n < UINT_MAX ? (unsigned)n : UINT_MAX;
            n -= z.avail_in;
        }
        z.next_out = some;
        z.avail_out = sizeof some;
        rc = deflate(&z, n || z.avail_in ? Z_NO_FLUSH : Z_FINISH);
        out_add(o, some, sizeof some - z.avail_out);
    } while (rc == Z_OK || rc == Z_BUF_ERROR);
    deflateEnd(&z);
}
