/* test_base.c - err, mem, buf, cursor, hash.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cache.h"
#include "base/cursor.h"
#include "base/digits.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

TEST(err_keeps_the_first_cause_and_adds_context)
{
    struct err e = { 0 };

    CHECK_EQ(err_set(&e, ERR_FORMAT, "bad %d", 1), -1);
    err_set(&e, ERR_LIMIT, "second");
    err_wrap(&e, "%s", "file");
    CHECK_EQ(e.code, ERR_FORMAT);
    CHECK_STR(e.msg, "file: bad 1");
}

TEST(cursor_reads_leb128_back)
{
    static const int64_t values[] = { 0, 1, -1, 63, 64, -64, 127, 128, INT64_MAX, INT64_MIN };
    struct buf b = { 0 };
    struct cursor c;

    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        buf_zig(&b, values[i]);
        buf_uleb(&b, (uint64_t)values[i]);
    }
    c = cursor_of(b.data, b.n);
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        CHECK_EQ(cur_zig(&c), values[i]);
        CHECK_EQ(cur_uleb(&c), values[i]);
    }
    CHECK(!c.failed && cur_left(&c) == 0);
    CHECK_EQ(cur_u32(&c), 0);
    CHECK(c.failed);
    buf_release(&b);
}

TEST(cursor_fails_on_an_endless_leb128)
{
    unsigned char bytes[32];
    struct cursor c = cursor_of(bytes, sizeof bytes);

    memset(bytes, 0xff, sizeof bytes);
    cur_uleb(&c);
    CHECK(c.failed);
}

TEST(index_finds_every_id_again)
{
    struct index ix = { 0 };

    for (uint32_t id = 1; id <= 10000; id++)
        index_add(&ix, hash_u64(id % 5000), id);
    for (uint32_t id = 1; id <= 10000; id++) {
        uint64_t h = hash_u64(id % 5000);
        uint32_t at = index_first(&ix, h), got;
        int seen = 0;

        while ((got = index_id(&ix, h, &at)))
            seen += got == id;
        CHECK_EQ(seen, 1);
    }
    index_release(&ix);
}

TEST(umap_replaces_and_finds)
{
    struct umap m = { 0 };

    CHECK_EQ(umap_find(&m, 7), 0);
    for (uint32_t i = 1; i < 3000; i++)
        umap_put(&m, i * 4096u, i);
    umap_put(&m, 4096, 77);
    CHECK_EQ(umap_find(&m, 4096), 77);
    CHECK_EQ(umap_find(&m, 2999u * 4096u), 2999);
    CHECK_EQ(umap_find(&m, 1), 0);
    umap_release(&m);
}

TEST(map_write_file_makes_folders)
{
    char path[200];
    struct err e = { 0 };
    struct map m = { 0 };

    snprintf(path, sizeof path, "%s/a/b/c", test_dir());
    CHECK_EQ(map_write_file(path, "text", 4, &e), 0);
    CHECK_EQ(map_open(&m, path, &e), 0);
    CHECK(m.size == 4 && memcmp(m.data, "text", 4) == 0);
    map_close(&m);
}

TEST(a_cache_loses_what_was_not_used_for_longest)
{
    char path[200], folder[200];
    struct timespec when[2] = { { 0 }, { 0 } };

    snprintf(folder, sizeof folder, "%s/kept", test_dir());
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        cache_store(path, "0123456789", 10);
        when[0].tv_sec = when[1].tv_sec = 1000 + (i * 7) % 4; /* 0, 3, 2, 1 */
        CHECK_EQ(utimensat(AT_FDCWD, path, when, 0), 0);
    }
    CHECK_EQ(cache_trim(folder, 40), 0);
    CHECK_EQ(cache_trim(folder, 25), 2);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        CHECK_EQ(access(path, F_OK) == 0, i == 1 || i == 2);
    }
    CHECK_EQ(cache_trim("/nonexistent", 0), 0);
}

TEST(digits_end_at_any_other_byte)
{
    const uint32_t value[] = { 0, 9, 90, 907, 9075, 90753, 907531, 9075310, 90753108 };
    unsigned n;

    for (unsigned digits = 0; digits <= 8; digits++)
        for (int c = 0; c < 256; c++) {
            char text[9] = "90753108";

            if (c >= '0' && c <= '9')
                continue;
            text[digits] = (char)c;
            CHECK_EQ(digits_of_8(text, &n), value[digits]);
            CHECK_EQ(n, digits);
        }
}

TEST(a_large_vec_keeps_its_items)
{
    VEC(uint64_t) v = { 0 };
    size_t wrong = 0;

    for (uint64_t i = 0; i < 3u << 20; i++)
        vec_push(&v, i);
    for (uint64_t i = 0; i < v.n; i++)
        wrong += v.v[i] != i;
    CHECK_EQ(wrong, 0);
    vec_release(&v);
}
