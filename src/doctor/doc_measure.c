/* doc_measure.c - the table of measurements, and how to reduce each to one number.
 * SPDX-License-Identifier: Apache-2.0 */
#include "doctor/doc_measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/map.h"
#include "stats/stats.h"
#include "text/json.h"

static const struct row {
    const char *key, *label, *unit;
    double (*measure)(char *note);
    int repeats;
    bool best; /* of the repeats, because noise only adds time; otherwise their median */
} rows[] = {
    { "cycle", "CPU cycle", "ns", doc_mem_cycle, 7, true },
    { "l1", "L1 cache", "ns", doc_mem_l1, 7, true },
    { "l2", "L2 cache", "ns", doc_mem_l2, 7, true },
    { "l3", "L3 cache", "ns", doc_mem_l3, 5, true },
    { "dram", "main memory", "ns", doc_mem_dram, 3, true },
    { "tlb_miss", "TLB miss", "ns", doc_mem_tlb, 5, true },
    { "branch_miss", "branch mispredict", "ns", doc_mem_branch, 7, true },
    { "clock", "reading the clock", "ns", doc_sys_clock, 7, true },
    { "syscall", "system call", "ns", doc_sys_call, 7, true },
    { "page_fault", "page fault, minor", "ns", doc_sys_fault, 5, false },
    { "futex", "futex wake-up", "ns", doc_sys_futex, 5, false },
    { "switch", "context switch", "ns", doc_sys_switch, 5, false },
    { "pipe", "pipe round trip", "ns", doc_io_pipe, 5, false },
    { "loopback", "TCP loopback round trip", "ns", doc_io_loopback, 5, false },
    { "file_read", "4 KB read, cached", "ns", doc_io_cached, 5, false },
    { "disk_read", "4 KB read, uncached", "ns", doc_io_direct, 3, false },
    { "thread", "thread start and join", "ns", doc_sys_thread, 5, false },
    { "process", "process start and wait", "ns", doc_sys_process, 5, false },
    { "gpu_launch", "GPU kernel launch and wait", "ns", doc_gpu_launch, 3, false },
    { "gpu_copy", "GPU copy of 4 bytes", "ns", doc_gpu_copy_small, 3, false },
    { "read_bandwidth", "memory read, one thread", "GB/s", doc_mem_read_gbs, 5, true },
    { "copy_bandwidth", "memory copy, one thread", "GB/s", doc_mem_copy_gbs, 5, true },
    { "gpu_bandwidth", "copy to the GPU, 64 MB", "GB/s", doc_gpu_copy_gbs, 3, true },
};

static double repeat(const struct row *r, char *note)
{
    double got[8];
    struct summary s;
    int n = 0;

    for (; n < r->repeats; n++) {
        got[n] = r->measure(note);
        if (!isfinite(got[n]))
            return NAN;
    }
    s = stats_summary(got, (size_t)n);
    if (!r->best)
        return s.median;
    return strcmp(r->unit, "ns") == 0 ? s.min : s.max;
}

void doc_measure(struct doc_latencies *out, void (*progress)(void *context, const char *label),
                 void *context)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct doc_latency *l = vec_add(&out->v);

        *l = (struct doc_latency){ .key = rows[i].key, .label = rows[i].label,
                                   .unit = rows[i].unit };
        if (progress)
            progress(context, rows[i].label);
        l->value = repeat(&rows[i], l->note);
    }
}

int doc_measure_save(const struct doc_latencies *l, char *path, size_t cap, struct err *e)
{
    struct out o = out_memory();
    struct json j = { .out = &o, .pretty = true };
    int rc;

    cache_dir(path, cap, "doctor/latency.json");
    json_object(&j);
    for (size_t i = 0; i < l->v.n; i++)
        if (isfinite(l->v.v[i].value))
            json_put_num(&j, l->v.v[i].key, l->v.v[i].value, 3);
    json_end_object(&j);
    rc = cache_store("doctor", "latency.json", o.buf.data, o.buf.n, e);
    out_close(&o, NULL);
    return rc;
}
