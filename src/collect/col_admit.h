/* col_admit.h - whether the agent may be loaded into a running process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_ADMIT_H
#define FATHOM_COLLECT_COL_ADMIT_H

#include <stdint.h>

#include "base/err.h"

/* Check process PID by what the kernel says about it and about ourselves.  Returns 0, and in *AVOID
 * which of our signals it blocks (channel/agent_memory.h); or -1 with *E. */
int col_admit(int64_t pid, uint32_t *avoid, struct err *e);
/* Say why ptrace was refused with ERRNUM. */
int col_admit_refused(int errnum, struct err *e);

#endif
