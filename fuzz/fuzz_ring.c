/* fuzz_ring.c - arbitrary contents of a perf ring: the decoder and the processing of its records.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "perf/perf_engine.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sink nothing = { 0 };
    struct intern in;
    struct perf_engine e;
    struct perf_attr a;
    struct perf_raw raw = { 0 };
    struct cursor c;

    if (!size)
        return 0;
    a = attr_of(*data);
    c = cursor_of(data + 1, size - 1);
    intern_init(&in, &nothing);
    perf_engine_init(&e, &in, &perf_host_none);
    perf_engine_id(&e, 1, perf_engine_attr(&e, &a));
    while (perf_decode_header(&c, &raw))
        perf_engine_add(&e, &raw);
    perf_engine_finish(&e, UINT64_MAX);
    perf_engine_release(&e);
    intern_release(&in);
    return 0;
}
