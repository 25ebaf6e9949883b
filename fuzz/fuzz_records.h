/* fuzz_records.h - change perf records so that most remain valid: their types, values, lengths and
 * order.  For the mutators of fuzz targets.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FUZZ_RECORDS_H
#define FATHOM_FUZZ_RECORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

enum { HEAD = 8, MOST_RECORDS = 1024, MOST_BODY = 512 };

struct input {
    uint8_t *data;
    size_t size, max;
    size_t from, to; /* of the records */
    size_t at[MOST_RECORDS], n;
    void (*moved)(struct input *in, size_t by); /* what follows the records; may be NULL */
    uint64_t random;
};

static uint64_t u64_at(const uint8_t *p)
{
    uint64_t x;

    memcpy(&x, p, 8);
    return x;
}

static void put_u64(uint8_t *p, uint64_t x)
{
    memcpy(p, &x, 8);
}

static size_t size_at(const struct input *in, size_t at)
{
    return (size_t)in->data[at + 6] | (size_t)in->data[at + 7] << 8;
}

static uint64_t below(struct input *in, uint64_t n)
{
    in->random ^= in->random << 13;
    in->random ^= in->random >> 7;
    in->random ^= in->random << 17;
    return n ? in->random % n : 0;
}

/* Find the records in [FROM, TO). */
static void find_records(struct input *in, size_t from, size_t to)
{
    in->from = from;
    in->to = to;
    in->n = 0;
    for (size_t i = from; i + HEAD <= to && in->n < MOST_RECORDS; i += size_at(in, i)) {
        if (size_at(in, i) < HEAD || size_at(in, i) > to - i)
            break;
        in->at[in->n++] = i;
    }
}

/* Replace OLD bytes at AT by N bytes, which the caller then writes; sections behind move. */
static bool resize(struct input *in, size_t at, size_t old, size_t n)
{
    if (in->size - old + n > in->max)
        return false;
    memmove(in->data + at + n, in->data + at + old, in->size - at - old);
    in->size = in->size - old + n;
    in->to = in->to - old + n;
    if (in->moved)
        in->moved(in, n - old);
    return true;
}

static uint64_t interesting(struct input *in)
{
    static const uint64_t words[] = { 0, 1, 2, 3, 5, 8, 16, 64, 500, 501, 4096, 65536, 1u << 31,
                                      UINT32_MAX, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1,
                                      (uint64_t)-128, (uint64_t)-512, (uint64_t)-640, 0x400000,
                                      0x7f1200000000, 0xffffffff81000000u, 100, 110, 10, 1000 };
    uint64_t small = below(in, 32);

    if (below(in, 3))
        return words[below(in, ARRAY_LEN(words))] + (below(in, 4) ? 0 : small);
    return in->size >= 8 ? u64_at(in->data + below(in, in->size - 7)) : small; /* of this input */
}

/* Change one value of 1 to 8 bytes in [FROM, TO). */
static void change_word(struct input *in, size_t from, size_t to)
{
    size_t width = (size_t)1 << below(in, 4), at;
    uint64_t x = interesting(in), was = 0;

    if (to - from < width)
        return;
    at = from + below(in, (to - from) / width) * width;
    memcpy(&was, in->data + at, width);
    if (below(in, 3) == 0)
        x = was + below(in, 33) - 16;
    else if (below(in, 3) == 0)
        x = was ^ (uint64_t)1 << below(in, 8 * width);
    memcpy(in->data + at, &x, width);
}

static void change_type(struct input *in, size_t at)
{
    static const uint8_t types[] = { 1, 2, 3, 4, 5, 7, 9, 10, 11, 13, 14, 15, 17, 22, 64, 66,
                                     67, 68, 71, 73, 78, 80, 81, 83 };

    in->data[at] = types[below(in, sizeof types)];
}

static void copy_record(struct input *in, size_t at)
{
    size_t n = size_at(in, at), to = in->at[below(in, in->n)];
    uint8_t *copy = mem_alloc(n);

    memcpy(copy, in->data + at, n);
    if (resize(in, to, 0, n))
        memcpy(in->data + to, copy, n);
    free(copy);
}

static void set_size(struct input *in, size_t at, size_t n)
{
    in->data[at + 6] = (uint8_t)n;
    in->data[at + 7] = (uint8_t)(n >> 8);
}

/* Let libFuzzer change the body, and correct the size. */
static void change_body(struct input *in, size_t at)
{
    uint8_t body[MOST_BODY];
    size_t old = size_at(in, at) - HEAD, n;

    if (old > sizeof body)
        return;
    memcpy(body, in->data + at + HEAD, old);
    n = LLVMFuzzerMutate(body, old, sizeof body) & ~(size_t)7;
    if (!resize(in, at + HEAD, old, n))
        return;
    memcpy(in->data + at + HEAD, body, n);
    set_size(in, at, n + HEAD);
}

/* Repeat or remove words inside a record, such as frames of a chain. */
static void change_length(struct input *in, size_t at)
{
    size_t words = (size_at(in, at) - HEAD) / 8, n = 1 + below(in, 8), where;

    if (!words)
        return;
    where = at + HEAD + 8 * below(in, words);
    if (below(in, 2)) {
        if (n > words || where + 8 * n > at + HEAD + 8 * words || !resize(in, where, 8 * n, 0))
            return;
        set_size(in, at, size_at(in, at) - 8 * n);
        return;
    }
    if (words + n > MOST_BODY || !resize(in, where, 0, 8 * n))
        return;
    for (size_t i = 0; i < n; i++)
        put_u64(in->data + where + 8 * i, interesting(in));
    set_size(in, at, size_at(in, at) + 8 * n);
}

static void change_record(struct input *in)
{
    size_t at = in->at[below(in, in->n)], n = size_at(in, at);

    switch (below(in, 12)) {
    case 0: change_type(in, at); break;
    case 1: in->data[at + 4 + below(in, 2)] ^= (uint8_t)(1u << below(in, 8)); break;
    case 2: copy_record(in, at); break;
    case 3: resize(in, at, n, 0); break;
    case 4: change_body(in, at); break;
    case 5:
    case 6: change_length(in, at); break;
    default: change_word(in, at + HEAD, at + n);
    }
}

/* The input in the buffer of LLVMFuzzerCustomMutator. */
static void take_input(struct input *in, uint8_t *data, size_t size, size_t max, unsigned seed)
{
    memset(in, 0, sizeof *in);
    in->data = data;
    in->size = size;
    in->max = max;
    in->random = seed * 0x9e3779b97f4a7c15u + 1;
}

#endif
