/* test_formats.c - opening whatever is a profile.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <zlib.h>
#include <zstd.h>

#include "formats/formats.h"
#include "store/store.h"
#include "store_sample.h"

static struct buf sample_file(void)
{
    struct out o = out_memory();
    struct store_writer *w = store_writer_to(&o);
    struct sink *s = store_writer_sink(w);
    struct err e = { 0 };

    sample_definitions(s);
    sample_events(s, 40);
    sample_rest(s);
    CHECK_EQ(s->end(s, &e), 0);
    CHECK_EQ(store_writer_bytes(w), o.buf.n);
    store_writer_free(w);
    return o.buf;
}

static void check_opens(const void *data, size_t size, const char *damage)
{
    struct err e = { 0 };
    struct profile *p = format_open(test_file(data, size), &e);

    if (!p)
        test_fail(__FILE__, __LINE__, "%s", e.msg);
    CHECK_EQ(p->sample.n, 41);
    CHECK(damage ? strstr(p->damage, damage) != NULL : p->damage[0] == 0);
    profile_free(p);
}

static void check_refused(const void *data, size_t size, const char *why)
{
    struct err e = { 0 };

    CHECK(format_open(test_file(data, size), &e) == NULL);
    if (!strstr(e.msg, why))
        test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", e.msg, why);
}

TEST(formats_open_own_file_whole_or_cut)
{
    struct buf file = sample_file();

    check_opens(file.data, file.n, NULL);
    check_opens(file.data, file.n - 1, "is cut");
    buf_release(&file);
}

static size_t gzip(const struct buf *b, unsigned char *to, size_t cap)
{
    z_stream z = { 0 };

    CHECK_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = b->data;
    z.avail_in = (uInt)b->n;
    z.next_out = to;
    z.avail_out = (uInt)cap;
    CHECK_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

TEST(formats_open_through_gzip_and_zstd)
{
    struct buf file = sample_file();
    unsigned char packed[65536];
    size_t n = gzip(&file, packed, sizeof packed);

    check_opens(packed, n, NULL);
    check_opens(packed, n - 9, "is cut");
    memcpy(packed + 40, "damage", 6);
    check_refused(packed, n, "gzip");
    n = ZSTD_compress(packed, sizeof packed, file.data, file.n, 3);
    check_opens(packed, n, NULL);
    memset(packed + 8, 0xff, 9);
    check_refused(packed, n, "zstd");
    buf_release(&file);
}

TEST(formats_refuse_a_file_that_unpacks_without_bound)
{
    struct buf zeros = { 0 };
    size_t n = 100u << 20, cap = ZSTD_compressBound(n);
    unsigned char *packed = malloc(cap);

    buf_reserve(&zeros, n);
    memset(zeros.data, 0, n);
    n = ZSTD_compress(packed, cap, zeros.data, n, 1);
    check_refused(packed, n, "grow");
    free(packed);
    buf_release(&zeros);
}

TEST(formats_say_why_a_file_is_refused)
{
    check_refused("", 0, "empty");
    check_refused("\1\2\3\4 what is this", 17, "no profile");
    check_refused("FATHOM\x07\n", 8, "version 7");
}

TEST(formats_fathom_writes_what_it_reads)
{
    struct buf file = sample_file();
    struct err e = { 0 };
    struct profile *p = format_open(test_file(file.data, file.n), &e);
    struct out o = out_memory();

    CHECK(p);
    CHECK_EQ(format_find("fathom")->write(p, &(struct export_options){ 0 }, &o, &e), 0);
    check_opens(o.buf.data, o.buf.n, NULL);
    profile_free(p);
    out_close(&o, NULL);
    buf_release(&file);
}
