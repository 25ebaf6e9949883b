/* unwrap.c - see unwrap.h.  The decompressed size is unknown in advance, so the ratio is bounded by
 * that of real profiles: a file of zeros is not a profile.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/unwrap.h"

#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "profile/limits.h"

enum { STEP = 1 << 16, MAX_RATIO = 400, ALWAYS_FINE = 64 << 20 };

static bool is_gzip(const unsigned char *p, size_t n)
{
    return n >= 18 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8;
}

static bool is_zstd(const unsigned char *p, size_t n)
{
    return n >= 9 && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd;
}

bool unwrap_needed(const unsigned char *data, size_t size)
{
    return is_gzip(data, size) || is_zstd(data, size);
}

uint64_t unwrap_limit(uint64_t size)
{
    uint64_t most = MAX_RATIO * size;

    most = most < size + LIMIT_UNPACKED ? most : size + LIMIT_UNPACKED;
    return most > ALWAYS_FINE ? most : ALWAYS_FINE;
}

static int check_growth(size_t size, size_t unpacked, struct err *e)
{
    if (unpacked <= unwrap_limit(size))
        return 0;
    return err_set(e, ERR_LIMIT, "%zu compressed bytes expand to more than %zu",
                   size, unpacked);
}

/* One or more concatenated gzip members, as gzip accepts them. */
static int unwrap_gzip(const unsigned char *data, size_t size, struct buf *out, bool *cut,
                       struct err *e)
{
    z_stream z = { 0 };
    size_t left = size;
    int rc = Z_OK;

    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return err_set(e, ERR_LIMIT, "out of memory while decompressing");
    z.next_in = (Bytef *)(uintptr_t)data;
    while (rc == Z_OK && check_growth(size, out->n, e) == 0) {
        uInt give = left < UINT32_MAX / 2 ? (uInt)left : UINT32_MAX / 2;

        buf_reserve(out, STEP);
        z.avail_in = give;
        z.next_out = out->data + out->n;
        z.avail_out = STEP;
        rc = inflate(&z, Z_NO_FLUSH);
        out->n += STEP - z.avail_out;
        left -= give - z.avail_in;
        if (rc == Z_STREAM_END && is_gzip(data + size - left, left))
            rc = inflateReset(&z);
    }
    inflateEnd(&z);
    *cut = rc == Z_BUF_ERROR;
    if (rc == Z_STREAM_END || rc == Z_BUF_ERROR)
        return 0;
    return err_set(e, ERR_FORMAT, "the gzip data is damaged");
}

static int unwrap_zstd(const unsigned char *data, size_t size, struct buf *out, bool *cut,
                       struct err *e)
{
    ZSTD_DCtx *ctx = ZSTD_createDCtx();
    ZSTD_inBuffer in = { data, size, 0 };
    size_t rc = 1;
    bool done = false;

    while (ctx && !done && !ZSTD_isError(rc) && check_growth(size, out->n, e) == 0) {
        ZSTD_outBuffer to;

        buf_reserve(out, STEP);
        to = (ZSTD_outBuffer){ out->data + out->n, STEP, 0 };
        rc = ZSTD_decompressStream(ctx, &to, &in);
        out->n += to.pos;
        done = in.pos == in.size && (rc == 0 || to.pos < to.size);
    }
    ZSTD_freeDCtx(ctx);
    *cut = rc != 0;
    if (done && !ZSTD_isError(rc))
        return 0;
    return err_set(e, ERR_FORMAT, "the zstd data is damaged");
}

int unwrap(const unsigned char *data, size_t size, struct buf *out, bool *cut, struct err *e)
{
    *cut = false;
    return is_gzip(data, size) ? unwrap_gzip(data, size, out, cut, e)
                               : unwrap_zstd(data, size, out, cut, e);
}
