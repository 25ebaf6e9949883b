/* bench_wake.c - bench-wake HZ SECONDS: wake HZ times a second and do nothing, as the pacing thread
 * of a recorder does.  What a recorder costs beyond that is its own work.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/clock.h"

int main(int argc, char **argv)
{
    uint64_t period_ns = argc == 3 ? 1000000000u / strtoull(argv[1], NULL, 10) : 0;
    uint64_t next = clock_mono_ns(), end;

    if (!period_ns)
        return 2;
    end = next + strtoull(argv[2], NULL, 10) * 1000000000u;
    prctl(PR_SET_TIMERSLACK, 1);
    while (next < end) {
        struct timespec t;

        next += period_ns;
        t = (struct timespec){ (time_t)(next / 1000000000u), (long)(next % 1000000000u) };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    }
    return 0;
}
