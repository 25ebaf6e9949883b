/* perf_event.h - names of the kernel's generic events, for the recorder and the importers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_EVENT_H
#define FATHOM_PERF_PERF_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The metric of the clock events, whatever their name: time running on a CPU. */
#define PERF_CPU_METRIC "cpu"

struct perf_event {
    const char *name, *alias; /* as perf spells them; ALIAS may be NULL */
    uint32_t type;            /* PERF_TYPE_* */
    uint64_t config;
};

/* The event whose name or alias is the N bytes of TEXT; NULL if there is none. */
const struct perf_event *perf_event_find(const char *text, size_t n);
/* The event with this TYPE and CONFIG; NULL if it has no generic name. */
const struct perf_event *perf_event_of(uint32_t type, uint64_t config);
/* Whether the period of this event is in nanoseconds. */
bool perf_event_is_clock(uint32_t type, uint64_t config);

#endif
