/* clock.h - time in nanoseconds.  Async-signal-safe.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_CLOCK_H
#define FATHOM_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_mono_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

#endif
