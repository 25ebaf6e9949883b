/* fuzz_ring.c - arbitrary contents of a perf ring: the decoder and the processing of its records.
 * SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_engine.h"
#include "profile/profile.h"

/* The first byte selects the record layout. */
static struct perf_attr attr_of(uint8_t choice)
{
    struct perf_attr a = { .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
                                          PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                                          PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
                           .has_trailer = true, .name = "x" };

    if (choice & 1) {
        a.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        a.regs_user = perf_decode_regs_mask();
    }
    if (choice & 2) {
        a.sample_type |= PERF_SAMPLE_BRANCH_STACK;
        a.branch_type = PERF_SAMPLE_BRANCH_CALL_STACK;
    }
    if (choice & 4) {
        a.sample_type |= PERF_SAMPLE_READ;
        a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    }
    a.at_switch = choice & 8;
    return a;
}

/* As a recorder, but names are not looked up. */
static const struct perf_host nothing = { .no_files = true };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct profile *p;
    struct intern in;
    struct perf_engine e;
    struct perf_attr a;
    struct perf_raw raw = { 0 };
    struct cursor c;

    if (!size)
        return 0;
    p = profile_new();
    a = attr_of(*data);
    c = cursor_of(data + 1, size - 1);
    intern_init(&in, profile_sink(p));
    perf_engine_init(&e, &in, &nothing);
    perf_engine_id(&e, 1, perf_engine_attr(&e, &a));
    while (perf_decode_header(&c, &raw))
        perf_engine_add(&e, &raw);
    perf_engine_finish(&e, UINT64_MAX);
    perf_engine_release(&e);
    intern_release(&in);
    profile_free(p);
    return 0;
}

#ifdef FUZZ_SEARCH
#include "fuzz_records.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static struct input in;

    take_input(&in, data, size, max, seed);
    for (uint64_t times = 1 + below(&in, 4); times; times--) {
        find_records(&in, 1, in.size);
        if (!in.n || below(&in, 16) == 0)
            in.size = LLVMFuzzerMutate(in.data, in.size, max);
        else if (below(&in, 32) == 0)
            *in.data = (uint8_t)below(&in, 256); /* another layout */
        else
            change_record(&in);
    }
    return in.size;
}
#endif
