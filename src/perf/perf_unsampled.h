/* perf_unsampled.h - CPU time that no sample covers.
 *
 * A timer samples a thread for the first time when it has run for a whole period: of 1,000 threads
 * that run for 0.5 ms each, a period of 1 ms sees none.  When the kernel switches from a thread to
 * one that it created, the two also exchange their timers, and the part of a period that the parent
 * ran is lost with the child.
 *
 * The kernel measures the CPU time of all threads together, so the missing time is known.  It
 * becomes one sample of each thread, with only the frame "[not sampled]".  Its distribution is an
 * estimate: a thread misses at most a period, and no more than it lived; the rest belongs to the
 * threads that created those without samples.  If no record described these, or hardly anything
 * was sampled, as of a setuid program that an ordinary user records, it belongs to the first
 * thread.
 * Time of lost samples is left out, since these may belong to any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_UNSAMPLED_H
#define FATHOM_PERF_PERF_UNSAMPLED_H

#include "perf/perf_process.h"

struct perf_unsampled {
    uint32_t metric;     /* a clock with a sample each */
    uint64_t period_ns;
    uint64_t sampled_ns, unsampled_ns; /* CPU time with and without samples */
    uint64_t lost_ns;    /* part of unsampled_ns that lost samples stand for */
    uint64_t stop_ns;    /* end of the recording */
    bool some_unknown;   /* no record described threads that were not sampled */
};

/* Whether UNSAMPLED_NS is more than what threads run after their last samples, which is noise. */
static inline bool perf_unsampled_matters(const struct perf_unsampled *u)
{
    return u->unsampled_ns > 5 * u->period_ns &&
           u->unsampled_ns > (u->sampled_ns + u->unsampled_ns) / 100;
}

/* Add the samples to the sink, if their time matters.  Call at the end. */
void perf_unsampled_add(struct perf_processes *p, const struct perf_unsampled *u);

#endif
