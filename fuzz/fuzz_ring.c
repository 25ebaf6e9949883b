/* fuzz_ring.c - bytes as the kernel's rings would hold them: the parser, and what is done with
 * the records of processes.  SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "perf/perf_process.h"
#include "perf/perf_stack.h"

static void apply(struct perf_stacks *s, struct perf_processes *p, const struct perf_record *r)
{
    struct perf_record x = *r;

    x.pid = x.pid % 4 + 0x40000001;
    x.tid = x.tid % 8 + 0x40000001;
    x.parent_pid = x.parent_pid % 4 + 0x40000001;
    x.parent_tid = x.parent_tid % 8 + 0x40000001;
    if (x.type == PERF_RECORD_MMAP2) {
        x.text = "//anon"; /* the name would be opened */
        x.build_id_size = 0;
    }
    if (x.type == PERF_RECORD_SAMPLE)
        perf_stack_of(s, perf_process_thread(p, x.pid, x.tid), &x);
    else
        perf_process_record(p, &x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sink nothing = { 0 };
    struct intern in;
    struct perf_modules modules;
    struct perf_processes processes;
    struct perf_stacks stacks;
    uint64_t type = COL_SAMPLE;
    enum perf_graph graph = PERF_GRAPH_AUTO;

    if (!size)
        return 0;
    if (*data & 1)
        type |= COL_STACK;
    if (*data & 2) {
        type |= PERF_SAMPLE_BRANCH_STACK;
        graph = PERF_GRAPH_LBR;
    }
    data++, size--;
    intern_init(&in, &nothing);
    perf_module_init(&modules, &in, &perf_host_none);
    perf_process_init(&processes, &in, &modules);
    perf_stack_init(&stacks, &in, &processes, graph);
    while (size >= sizeof(struct perf_event_header)) {
        struct perf_event_header h;
        struct perf_record r;

        memcpy(&h, data, sizeof h);
        if (h.size < sizeof h || h.size > size)
            break;
        if (perf_decode(data, h.size, h.type == PERF_RECORD_SAMPLE ? type : COL_TRAILER, &r))
            apply(&stacks, &processes, &r);
        data += h.size;
        size -= h.size;
    }
    perf_stack_release(&stacks);
    perf_process_release(&processes);
    perf_module_release(&modules);
    intern_release(&in);
    return 0;
}
