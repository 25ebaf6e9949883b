/* fuzz_store.c - arbitrary bytes as a .fathom file: read, write, read again, show, dump.  Most changed
 * bytes fail a checksum, so the input is also tried with corrected checksums.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "fuzz_format.h"
#include "profile/profile.h"
#include "store/store_chunk.h"
#include "store/store_dump.h"

static void must(bool x)
{
    if (!x)
        abort();
}

static void write_again(const struct profile *p)
{
    struct out o = out_memory();
    struct store_writer *w = store_writer_new(&o);
    struct sink *s = store_writer_sink(w);
    struct profile *q = profile_new();
    struct store_damage d = { 0 };

    profile_replay(p, s);
    must(sink_end(s, NULL) == 0);
    store_writer_free(w);
    must(store_read(o.buf.data, o.buf.n, profile_sink(q), &d, NULL) == 0);
    must(!d.bad_chunks && !d.lost_references && !d.unfinished);
    must(q->sample.n == p->sample.n && q->stack.n == p->stack.n && q->string.n == p->string.n);
    profile_free(q);
    out_close(&o, NULL);
}

static void try(const uint8_t *data, size_t size)
{
    struct profile *p = profile_new();
    struct out o = out_memory();
    struct store_damage d = { 0 };

    if (store_is(data, size) && data[6] == 1) {
        /* The reader must not send anything to the model that the model refuses. */
        must(store_read(data, size, profile_sink(p), &d, NULL) == 0);
        write_again(p);
        fuzz_views(p, data, size);
    }
    store_dump(data, size, &(struct store_dump_options){ .json = size & 1 }, &o, NULL);
    out_close(&o, NULL);
    profile_free(p);
}

static void put_u32(uint8_t *at, unsigned long x)
{
    uint32_t small = (uint32_t)x;

    memcpy(at, &small, 4);
}

/* Correct the checksums of chunk heads and contents. */
static void put_right(uint8_t *data, size_t size)
{
    size_t at = 8;

    while (at + STORE_HEAD_SIZE <= size) {
        size_t left = size - at - STORE_HEAD_SIZE;
        uint32_t stored;

        memcpy(data + at, STORE_SYNC, 4);
        memcpy(&stored, data + at + 20, 4);
        if (stored <= left)
            put_u32(data + at + 24, crc32(0, data + at + STORE_HEAD_SIZE, stored));
        put_u32(data + at + 28, crc32(0, data + at, STORE_HEAD_SIZE - 4));
        if (stored > left)
            return;
        at += STORE_HEAD_SIZE + stored;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy;

    try(data, size);
    if (size < 8)
        return 0;
    copy = mem_alloc(size);
    memcpy(copy, data, size);
    memcpy(copy, STORE_MAGIC, 8);
    put_right(copy, size);
    try(copy, size);
    free(copy);
    return 0;
}
