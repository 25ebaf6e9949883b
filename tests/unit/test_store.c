/* test_store.c - files are read back as written; damage is reported and contained.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/map.h"
#include "profile/profile.h"
#include "store/store.h"
#include "store/store_chunk.h"
#include "store/store_dump.h"
#include "store_sample.h"

static int fresh_file(char *path, size_t size)
{
    int fd;

    snprintf(path, size, "%s/file.fathom", test_dir());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    return fd;
}

/* Write the sample profile to a file, with a flush between its parts. */
static struct buf sample_file(uint32_t n, bool finish)
{
    char path[300];
    int fd = fresh_file(path, sizeof path);
    struct out out = out_binary(fd);
    struct store_writer *w = store_writer_new(&out);
    struct sink *s = store_writer_sink(w);
    struct err e = { 0 };
    struct map m = { 0 };
    struct buf b = { 0 };

    sample_definitions(s);
    store_writer_flush(w);
    sample_events(s, n);
    store_writer_flush(w);
    sample_rest(s);
    if (finish)
        CHECK_EQ(sink_end(s, &e), 0);
    else
        store_writer_flush(w);
    CHECK_EQ(lseek(fd, 0, SEEK_END), store_writer_bytes(w));
    store_writer_free(w);
    CHECK_EQ(out_close(&out, &e), 0);
    CHECK_EQ(map_open(&m, path, &e), 0);
    buf_add(&b, m.data, m.size);
    map_close(&m);
    close(fd);
    return b;
}

static struct profile *read_back(const void *data, size_t size, struct store_damage *d)
{
    struct profile *p = profile_new();
    struct err e = { 0 };

    memset(d, 0, sizeof *d);
    if (store_read(data, size, profile_sink(p), d, &e) == 0)
        return p;
    CHECK(e.msg[0]);
    profile_free(p);
    return NULL;
}

/* A complete profile as text, to compare two profiles. */
#define EACH(table, fmt, ...)                                                       \
    for (size_t i = 0; i < p->table.n; i++) {                                       \
        const __typeof__(*p->table.v) *x = &p->table.v[i];                          \
        buf_printf(&b, #table " " fmt "\n", __VA_ARGS__);                           \
    }
#define LL (long long)

static struct buf flat(const struct profile *p)
{
    struct buf b = { 0 };

    EACH(meta, "%s=%s", x->key, x->value)
    EACH(string, "%u %s", x->n, x->s)
    EACH(metric, "%u %u %u %u %lld", x->name, x->unit, x->about, x->flags, LL x->period)
    EACH(process, "%lld %lld %u %u %lld %lld", LL x->pid, LL x->parent_pid, x->name, x->command,
         LL x->start_ns, LL x->end_ns)
    EACH(thread, "%u %u %lld %lld %lld", x->process, x->name, LL x->tid, LL x->start_ns,
         LL x->end_ns)
    EACH(module, "%u %u %u %02x%02x%02x %u %u %u", x->path, x->kind, x->build_id_size,
         x->build_id[0], x->build_id[3], x->build_id[4], x->symbols, x->problem, x->advice)
    EACH(frame, "%u %u %u %lld", x->kind, x->flags, x->module, LL x->address)
    EACH(function, "%u %u %u %u %u", x->name, x->linkage_name, x->file, x->line, x->module)
    EACH(chain, "%u %u", x->first, x->n)
    EACH(location, "%u %u", x->function, x->line)
    EACH(stack, "%u %u", x->parent, x->frame)
    EACH(tag, "%u %u %u %u %lld", x->parent, x->key, x->text, x->unit, LL x->value)
    EACH(sample, "%u %u %u %u %d %lld %lld", x->thread, x->stack, x->metric, x->tags, x->cpu,
         LL x->weight, LL x->count)
    EACH(time, "%lld %lld", LL x->start_ns, LL x->duration_ns)
    EACH(span, "%lld %lld %u %u %u %u %u", LL x->start_ns, LL x->duration_ns, x->thread, x->name,
         x->stack, x->detail, x->tags)
    EACH(counter, "%lld %u %u %u %u %g", LL x->time_ns, x->process, x->name, x->unit, x->tags,
         x->value)
    EACH(row, "%u %lld %u %u", x->at.module, LL x->at.address, x->chain.first, x->chain.n)
    EACH(source, "%u %s", x->file, x->text)
    EACH(code, "%u %lld %zu %x", x->module, LL x->address, x->size, x->bytes[1])
    return b;
}

TEST(store_reads_back_what_was_written)
{
    struct buf file = sample_file(40, true), want, got;
    struct profile *p = profile_new(), *q;
    struct store_damage d;

    sample_definitions(profile_sink(p));
    sample_events(profile_sink(p), 40);
    sample_rest(profile_sink(p));
    q = read_back(file.data, file.n, &d);
    CHECK(q);
    want = flat(p);
    got = flat(q);
    CHECK_STR(buf_text(&got), buf_text(&want));
    CHECK(!d.unfinished && !d.bad_chunks && !d.missing_bytes && !d.lost_references);
    profile_free(p);
    profile_free(q);
    buf_release(&want);
    buf_release(&got);
    buf_release(&file);
}

TEST(store_opens_a_file_cut_at_any_byte)
{
    struct buf file = sample_file(40, true);
    size_t before = 0;

    for (size_t n = 0; n < file.n; n++) {
        unsigned char *cut = malloc(n + !n); /* exact size, for the sanitizer */
        struct store_damage d;
        struct profile *p;

        memcpy(cut, file.data, n);
        p = read_back(cut, n, &d);
        CHECK_EQ(p != NULL, n >= 8);
        if (p) {
            CHECK(d.unfinished && profile_meta(p, "file.damage")[0]);
            CHECK(!d.bad_chunks && !d.lost_references);
            CHECK(p->sample.n >= before);
            before = p->sample.n;
        }
        profile_free(p);
        free(cut);
    }
    CHECK_EQ(before, 41);
    buf_release(&file);
}

TEST(store_survives_any_flipped_byte)
{
    static const unsigned char flips[] = { 0x01, 0x80, 0xff };
    struct buf file = sample_file(40, true);

    for (size_t at = 0; at < file.n * ARRAY_LEN(flips); at++) {
        struct store_damage d;
        unsigned char *byte = &file.data[at / ARRAY_LEN(flips)];
        struct profile *p;

        *byte ^= flips[at % ARRAY_LEN(flips)];
        p = read_back(file.data, file.n, &d);
        CHECK_EQ(p != NULL, byte - file.data >= 8);
        if (p)
            CHECK(d.bad_chunks || d.missing_bytes || d.unfinished);
        profile_free(p);
        *byte ^= flips[at % ARRAY_LEN(flips)];
    }
    buf_release(&file);
}

TEST(store_keeps_samples_whose_definitions_are_lost)
{
    struct buf file = sample_file(40, true);
    struct store_damage d;
    struct profile *p;

    file.data[8 + 4]++; /* the head of the first chunk: meta */
    for (size_t at = 8; at + 32 < file.n;) {
        uint32_t stored;

        memcpy(&stored, file.data + at + 20, 4);
        if (file.data[at + 4] == STORE_string || file.data[at + 4] == STORE_stack)
            file.data[at + 32] ^= 0xff;
        at += 32 + stored;
    }
    p = read_back(file.data, file.n, &d);
    CHECK(p);
    CHECK_EQ(d.bad_chunks, 3);
    CHECK_EQ(d.lost_samples, 0);
    CHECK(d.lost_references > 40);
    CHECK_EQ(p->sample.n, 41);
    CHECK_EQ(p->stack.n, 1);
    CHECK_STR(profile_string(p, p->process.v[0].name), "[lost]");
    CHECK_STR(profile_string(p, p->function.v[p->location.v[p->chain.v[p->stack.v[0].frame - 1]
                                                               .first].function - 1].name),
              "[lost]");
    profile_free(p);
    buf_release(&file);
}

static void put_head(struct buf *b, const struct store_head *h)
{
    unsigned char head[STORE_HEAD_SIZE];

    store_encode_head(head, h);
    buf_add(b, head, sizeof head);
}

TEST(store_checksums_are_those_of_zlib)
{
    unsigned char data[300];

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 37 + (i >> 3));
    for (size_t from = 0; from < 9; from++)
        for (size_t n = 0; n + from <= sizeof data; n++)
            CHECK_EQ(store_crc(data + from, n), crc32(0, data + from, (uInt)n));
}

TEST(store_skips_chunks_of_a_later_version)
{
    struct buf file = sample_file(3, true), with = { 0 };
    struct store_head h = { .type = 200, .columns = 1, .records = 9, .raw_size = 2,
                            .stored_size = 2, .crc = (uint32_t)crc32(0, (void *)"ab", 2) };
    struct store_damage d;
    struct profile *p;

    buf_add(&with, file.data, 8);
    put_head(&with, &h);
    buf_add(&with, "ab", 2);
    buf_add(&with, file.data + 8, file.n - 8);
    p = read_back(with.data, with.n, &d);
    CHECK(p && p->sample.n == 4);
    CHECK(!d.bad_chunks && !d.unfinished);
    profile_free(p);
    buf_release(&with);
    buf_release(&file);
}

TEST(store_opens_the_file_of_a_killed_writer)
{
    struct buf file = sample_file(40, false);
    struct store_damage d;
    struct profile *p = read_back(file.data, file.n, &d);

    CHECK(p && p->sample.n == 41 && p->code.n == 1);
    CHECK(d.unfinished && !d.missing_bytes && !d.bad_chunks);
    CHECK(strstr(profile_meta(p, "file.damage"), "unfinished"));
    profile_free(p);
    buf_release(&file);
}

/* A repetitive program: 30 frames, mostly repeated stacks, 10 kHz on two CPUs. */
static void write_deep(struct sink *s, uint32_t n)
{
    uint64_t time = 1000000000000, dice = 1;

    sample_definitions(s);
    for (uint32_t leaf = 0; leaf < 64; leaf++)
        for (uint32_t depth = 0; depth < 30; depth++)
            sink_stack(s, depth ? leaf * 30 + depth : 0, 1 + (depth + leaf) % 8);
    for (uint32_t i = 0; i < n; i++) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        time += 48000 + (dice >> 33) % 4000;
        sink_sample(s, &(struct sample){ .start_ns = time, .duration_ns = 100000,
                                         .thread = 1 + i % 2, .metric = 1,
                                         .stack = 30 * (1 + (uint32_t)(dice >> 40) % 64),
                                         .cpu = (int32_t)(i % 2), .weight = 100000, .count = 1 });
    }
}

TEST(store_uses_at_most_eight_bytes_per_sample)
{
    enum { SAMPLES = 20000, FIXED = 32 << 10 };
    struct out o = out_memory();
    struct store_writer *w = store_writer_new(&o);
    struct sink *s = store_writer_sink(w);
    struct err e = { 0 };

    write_deep(s, SAMPLES);
    CHECK_EQ(sink_end(s, &e), 0);
    CHECK(store_writer_bytes(w) <= 8 * SAMPLES + FIXED);
    store_writer_free(w);
    out_close(&o, NULL);
}

/* More records than one flush holds: ids continue from chunk to chunk. */
TEST(store_reads_back_millions_of_records)
{
    enum { STRINGS = 300000, STACKS = 2000000 };
    struct out o = out_memory();
    struct store_writer *w = store_writer_new(&o);
    struct sink *s = store_writer_sink(w);
    struct profile *p;
    struct store_damage d;
    struct err e = { 0 };
    char text[20];

    for (uint32_t i = 0; i < STRINGS; i++)
        sink_string(s, text, (size_t)snprintf(text, sizeof text, "name %u", i));
    for (uint32_t i = 0; i < STRINGS; i++)
        sink_string(s, "", 0);
    sink_frame(s, &(struct frame){ .address = 1 });
    for (uint32_t i = 0; i < STACKS; i++)
        sink_stack(s, i / 3, 1);
    CHECK_EQ(sink_end(s, &e), 0);
    store_writer_free(w);
    p = read_back(o.buf.data, o.buf.n, &d);
    CHECK(p && !d.bad_chunks && !d.unfinished);
    CHECK_EQ(p->string.n, 2 * STRINGS);
    CHECK_STR(profile_string(p, STRINGS), "name 299999");
    CHECK_EQ(p->stack.n, STACKS);
    for (uint32_t i = 0; i < STACKS; i++)
        if (p->stack.v[i].parent != i / 3)
            test_fail(__FILE__, __LINE__, "stack %u has parent %u", i + 1, p->stack.v[i].parent);
    profile_free(p);
    out_close(&o, NULL);
}

static void put_chunk(struct buf *b, struct store_head h, const void *raw, size_t n)
{
    h.raw_size = h.stored_size = (uint32_t)n;
    h.crc = (uint32_t)crc32(0, raw, (uInt)n);
    put_head(b, &h);
    buf_add(b, raw, n);
}

/* Chunks with valid checksums and invalid contents: the reader must skip each one. */
TEST(store_skips_chunks_with_invalid_contents)
{
    struct store_head string = { .type = 2, .columns = 1, .records = 1, .first = 1 };
    struct store_head stack = { .type = STORE_stack, .columns = 2, .records = 1, .first = 1 };
    struct buf b = { 0 };
    struct store_damage d;
    struct profile *p;

    buf_add(&b, STORE_MAGIC, 8);
    put_chunk(&b, string, "\x01\x7f", 2);                 /* a text longer than the column */
    put_chunk(&b, string, "\xff\xff\xff\xff\x0f", 5);     /* a column longer than the chunk */
    string.records = 1 << 20;
    put_chunk(&b, string, "\x01\x00", 2);                 /* more records than bytes */
    string.records = 1;
    string.first = 0;
    put_chunk(&b, string, "\x01\x00", 2);                 /* no first id */
    string.first = UINT32_MAX;
    put_chunk(&b, string, "\x01\x00", 2);                 /* ids that overflow */
    put_chunk(&b, stack, "\x01\x05\x01\x02", 4);          /* a parent before the first */
    stack.columns = 1;
    put_chunk(&b, stack, "\x01\x00\x01\x02", 4);          /* a column missing */
    p = read_back(b.data, b.n, &d);
    CHECK(p);
    CHECK_EQ(d.bad_chunks, 7);
    CHECK_EQ(p->string.n + p->stack.n + p->frame.n, 0);
    profile_free(p);
    buf_release(&b);
}

/* One record of TYPE with zeros and empty strings, except in column NAME. */
static void put_record(struct buf *b, uint8_t type, const char *name, int64_t value)
{
    const struct store_chunk *c = &store_chunks[type];
    struct buf raw = { 0 };

    for (uint8_t i = 0; i < c->n_columns; i++) {
        struct buf one = { 0 };

        if (c->column[i].kind == STORE_REAL)
            buf_u64(&one, 0);
        else
            buf_zig(&one, strcmp(c->column[i].name, name) == 0 ? value : 0);
        buf_uleb(&raw, one.n);
        buf_add(&raw, one.data, one.n);
        buf_release(&one);
    }
    put_chunk(b, (struct store_head){ .type = type, .columns = c->n_columns, .records = 1 },
              raw.data, raw.n);
    buf_release(&raw);
}

/* N definitions of TYPE that say nothing. */
static void put_empty(struct buf *b, uint8_t type, uint32_t n)
{
    const struct store_chunk *c = &store_chunks[type];
    struct buf raw = { 0 };

    for (uint8_t i = 0; i < c->n_columns; i++) {
        buf_uleb(&raw, n);
        for (uint32_t k = 0; k < n; k++)
            buf_u8(&raw, 0);
    }
    put_chunk(b, (struct store_head){ .type = type, .columns = c->n_columns, .records = n,
                                      .first = 1 }, raw.data, raw.n);
    buf_release(&raw);
}

TEST(store_continues_no_chain_of_another_frame)
{
    struct store_head h = { .type = STORE_location, .columns = 4, .records = 2 };
    struct buf b = { 0 };
    struct store_damage d;
    struct profile *p;

    buf_add(&b, STORE_MAGIC, 8);
    put_empty(&b, STORE_frame, 2);
    put_empty(&b, STORE_function, 2);
    put_chunk(&b, h, "\x02\x02\x02" "\x02\x02\x02" "\x02\x0e\x02" "\x02\x00\x01", 12);
    p = read_back(b.data, b.n, &d);
    CHECK(p && p->frame.n == 2 && !d.bad_chunks);
    CHECK_EQ(p->chain.v[0].n, 1);
    CHECK_EQ(p->location.v[p->chain.v[0].first].function, 1);
    CHECK_EQ(p->location.v[p->chain.v[0].first].line, 7);
    CHECK_EQ(p->chain.v[1].n, 1);
    CHECK_EQ(p->location.v[p->chain.v[1].first].function, 2);
    CHECK_EQ(p->location.v[p->chain.v[1].first].line, 8);
    profile_free(p);
    buf_release(&b);
}

TEST(store_skips_numbers_that_do_not_fit_their_field)
{
    struct buf b = { 0 };
    struct store_damage d;
    struct profile *p;

    buf_add(&b, STORE_MAGIC, 8);
    put_record(&b, STORE_sample, "cpu", -3);
    put_record(&b, STORE_sample, "cpu", (int64_t)1 << 40);
    p = read_back(b.data, b.n, &d);
    CHECK(p && p->sample.n == 1);
    CHECK_EQ(d.bad_chunks, 1);
    CHECK_EQ(p->sample.v[0].cpu, -3);
    profile_free(p);
    buf_release(&b);
}

TEST(store_replaces_a_missing_metric_by_a_lost_one)
{
    struct buf b = { 0 };
    struct store_damage d;
    struct profile *p;

    buf_add(&b, STORE_MAGIC, 8);
    put_record(&b, STORE_sample, "weight", 7); /* thread 0 and stack 0 are valid, metric 0 is not */
    p = read_back(b.data, b.n, &d);
    CHECK(p && p->sample.n == 1 && p->metric.n == 1);
    CHECK_STR(profile_string(p, p->metric.v[0].name), "[lost]");
    CHECK_EQ(p->sample.v[0].metric, 1);
    CHECK_EQ(d.lost_references, 1);
    profile_free(p);
    buf_release(&b);
}

TEST(store_ignores_columns_of_a_later_version)
{
    struct store_head string = { .type = STORE_string, .columns = 2, .records = 1, .first = 1 };
    struct buf b = { 0 };
    struct store_damage d;
    struct profile *p;

    buf_add(&b, STORE_MAGIC, 8);
    put_chunk(&b, string, "\x03\x02hi\x01\x07", 6);
    p = read_back(b.data, b.n, &d);
    CHECK(p && p->string.n == 1 && !d.bad_chunks);
    CHECK_STR(profile_string(p, 1), "hi");
    profile_free(p);
    buf_release(&b);
}

/* A chunk of empty strings, with the maximum compression of zstd. */
static void put_bomb(struct buf *b, uint32_t first)
{
    enum { MANY = STORE_MAX_RECORDS };
    struct store_head h = { .type = STORE_string, .flags = STORE_ZSTD, .columns = 1,
                            .records = MANY, .first = first };
    struct buf raw = { 0 }, packed = { 0 };

    buf_uleb(&raw, MANY);
    buf_reserve(&raw, MANY);
    memset(raw.data + raw.n, 0, MANY);
    raw.n += MANY;
    buf_reserve(&packed, ZSTD_compressBound(raw.n));
    packed.n = ZSTD_compress(packed.data, packed.cap, raw.data, raw.n, 3);
    h.raw_size = (uint32_t)raw.n;
    h.stored_size = (uint32_t)packed.n;
    h.crc = (uint32_t)crc32(0, packed.data, (uInt)packed.n);
    put_head(b, &h);
    buf_add(b, packed.data, packed.n);
    buf_release(&raw);
    buf_release(&packed);
}

TEST(store_unpacks_no_more_than_a_file_of_its_size_may_hold)
{
    struct buf b = { 0 };
    struct sink nowhere = { 0 };
    struct store_damage d;
    struct err e = { 0 };

    buf_add(&b, STORE_MAGIC, 8);
    for (uint32_t i = 0; i < 10; i++)
        put_bomb(&b, 1 + i * STORE_MAX_RECORDS);
    CHECK(b.n < 10000);
    CHECK_EQ(store_read(b.data, b.n, &nowhere, &d, &e), 0);
    CHECK_EQ(d.bad_chunks, 2); /* of ten times 1 MiB, eight are within the limit */
    buf_release(&b);
}

/* The chunk is valid, but the file is said to be large, and to have used its limit but for LEFT. */
static bool decodes_at(const struct buf *file, uint64_t at, uint64_t left)
{
    struct store_scan s = { file->data, file->n, 8 };
    struct buf records = { 0 };
    const unsigned char *stored;
    struct store_head h;
    bool ok;

    CHECK(store_next(&s, &h, &stored));
    s.at = at;
    s.raw_total = store_raw_limit(at) - left;
    ok = store_decode(&s, &h, stored, &records);
    store_scan_release(&s);
    buf_release(&records);
    return ok;
}

TEST(store_unpacks_at_most_16_gib_more_than_the_file)
{
    const uint64_t large = (uint64_t)1 << 40, raw = STORE_MAX_RECORDS + 3;
    struct buf b = { 0 };

    CHECK_EQ(store_raw_limit(large), large + LIMIT_UNPACKED);
    CHECK_EQ(store_raw_limit(1000), (8 << 20) + 64 * 1000);
    buf_add(&b, STORE_MAGIC, 8);
    put_bomb(&b, 1);
    CHECK(decodes_at(&b, large, raw));
    CHECK(!decodes_at(&b, large, raw - 1));
    buf_release(&b);
}

TEST(store_finds_the_next_chunk_at_any_distance)
{
    struct buf file = sample_file(3, true), with = { 0 };
    uint32_t stored;

    memcpy(&stored, file.data + 8 + 20, 4);
    for (size_t garbage = 1; garbage < 9; garbage++) {
        struct store_damage d;
        struct profile *p;

        with.n = 0;
        buf_add(&with, file.data, 8 + 32 + stored);
        buf_add(&with, "????????", garbage);
        buf_add(&with, file.data + 8 + 32 + stored, file.n - 8 - 32 - stored);
        p = read_back(with.data, with.n, &d);
        CHECK(p && p->sample.n == 4 && !d.unfinished && !d.lost_references);
        CHECK_EQ(d.bad_chunks, 1);
        profile_free(p);
    }
    buf_release(&with);
    buf_release(&file);
}

TEST(store_counts_bytes_that_are_missing_or_too_many)
{
    struct buf file = sample_file(3, true);
    struct store_damage d;
    uint32_t stored;

    memcpy(&stored, file.data + 8 + 20, 4);
    profile_free(read_back(file.data, 8 + 10, &d));
    CHECK_EQ(d.missing_bytes, 10); /* of a head */
    profile_free(read_back(file.data, 8 + 32 + stored - 1, &d));
    CHECK_EQ(d.missing_bytes, 32 + stored); /* the whole chunk */
    buf_u8(&file, 'x');
    profile_free(read_back(file.data, file.n, &d));
    CHECK(d.bad_chunks == 1 && !d.unfinished);
    buf_release(&file);
}

TEST(store_keeps_a_whole_build_id_and_counts_its_own_bytes)
{
    struct out o = out_memory();
    struct module m = { .kind = MODULE_FILE, .build_id_size = sizeof m.build_id };
    struct module shorter = { .kind = MODULE_FILE, .build_id_size = sizeof m.build_id - 1 };
    struct store_writer *w;
    struct store_damage d;
    struct err e = { 0 };
    struct profile *p;

    memset(m.build_id, 0xab, sizeof m.build_id);
    out_str(&o, "before");
    w = store_writer_new(&o);
    sink_module(store_writer_sink(w), &m);
    sink_module(store_writer_sink(w), &shorter);
    CHECK_EQ(sink_end(store_writer_sink(w), &e), 0);
    CHECK_EQ(store_writer_bytes(w), o.buf.n - strlen("before"));
    p = read_back(o.buf.data + strlen("before"), o.buf.n - strlen("before"), &d);
    CHECK(p && p->module.n == 2);
    CHECK_EQ(p->module.v[1].build_id_size, sizeof m.build_id - 1);
    CHECK_EQ(p->module.v[0].build_id_size, sizeof m.build_id);
    CHECK_EQ(memcmp(p->module.v[0].build_id, m.build_id, sizeof m.build_id), 0);
    profile_free(p);
    store_writer_free(w);
    out_close(&o, NULL);
}

/* The output of `fathom dump` for FILE, valid until the next call; NULL if refused. */
static const char *dump(struct out *file, const char *only, bool json)
{
    static char text[4096];
    struct store_dump_options options = { .json = json, .only = only };
    struct out o = out_memory();
    struct err e = { 0 };
    bool done = store_dump(file->buf.data, file->buf.n, &options, &o, &e) == 0;

    if (done)
        snprintf(text, sizeof text, "%s", buf_text(&o.buf));
    buf_release(&o.buf);
    return done ? text : NULL;
}

TEST(store_dump_quotes_texts_and_keeps_all_digits)
{
    struct out file = out_memory();
    struct store_writer *w = store_writer_new(&file);
    struct err e = { 0 };

    sink_meta(store_writer_sink(w), "clock", "monotonic");
    sink_string(store_writer_sink(w), "a\x7f\n\"b", 5);
    sink_counter(store_writer_sink(w), &(struct counter){ .time_ns = 1, .value = 0.1 });
    CHECK_EQ(sink_end(store_writer_sink(w), &e), 0);
    store_writer_free(w);
    CHECK_STR(dump(&file, "string", false), "string 1 text=\"a\\x7f\\x0a\\\"b\"\n");
    CHECK(strstr(dump(&file, "counter", true), "\"value\":0.10000000000000001"));
    CHECK(strstr(dump(&file, NULL, false), "damage bad_chunks=0 missing_bytes=0 unfinished=0"));
    CHECK_STR(dump(&file, "end", false), "end type=1 records=1\nend type=2 records=1\n"
                                          "end type=17 records=1\nend type=21 records=1\n");
    CHECK(!strstr(dump(&file, "string", false), "damage"));
    CHECK(!dump(&file, "str", false));
    out_close(&file, NULL);
}

TEST(store_refuses_a_newer_major_version)
{
    struct profile *p = profile_new();
    struct err e = { 0 };

    CHECK_EQ(store_read("FATHOM\x02\nxxxx", 12, profile_sink(p), NULL, &e), -1);
    CHECK(strstr(e.msg, "version 2"));
    CHECK(e.hint[0]);
    profile_free(p);
}

TEST(store_reports_write_errors)
{
    struct out full = out_binary(open("/dev/full", O_WRONLY));
    struct store_writer *w = store_writer_new(&full);
    struct sink *s = store_writer_sink(w);
    struct err e = { 0 };

    sample_definitions(s);
    CHECK_EQ(sink_end(s, &e), -1);
    CHECK_EQ(e.code, ERR_SYSTEM);
    store_writer_free(w);
    CHECK_EQ(out_close(&full, &e), -1);
}
