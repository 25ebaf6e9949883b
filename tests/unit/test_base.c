/* test_base.c - err, mem, buf, cursor, hash.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
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
#include "base/sat.h"
#include "base/sort.h"

TEST(err_keeps_the_first_cause_and_adds_context)
{
    struct err e = { 0 };

    CHECK_EQ(err_set(&e, ERR_FORMAT, "bad %d", 1), -1);
    err_set(&e, ERR_LIMIT, "second");
    err_wrap(&e, "%s", "file");
    CHECK_EQ(e.code, ERR_FORMAT);
    CHECK_STR(e.msg, "file: bad 1");
}

TEST(err_hint_keeps_the_first)
{
    struct err e = { 0 };

    err_hint(&e, "try %s", "this");
    err_hint(&e, "or that");
    err_hint(NULL, "nobody reads this");
    CHECK_STR(e.hint, "try this");
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

TEST(cursor_reads_no_byte_past_the_end)
{
    struct cursor c = cursor_of("abc\0de", 6), sub;

    CHECK_STR(cur_cstr(&c), "abc");
    CHECK_EQ(cur_left(&c), 2);
    CHECK_STR(cur_cstr(&c), ""); /* no NUL remains */
    CHECK(c.failed && cur_left(&c) == 0);
    c = cursor_of("\x01\x02\x03", 3);
    sub = cur_sub(&c, 2);
    CHECK(cur_u16(&sub) == 0x0201 && !sub.failed && cur_left(&sub) == 0);
    CHECK_EQ(cur_u16(&c), 0); /* one byte is left, two are needed */
    CHECK(c.failed);
    c = cursor_of("\x01\x02", 2);
    sub = cur_sub(&c, 3);
    CHECK(sub.failed && c.failed);
}

TEST(cursor_refuses_numbers_of_more_than_64_bits)
{
    struct cursor most = cursor_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
    struct cursor more = cursor_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);

    CHECK(cur_uleb(&most) == UINT64_MAX && !most.failed);
    CHECK(cur_uleb(&more) == 0 && more.failed);
}

TEST(cursor_extends_the_sign_of_sleb128)
{
    struct cursor c = cursor_of("\x7f\x3f\x40\x80\x7f\xff\x00\x80\x01", 9);

    CHECK_EQ(cur_sleb(&c), -1);
    CHECK_EQ(cur_sleb(&c), 63);
    CHECK_EQ(cur_sleb(&c), -64);
    CHECK_EQ(cur_sleb(&c), -128);
    CHECK_EQ(cur_sleb(&c), 127);
    CHECK_EQ(cur_sleb(&c), 128);
    CHECK(!c.failed && cur_left(&c) == 0);
}

TEST(index_finds_every_id_again)
{
    struct index ix = { 0 };

    for (uint32_t id = 1; id <= 10000; id++) {
        index_add(&ix, hash_u64(id % 5000), id);
        CHECK(ix.n <= (ix.mask + 1) / 2);
    }
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

TEST(index_is_empty_after_its_release)
{
    struct index ix = { 0 };

    index_add(&ix, 7, 1);
    index_release(&ix);
    CHECK(!ix.slot && ix.n == 0);
    index_add(&ix, 8, 2);
    CHECK_EQ(ix.n, 1);
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

TEST(umap_counts_keys_and_clears_them)
{
    struct umap m = { 0 };
    uint32_t found = 0;

    for (uint32_t round = 0; round < 3; round++)
        for (uint64_t key = 0; key < 500; key++)
            umap_put(&m, key, round + 1);
    CHECK_EQ(m.n, 500);
    for (uint64_t key = 0; key < 500; key++)
        CHECK_EQ(umap_find(&m, key), 3);
    umap_clear(&m);
    for (uint64_t key = 0; key < 500; key++)
        found += umap_find(&m, key);
    CHECK_EQ(found + m.n, 0);
    umap_release(&m);
}

TEST(umap_clear_empties_the_last_slot)
{
    struct umap m = { 0 };
    uint64_t key = 0;

    for (umap_put(&m, key, 1); !m.slot[m.mask].value; umap_put(&m, ++key, 1))
        if (m.n == 20)
            umap_clear(&m);
    umap_clear(&m);
    CHECK_EQ(umap_find(&m, key), 0);
    CHECK_EQ(m.slot[m.mask].value, 0);
    umap_release(&m);
}

TEST(arena_blocks_do_not_overlap)
{
    struct arena a = { 0 };
    unsigned char *p[3000];

    for (size_t i = 0; i < ARRAY_LEN(p); i++) {
        p[i] = arena_alloc(&a, 1 + i % 100);
        CHECK_EQ((uintptr_t)p[i] % 16, 0);
        memset(p[i], (int)(i % 251), 1 + i % 100);
    }
    for (size_t i = 0; i < ARRAY_LEN(p); i++)
        for (size_t k = 0; k < 1 + i % 100; k++)
            CHECK_EQ(p[i][k], i % 251);
    arena_release(&a);
}

TEST(arena_starts_a_block_if_the_current_one_is_full)
{
    struct arena a = { 0 };
    char *first, *second;

    first = arena_alloc(&a, (1 << 16) - 16);
    second = arena_alloc(&a, 32); /* 16 bytes are left */
    CHECK(second < first || second >= first + (1 << 16));
    arena_release(&a);
}

TEST(vec_reserves_the_requested_capacity)
{
    VEC(uint32_t) v = { 0 };

    vec_push(&v, 1);
    CHECK_EQ(v.cap, 16);
    v.v = vec_grow_(v.v, &v.cap, 33, sizeof *v.v);
    CHECK_EQ(v.cap, 64);
    vec_release(&v);
}

TEST(map_reads_a_pipe_to_its_end)
{
    enum { MANY = 300000 };
    struct map m = { 0 };
    struct err e = { 0 };
    int ends[2];
    size_t wrong = 0;

    CHECK_EQ(pipe(ends), 0);
    if (fork() == 0) {
        close(ends[0]);
        for (int i = 0; i < MANY; i += 1000) {
            char part[1000];

            memset(part, 'a' + i / 1000 % 26, sizeof part);
            if (write(ends[1], part, sizeof part) != sizeof part)
                _exit(1);
        }
        _exit(0);
    }
    close(ends[1]);
    CHECK_EQ(map_fd(&m, ends[0], &e), 0);
    CHECK_EQ(m.size, MANY);
    for (size_t i = 0; i < m.size; i++)
        wrong += ((const char *)m.data)[i] != 'a' + (int)(i / 1000 % 26);
    CHECK_EQ(wrong, 0);
    map_close(&m);
    close(ends[0]);
}

TEST(map_refuses_a_directory)
{
    struct map m = { 0 };
    struct err e = { 0 };

    CHECK_EQ(map_open(&m, test_dir(), &e), -1);
    CHECK_EQ(e.code, ERR_FORMAT);
}

TEST(map_reads_short_texts_and_numbers)
{
    char text[8];

    CHECK_EQ(map_read_text(test_file("12\n\n", 4), text, sizeof text), 2);
    CHECK_STR(text, "12");
    CHECK_EQ(map_read_text(test_file("123456789", 9), text, sizeof text), 7);
    CHECK_STR(text, "1234567");
    CHECK_EQ(map_read_text("/nonexistent", text, sizeof text), -1);
    CHECK_STR(text, "");
    CHECK_EQ(map_read_int(test_file("-42\n", 4), 7), -42);
    CHECK_EQ(map_read_int(test_file("max\n", 4), 7), 7);
    CHECK_EQ(map_read_int("/nonexistent", 7), 7);
}

struct pair {
    uint32_t key, serial;
    char rest[5]; /* a size that is no power of two */
};

static int by_key(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    return x->key < y->key ? -1 : x->key > y->key;
}

TEST(sort_stable_keeps_equal_items_in_order)
{
    enum { MOST = 70 };
    struct pair v[MOST];
    uint32_t dice = 1;

    for (uint32_t n = 0; n <= MOST; n++) {
        for (uint32_t i = 0; i < n; i++) {
            dice = dice * 1664525 + 1013904223;
            v[i] = (struct pair){ dice >> 29, i, { 0 } };
        }
        sort_stable(v, n, sizeof *v, by_key);
        for (uint32_t i = 1; i < n; i++)
            CHECK(v[i - 1].key < v[i].key ||
                  (v[i - 1].key == v[i].key && v[i - 1].serial < v[i].serial));
    }
    sort_stable(NULL, 0, sizeof *v, by_key);
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

/* Of N hashes, how many have a place of their own in a table of 2^24 slots. */
static uint32_t n_places(const uint64_t *hash, uint32_t n)
{
    unsigned char *seen = mem_zalloc(1 << 24);
    uint32_t places = 0;

    for (uint32_t i = 0; i < n; i++) {
        unsigned char *place = &seen[index_tag_(hash[i]) & 0xffffff];

        places += !*place;
        *place = 1;
    }
    free(seen);
    return places;
}

enum { CRAFTED = 1 << 15 };

static void use_this_key(void)
{
    static const uint64_t key[4] = { 0x1c7e92fd3a50b864, 0x5b0d27e9c8416fa3, 0xe3946a0b7d21f58c,
                                     0x80f5cb164e97d32a };

    CHECK(hash_key[0] && hash_key[1] & 1 && hash_key[2] && hash_key[3]); /* the random key */
    memcpy(hash_key, key, sizeof key);
}

/* Keys as someone would choose them who knows the fixed functions. */
TEST(keys_that_collide_under_a_fixed_hash_function_are_spread)
{
    static uint64_t bytes[CRAFTED], pairs[CRAFTED], words[CRAFTED];

    use_this_key();
    for (uint64_t i = 0; i < CRAFTED; i++) {
        const uint64_t odd = 0xd6e8feb86659fd93u;
        uint64_t text[2] = { i, (16 * 0x9e3779b97f4a7c15u ^ i) * odd };
        uint64_t word = i << 40, inverse = odd;

        text[1] ^= text[1] >> 29;
        CHECK_EQ(hash_fixed_bytes(text, 16), 0);
        bytes[i] = hash_bytes(text, sizeof text);
        CHECK_EQ(hash_fixed_pair(i, -i * 0x9e3779b97f4a7c15u), 0);
        pairs[i] = hash_pair(i, -i * 0x9e3779b97f4a7c15u);
        for (int k = 0; k < 5; k++) /* the inverse modulo 2^64 */
            inverse *= 2 - odd * inverse;
        for (int k = 0; k < 2; k++) {
            word ^= word >> 32;
            word *= inverse;
        }
        word ^= word >> 32;
        CHECK_EQ(hash_fixed_u64(word), i << 40);
        words[i] = hash_u64(word);
    }
    CHECK(n_places(bytes, CRAFTED) > CRAFTED * 0.99);
    CHECK(n_places(pairs, CRAFTED) > CRAFTED * 0.99);
    CHECK(n_places(words, CRAFTED) > CRAFTED * 0.99);
}

/* Multiples of a power of two, small numbers, and changes of the highest bits. */
TEST(hashes_of_regular_keys_are_spread)
{
    static uint64_t bytes[CRAFTED], pairs[CRAFTED], words[CRAFTED];

    use_this_key();
    for (unsigned shift = 0; shift <= 48; shift += 4) {
        for (uint64_t i = 0; i < CRAFTED; i++) {
            uint64_t key[3] = { 0, i << shift, 7 };

            bytes[i] = hash_bytes(key, i % 2 ? 16 : 24);
            pairs[i] = i % 2 ? hash_pair(i << shift, 1) : hash_pair(1, i << shift);
            words[i] = hash_u64(i << shift);
        }
        CHECK(n_places(bytes, CRAFTED) > CRAFTED * 0.99);
        CHECK(n_places(pairs, CRAFTED) > CRAFTED * 0.99);
        CHECK(n_places(words, CRAFTED) > CRAFTED * 0.99);
    }
}

TEST(clearing_a_map_again_costs_no_more_than_its_keys)
{
    struct umap m = { 0 };

    for (uint32_t i = 1; i < 100000; i++)
        umap_put(&m, i, i);
    umap_clear(&m);
    CHECK_EQ(umap_find(&m, 99999), 0);
    umap_put(&m, 5, 6);
    umap_clear(&m);
    CHECK_EQ(umap_find(&m, 5), 0);
    CHECK(m.mask < 1000);
    umap_put(&m, 5, 7);
    CHECK_EQ(umap_find(&m, 5), 7);
    umap_clear(&m);
    CHECK(m.slot != NULL); /* a small table is kept */
    umap_release(&m);
}

/* Not a constant, which the compiler would convert itself. */
static double number(const char *text)
{
    return strtod(text, NULL);
}

TEST(sat_keeps_conversions_within_the_integer)
{
    CHECK_EQ(sat_of(number("-2.7")), -2);
    CHECK_EQ(sat_of(number("0x1p62")), (int64_t)1 << 62);
    CHECK_EQ(sat_of(number("0x1p63")), INT64_MAX);
    CHECK_EQ(sat_of(number("-0x1p63")), INT64_MIN);
    CHECK_EQ(sat_of(number("-0x1p64")), INT64_MIN);
    CHECK_EQ(sat_of(number("inf")), INT64_MAX);
    CHECK_EQ(sat_of(number("nan")), 0);
    CHECK(sat_u64_of(number("0x1p63")) == (uint64_t)1 << 63);
    CHECK(sat_u64_of(number("0x1p64")) == UINT64_MAX);
    CHECK_EQ(sat_u64_of(number("-1")), 0);
    CHECK_EQ(sat_u64_of(number("nan")), 0);
}

TEST(sat_keeps_sums_and_unsigned_numbers_within_the_integer)
{
    CHECK_EQ(sat_add(INT64_MAX, 1), INT64_MAX);
    CHECK_EQ(sat_add(INT64_MIN, -1), INT64_MIN);
    CHECK_EQ(sat_add(INT64_MAX, INT64_MIN), -1);
    CHECK_EQ(sat_of_u64(UINT64_MAX), INT64_MAX);
    CHECK_EQ(sat_of_u64(INT64_MAX), INT64_MAX);
}
