/* rt_fake_clock.h - a clock that advances only when the program moves it, in place of libc's.  With
 * FATHOM_CLOCK=monotonic libfathom reads it, and every run has the same figures.  Include it in
 * one file of a program.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_RT_FAKE_CLOCK_H
#define FATHOM_TESTS_RT_FAKE_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

static _Atomic uint64_t clock_ns = 1000000000;
static uint64_t reading_ns; /* how long each reading takes */

int clock_gettime(clockid_t id, struct timespec *t)
{
    uint64_t now = atomic_fetch_add(&clock_ns, reading_ns) + reading_ns;

    (void)id;
    t->tv_sec = (time_t)(now / 1000000000u);
    t->tv_nsec = (long)(now % 1000000000u);
    return 0;
}

static inline void pass_ns(uint64_t ns)
{
    atomic_fetch_add(&clock_ns, ns);
}

#endif
