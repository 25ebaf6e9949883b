/* gzip64.c - see gzip64.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/gzip64.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
    GZIP = 15 + 16,      /* zlib's windowBits for the gzip format */
    TRIAL = 1 << 15,     /* bytes compressed to choose the level and strategy */
    LARGE = 4 << 20,     /* above this size, prefer speed to the last percent */
};

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_base64(struct out *o, const unsigned char *p, size_t n)
{
    char text[4096];
    size_t used = 0;

    for (; n >= 3; p += 3, n -= 3) {
        unsigned x = (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];

        text[used++] = digits[x >> 18];
        text[used++] = digits[x >> 12 & 63];
        text[used++] = digits[x >> 6 & 63];
        text[used++] = digits[x & 63];
        if (used == sizeof text) {
            out_add(o, text, used);
            used = 0;
        }
    }
    if (n) {
        unsigned x = (unsigned)p[0] << 16 | (n > 1 ? (unsigned)p[1] << 8 : 0);

        text[used++] = digits[x >> 18];
        text[used++] = digits[x >> 12 & 63];
        text[used++] = n > 1 ? digits[x >> 6 & 63] : '=';
        text[used++] = '=';
    }
    out_add(o, text, used);
}

static void start_chunk(struct gzip64 *g)
{
    g->z.next_out = g->chunk;
    g->z.avail_out = sizeof g->chunk;
}

static void full_chunk(struct gzip64 *g)
{
    if (g->z.avail_out)
        return;
    put_base64(g->out, g->chunk, sizeof g->chunk);
    start_chunk(g);
}

void gzip64_init(struct gzip64 *g, struct out *out)
{
    memset(&g->z, 0, sizeof g->z);
    g->out = out;
    start_chunk(g);
    if (deflateInit2(&g->z, 6, Z_DEFLATED, GZIP, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        mem_failed(sizeof g->z); /* the only cause */
}

struct way {
    int level, strategy;
};

static size_t try_way(struct way w, const unsigned char *data, size_t n)
{
    unsigned char *room = mem_alloc(n + 1024);
    z_stream z = { .next_in = (unsigned char *)data, .avail_in = (unsigned)n, .next_out = room,
                   .avail_out = (unsigned)n + 1024 };
    size_t got = SIZE_MAX;

    if (deflateInit2(&z, w.level, Z_DEFLATED, -15, 9, w.strategy) == Z_OK) {
        if (deflate(&z, Z_FINISH) == Z_STREAM_END)
            got = z.total_out;
        deflateEnd(&z);
    }
    free(room);
    return got;
}

/* The fast strategies take a tenth of the time; use one if its output is little larger. */
static struct way choose_way(const unsigned char *data, size_t n)
{
    static const struct way fast[] = { { 1, Z_HUFFMAN_ONLY }, { 1, Z_RLE } };
    struct way best = { n > LARGE ? 3 : 6, Z_DEFAULT_STRATEGY };
    size_t trial = n < TRIAL ? n : TRIAL, size;

    if (n <= TRIAL)
        return best;
    data += (n - trial) / 2;
    size = try_way(best, data, trial);
    size += size / 12;
    for (size_t i = 0; i < ARRAY_LEN(fast); i++) {
        size_t got = try_way(fast[i], data, trial);

        if (got < size) {
            size = got;
            best = fast[i];
        }
    }
    return best;
}

void gzip64_add(struct gzip64 *g, const void *data, size_t n)
{
    struct way w = choose_way(data, n);
    const unsigned char *p = data;

    while (deflateParams(&g->z, w.level, w.strategy) == Z_BUF_ERROR)
        full_chunk(g);
    full_chunk(g);
    while (n) {
        size_t step = n < 1u << 30 ? n : 1u << 30;

        g->z.next_in = (unsigned char *)p;
        g->z.avail_in = (unsigned)step;
        while (g->z.avail_in) {
            deflate(&g->z, Z_NO_FLUSH);
            full_chunk(g);
        }
        p += step;
        n -= step;
    }
}

void gzip64_end(struct gzip64 *g)
{
    while (deflate(&g->z, Z_FINISH) != Z_STREAM_END)
        full_chunk(g);
    put_base64(g->out, g->chunk, sizeof g->chunk - g->z.avail_out);
    deflateEnd(&g->z);
}
