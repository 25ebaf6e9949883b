/* store_sample.h - a small profile with every kind of record, for tests of the file format.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_STORE_SAMPLE_H
#define FATHOM_TESTS_STORE_SAMPLE_H

#include <stdio.h>
#include <string.h>

#include "profile/sink.h"

static inline void sample_string(struct sink *s, const char *text)
{
    sink_string(s, text, strlen(text));
}

static inline void sample_definitions(struct sink *s)
{
    static const char *const words[] = { "cpu", "ns", "time on CPU", "demo", "demo --fast",
                                         "/usr/bin/demo", "main", "work", "_Z4workv", "demo.c",
                                         "request", "id=7", "rss", "lock", "0x7f00",
                                         "size", "bytes", "dwarf", "install demo-dbg" };

    sink_meta(s, "clock", "monotonic");
    sink_meta(s, "command", "demo --fast");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        sample_string(s, words[i]);
    sink_metric(s, &(struct metric){ 1, 2, 3, 0, 1000000 });
    sink_metric(s, &(struct metric){ 13, 2, 0, METRIC_EXACT | METRIC_LIVE, 0 });
    sink_process(s, &(struct process){ 4242, 1, 4, 0, 1000000000000, 0 });
    sink_thread(s, &(struct thread){ 1, 4, 4242, 1000000000000, 0 });
    sink_thread(s, &(struct thread){ 1, 11, 4243, 1000000500000, 0 });
    sink_module(s, &(struct module){ .path = 6, .build_id = { 0xde, 0xad, 0xbe, 0xef },
                                     .build_id_size = 4 });
    sink_module(s, &(struct module){ .path = 7, .kind = MODULE_KERNEL });
    for (uint64_t i = 0; i < 6; i++)
        sink_frame(s, &(struct frame){ FRAME_NATIVE, i ? FRAME_RETURN : 0, 1, 0x401000 + i * 0x40 });
    sink_frame(s, &(struct frame){ FRAME_KERNEL, 0, 2, 0xffffffff81000000u });
    sink_frame(s, &(struct frame){ FRAME_ZONE, 0, 0, 0 });
}

static inline void sample_events(struct sink *s, uint32_t n)
{
    for (uint32_t i = 1; i <= 7; i++)
        sink_stack(s, i > 1 ? i - 1 : 0, i);
    sink_stack(s, 2, 8);
    sink_tag(s, &(struct tag){ .key = 14, .text = 15 });
    sink_tag(s, &(struct tag){ .parent = 1, .key = 16, .value = -64, .unit = 17 });
    for (uint32_t i = 0; i < n; i++)
        sink_sample(s, &(struct sample){ .start_ns = 1000001000000 + i * 1000000ull + i * i % 977,
                                         .duration_ns = i % 4 ? 1000000 - i : i % 8 * 1000,
                                         .thread = 1 + i % 2, .stack = 1 + i % 8, .metric = 1,
                                         .tags = i % 5 % 3, .cpu = (int32_t)(i % 3) - 1,
                                         .weight = 1000000 - (int)i, .count = 1 });
    sink_sample(s, &(struct sample){ .metric = 2, .cpu = -1, .weight = INT64_MIN,
                                     .count = UINT64_MAX });
    sink_span(s, &(struct span){ 1000001500000, 123456, 2, 11, 3, 12, 2 });
    sink_span(s, &(struct span){ 1000001400000, 0, 1, 11, 0, 0, 0 });
    sink_counter(s, &(struct counter){ 1000002000000, 1, 13, 2, 1, 1.5e9 });
    sink_counter(s, &(struct counter){ 1000003000000, 0, 13, 0, 0, -0.25 });
}

static inline void sample_rest(struct sink *s)
{
    sink_update_process(s, 1, &(struct process){ .command = 5, .end_ns = 1000009000000 });
    sink_update_thread(s, 2, &(struct thread){ .name = 4, .end_ns = 1000008000000 });
    sink_function(s, &(struct function){ 7, 0, 10, 20, 1 });
    sink_function(s, &(struct function){ 8, 9, 10, 3, 1 });
    sink_function(s, &(struct function){ 11, 0, 0, 0, 0 });
    sink_resolve(s, 1, (struct location[]){ { 1, 22 } }, 1);
    sink_resolve(s, 2, (struct location[]){ { 1, 23 }, { 2, 5 }, { 2, 0 } }, 3);
    sink_resolve(s, 8, (struct location[]){ { 3, 0 } }, 1);
    sink_update_module(s, 1, &(struct module){ .symbols = 18, .advice = 19 });
    sink_line(s, &(struct line_row){ 1, 0x401000 }, (struct location[]){ { 1, 22 } }, 1);
    sink_line(s, &(struct line_row){ 1, 0x401003 }, (struct location[]){ { 1, 23 }, { 2, 5 } }, 2);
    sink_source(s, &(struct source_text){ 10, "int main(void)\n{\n}\n", 19 });
    sink_code(s, &(struct code_bytes){ 1, 0x401000, (const unsigned char *)"\x55\x48\x89\xe5\xc3", 5 });
    sink_meta(s, "samples", "41");
}

#endif
