/* fuzz_perfdata.c - perf.data files.  A mutator that knows headers, events and records keeps most
 * inputs valid, so that they reach the processing of the records.  No file of this machine is
 * read.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/perfdata.h"
#include "fuzz_format.h"

static const struct perf_host nothing = { .is_past = true, .no_files = true };

/* Writing a profile takes longer than reading a small one, and other targets do it too: a search
 * writes every sixteenth. */
static bool is_written(const uint8_t *data, size_t size)
{
    unsigned sum = 0;

    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + data[i];
    return !FUZZ_SEARCH || sum % 16 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_input in = { .data = data, .size = size, .path = "fuzz" };
    struct profile *p = profile_new();
    struct err e = { 0 };

    if (perfdata_import(&in, &nothing, profile_sink(p), &e) == 0 && p->sample.n < 10000 &&
        is_written(data, size))
        fuzz_views(p, data, size);
    profile_free(p);
    return 0;
}

#if FUZZ_SEARCH
#include "fuzz_records.h"

enum { PIPE = 16, FILE_HEAD = 104 };
enum { ENTRY_AT = 16, ATTRS_AT = 24, ATTRS_SIZE = 32, DATA_AT = 40, DATA_SIZE = 48, BITS_AT = 72 };

static bool is_pipe(const struct input *in)
{
    return in->size >= PIPE && u64_at(in->data + 8) == PIPE;
}

/* The sections behind the records have moved. */
static void correct_head(struct input *in, size_t by)
{
    size_t table = in->to;

    put_u64(in->data + DATA_SIZE, in->to - in->from);
    for (size_t bit = 0; bit < 256 && table + 16 <= in->size; bit++) {
        if (!(in->data[BITS_AT + bit / 8] >> bit % 8 & 1))
            continue;
        put_u64(in->data + table, u64_at(in->data + table) + by);
        table += 16;
    }
}

/* Find the records; false if there are none. */
static bool read_head(struct input *in)
{
    uint64_t at, n;

    in->moved = is_pipe(in) ? NULL : correct_head;
    if (is_pipe(in)) {
        find_records(in, PIPE, in->size);
        return true;
    }
    if (in->size < FILE_HEAD)
        return false;
    at = u64_at(in->data + DATA_AT);
    n = u64_at(in->data + DATA_SIZE);
    if (at < FILE_HEAD || at > in->size || n > in->size - at)
        return false;
    find_records(in, (size_t)at, (size_t)(at + n));
    return true;
}

/* The description of an event: its layout, flags, registers, ids. */
static void change_event(struct input *in)
{
    uint64_t entry = u64_at(in->data + ENTRY_AT), at = u64_at(in->data + ATTRS_AT);
    uint64_t n = u64_at(in->data + ATTRS_SIZE), size;

    if (is_pipe(in)) {
        at = PIPE + HEAD;
        entry = n = in->n ? size_at(in, PIPE) - HEAD : 0;
    }
    if (!entry || entry > n || at > in->size || n > in->size - at)
        return;
    at += below(in, n / entry) * entry;
    size = entry < 104 ? entry : 104;
    if (below(in, 2) && size >= 48) /* fields of samples and of groups */
        in->data[at + 24 + below(in, 3) + 8 * below(in, 3)] ^= (uint8_t)(1u << below(in, 8));
    else
        change_word(in, (size_t)at, (size_t)(at + entry));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static struct input in;

    take_input(&in, data, size, max, seed);
    for (uint64_t times = 1 + below(&in, 4); times; times--) {
        if (!read_head(&in) || below(&in, 16) == 0)
            in.size = LLVMFuzzerMutate(in.data, in.size, max);
        else if (!in.n || below(&in, 8) == 0)
            change_event(&in);
        else if (below(&in, 24) == 0)
            change_word(&in, 0, in.from < FILE_HEAD ? in.from : FILE_HEAD);
        else if (below(&in, 16) == 0 && in.to < in.size)
            change_word(&in, in.to, in.size);
        else
            change_record(&in);
    }
    return in.size;
}
#endif
