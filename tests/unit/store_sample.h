/* store_sample.h - a small profile with every kind of record, for tests of the file.
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
                                         "request", "id=7", "rss" };

    sink_meta(s, "clock", "monotonic");
    sink_meta(s, "command", "demo --fast");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        sample_string(s, words[i]);
    sink_metric(s, &(struct metric){ 1, 2, 3, 0, 1000000 });
    sink_metric(s, &(struct metric){ 13, 2, 0, METRIC_EXACT | METRIC_LIVE, 0 });
    sink_process(s, &(struct process){ 4242, 1, 4, 0, 1000000000000, 0 });
    sink_thread(s, &(struct thread){ 1, 4, 4242, 1000000000000, 0 });
    sink_thread(s, &(struct thread){ 1, 11, 4243, 1000000500000, 0 });
    sink_module(s, &(struct module){ 6, MODULE_FILE, { 0xde, 0xad, 0xbe, 0xef }, 4 });
    sink_module(s, &(struct module){ 7, MODULE_KERNEL, { 0 }, 0 });
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
    for (uint32_t i = 0; i < n; i++)
        sink_sample(s, &(struct sample){ 1000001000000 + i * 1000000ull + i * i % 977, 1 + i % 2,
                                       1 + i % 8, 1, (int32_t)(i % 3) - 1, 1000000 - (int)i, 1 });
    sink_sample(s, &(struct sample){ 0, 0, 0, 2, -1, INT64_MIN, UINT64_MAX });
    sink_span(s, &(struct span){ 1000001500000, 123456, 2, 11, 3, 12 });
    sink_span(s, &(struct span){ 1000001400000, 0, 1, 11, 0, 0 });
    sink_counter(s, &(struct counter){ 1000002000000, 1, 13, 2, 1.5e9 });
    sink_counter(s, &(struct counter){ 1000003000000, 0, 13, 0, -0.25 });
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
    sink_source(s, &(struct source_text){ 10, "int main(void)\n{\n}\n", 19 });
    sink_code(s, &(struct code_bytes){ 1, 0x401000, (const unsigned char *)"\x55\x48\x89\xe5\xc3", 5 });
    sink_meta(s, "samples", "41");
}

#endif
