/* fuzz_ring.c - bytes as the kernel's rings would hold them: the parser, and what is done with
 * the records of processes.  SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "collect/col_process.h"
#include "collect/col_stack.h"

static void apply(struct col_stacks *s, struct col_processes *p, const struct col_record *r)
{
    /* No process of these numbers: nothing is read from /proc. */
    struct col_record x = *r;

    x.pid = x.pid % 4 + 0x40000001;
    x.tid = x.tid % 8 + 0x40000001;
    x.parent_pid = x.parent_pid % 4 + 0x40000001;
    x.parent_tid = x.parent_tid % 8 + 0x40000001;
    if (x.type == PERF_RECORD_MMAP2) {
        x.text = "//anon"; /* the name would be opened */
        x.build_id_size = 0;
    }
    if (x.type == PERF_RECORD_SAMPLE)
        col_stack_of(s, col_process_thread(p, x.pid, x.tid), &x);
    else
        col_process_record(p, &x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sink nothing = { 0 };
    struct intern in;
    struct col_modules modules;
    struct col_processes processes;
    struct col_stacks stacks;
    uint64_t type = COL_SAMPLE;
    enum col_graph graph = COL_GRAPH_AUTO;

    if (!size)
        return 0;
    if (*data & 1)
        type |= COL_STACK;
    if (*data & 2) {
        type |= PERF_SAMPLE_BRANCH_STACK;
        graph = COL_GRAPH_LBR;
    }
    data++, size--;
    intern_init(&in, &nothing);
    col_module_init(&modules, &in);
    col_process_init(&processes, &in, &modules);
    col_stack_init(&stacks, &in, &processes, graph);
    while (size >= sizeof(struct perf_event_header)) {
        struct perf_event_header h;
        struct col_record r;

        memcpy(&h, data, sizeof h);
        if (h.size < sizeof h || h.size > size)
            break;
        if (col_parse(data, h.size, h.type == PERF_RECORD_SAMPLE ? type : COL_TRAILER, &r))
            apply(&stacks, &processes, &r);
        data += h.size;
        size -= h.size;
    }
    col_stack_release(&stacks);
    col_process_release(&processes);
    col_module_release(&modules);
    intern_release(&in);
    return 0;
}
