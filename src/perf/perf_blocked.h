/* perf_blocked.h - what a thread that is off the CPU waits for, in a word such as "futex".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_BLOCKED_H
#define FATHOM_PERF_PERF_BLOCKED_H

#include <stdint.h>

/* By the number of the system call it is in; -1: none, so it is a page fault. */
const char *perf_blocked_by_call(long number);
/* By the name of a kernel function on its stack; NULL when that tells nothing. */
const char *perf_blocked_by_function(const char *name);

#define PERF_BLOCKED_QUEUE "run queue" /* it could run, but another thread did */
#define PERF_BLOCKED_FAULT "page fault"
#define PERF_BLOCKED_UNKNOWN "unknown"

#endif
