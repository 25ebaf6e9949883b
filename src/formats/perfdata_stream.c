/* perfdata_stream.c - the sequence of records of a perf.data.  Compressed records contain one zstd
 * stream that may split a record anywhere.  It is decompressed in small steps, so that memory use
 * does not grow with the file.  SPDX-License-Identifier: Apache-2.0 */
#include <zstd.h>

#include "formats/perfdata.h"

enum { UNPACK_STEP = 1 << 20 };

/* A copy of the same deep stack in each sample compresses to a few hundredths or thousandths. */
enum { MAX_RATIO = 2000 };
static const uint64_t always_fine = 256u << 20, never_fine = (uint64_t)256 << 30;

void perfdata_stream_init(struct perf_stream *s, struct cursor data)
{
    memset(s, 0, sizeof *s);
    s->raw = data;
    s->packed = (struct cursor){ data.p, data.p, false };
}

void perfdata_stream_release(struct perf_stream *s)
{
    ZSTD_freeDStream(s->zstd);
    buf_release(&s->plain);
}

static int check_growth(const struct perf_stream *s, struct err *e)
{
    if (s->n_plain <= always_fine ||
        (s->n_plain <= never_fine && s->n_plain / MAX_RATIO <= s->n_packed))
        return 0;
    return err_set(e, ERR_LIMIT, "%llu bytes of compressed records expand to more than %llu",
                   (unsigned long long)s->n_packed, (unsigned long long)s->n_plain);
}

static int unpack(struct perf_stream *s, struct err *e)
{
    ZSTD_inBuffer in = { s->packed.p, cur_left(&s->packed), 0 };
    ZSTD_outBuffer out;
    size_t rc;

    /* Move the incomplete last record to the front. */
    buf_reserve(&s->plain, UNPACK_STEP);
    memmove(s->plain.data, s->plain.data + s->plain_at, s->plain.n - s->plain_at);
    s->plain.n -= s->plain_at;
    s->plain_at = 0;
    out = (ZSTD_outBuffer){ s->plain.data + s->plain.n, UNPACK_STEP, 0 };
    if (!s->zstd)
        s->zstd = ZSTD_createDStream();
    rc = ZSTD_decompressStream(s->zstd, &out, &in);
    if (ZSTD_isError(rc))
        return err_set(e, ERR_FORMAT, "cannot decompress a record (%s)",
                       ZSTD_getErrorName(rc));
    s->plain.n += out.pos;
    s->n_plain += out.pos;
    s->n_packed += in.pos;
    cur_skip(&s->packed, in.pos);
    if (!out.pos && !in.pos)
        s->packed.p = s->packed.end;
    return check_growth(s, e);
}

static bool take_plain(struct perf_stream *s, struct perf_raw *r)
{
    struct cursor c = cursor_of(s->plain.data, s->plain.n);
    size_t left;

    cur_skip(&c, s->plain_at);
    left = cur_left(&c);
    if (!left || !perf_decode_header(&c, r))
        return false;
    s->plain_at += left - cur_left(&c);
    r->passing = true;
    return true;
}

/* Records of two types are followed by a payload, whose size they contain. */
static void skip_payload(struct perf_stream *s, const struct perf_raw *r)
{
    struct cursor c = r->body;
    uint64_t n = 0;

    if (r->type == PERFDATA_TRACING_DATA)
        n = ((uint64_t)cur_u32(&c) + 7) & ~(uint64_t)7;
    else if (r->type == PERFDATA_AUXTRACE)
        n = cur_u64(&c);
    if (n > cur_left(&s->raw))
        s->cut = true;
    if (n)
        cur_skip(&s->raw, n);
}

static bool is_packed(struct perf_stream *s, const struct perf_raw *r)
{
    struct cursor c = r->body;

    if (r->type == PERFDATA_COMPRESSED2) {
        uint64_t n = cur_u64(&c);

        s->packed = cur_sub(&c, n < cur_left(&c) ? n : cur_left(&c));
        return true;
    }
    s->packed = c;
    return r->type == PERFDATA_COMPRESSED;
}

int perfdata_stream_next(struct perf_stream *s, struct perf_raw *r, struct err *e)
{
    for (;;) {
        if (take_plain(s, r))
            return 1;
        if (cur_left(&s->packed)) {
            if (unpack(s, e) < 0)
                return -1;
            continue;
        }
        r->passing = false;
        if (!perf_decode_header(&s->raw, r)) {
            s->cut |= cur_left(&s->raw) > 0 || s->plain.n > s->plain_at;
            return 0;
        }
        if (is_packed(s, r))
            continue;
        s->packed.p = s->packed.end;
        skip_payload(s, r);
        return 1;
    }
}
