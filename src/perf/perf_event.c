/* perf_event.c - see perf_event.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_event.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/mem.h"

enum { HW = PERF_TYPE_HARDWARE, SW = PERF_TYPE_SOFTWARE, CACHE = PERF_TYPE_HW_CACHE };
#define CACHE_ID(what, op, result)                                      \
    (PERF_COUNT_HW_CACHE_##what | PERF_COUNT_HW_CACHE_OP_##op << 8 |    \
     PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct perf_event known[] = {
    { "cpu-clock", "cpu", SW, PERF_COUNT_SW_CPU_CLOCK },
    { "task-clock", NULL, SW, PERF_COUNT_SW_TASK_CLOCK },
    { "page-faults", "faults", SW, PERF_COUNT_SW_PAGE_FAULTS },
    { "minor-faults", NULL, SW, PERF_COUNT_SW_PAGE_FAULTS_MIN },
    { "major-faults", NULL, SW, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
    { "context-switches", "cs", SW, PERF_COUNT_SW_CONTEXT_SWITCHES },
    { "cpu-migrations", "migrations", SW, PERF_COUNT_SW_CPU_MIGRATIONS },
    { "alignment-faults", NULL, SW, PERF_COUNT_SW_ALIGNMENT_FAULTS },
    { "emulation-faults", NULL, SW, PERF_COUNT_SW_EMULATION_FAULTS },
    { "cycles", "cpu-cycles", HW, PERF_COUNT_HW_CPU_CYCLES },
    { "instructions", NULL, HW, PERF_COUNT_HW_INSTRUCTIONS },
    { "cache-references", NULL, HW, PERF_COUNT_HW_CACHE_REFERENCES },
    { "cache-misses", NULL, HW, PERF_COUNT_HW_CACHE_MISSES },
    { "branches", "branch-instructions", HW, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
    { "branch-misses", NULL, HW, PERF_COUNT_HW_BRANCH_MISSES },
    { "bus-cycles", NULL, HW, PERF_COUNT_HW_BUS_CYCLES },
    { "ref-cycles", NULL, HW, PERF_COUNT_HW_REF_CPU_CYCLES },
    { "stalled-cycles-frontend", NULL, HW, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
    { "stalled-cycles-backend", NULL, HW, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
    { "L1-dcache-loads", NULL, CACHE, CACHE_ID(L1D, READ, ACCESS) },
    { "L1-dcache-load-misses", NULL, CACHE, CACHE_ID(L1D, READ, MISS) },
    { "L1-icache-load-misses", NULL, CACHE, CACHE_ID(L1I, READ, MISS) },
    { "LLC-loads", NULL, CACHE, CACHE_ID(LL, READ, ACCESS) },
    { "LLC-load-misses", NULL, CACHE, CACHE_ID(LL, READ, MISS) },
    { "dTLB-load-misses", NULL, CACHE, CACHE_ID(DTLB, READ, MISS) },
    { "iTLB-load-misses", NULL, CACHE, CACHE_ID(ITLB, READ, MISS) },
};

static bool is_named(const char *name, const char *text, size_t n)
{
    return name && strlen(name) == n && memcmp(name, text, n) == 0;
}

const struct perf_event *perf_event_find(const char *text, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (is_named(known[i].name, text, n) || is_named(known[i].alias, text, n))
            return &known[i];
    return NULL;
}

const struct perf_event *perf_event_of(uint32_t type, uint64_t config)
{
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i].type == type && known[i].config == config)
            return &known[i];
    return NULL;
}

bool perf_event_is_clock(uint32_t type, uint64_t config)
{
    return type == SW && (config == PERF_COUNT_SW_CPU_CLOCK || config == PERF_COUNT_SW_TASK_CLOCK);
}
