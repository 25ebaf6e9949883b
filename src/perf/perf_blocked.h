/* perf_blocked.h - wait kinds such as "futex", from system calls and kernel functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_BLOCKED_H
#define FATHOM_PERF_PERF_BLOCKED_H

#include <stdint.h>

/* From the number of the system call; -1: none, which means a page fault. */
const char *perf_blocked_by_call(long number);
/* From the name of a kernel function on the stack; NULL when it implies nothing. */
const char *perf_blocked_by_function(const char *name);

#endif
