/* col_inject.h - load the agent into a running process, and make it join a recording.
 *
 * A thread of the process is stopped where it holds no lock, and continues in col_stub, which calls
 * dlopen.  The process survives our death at any moment: until the last step, which changes all
 * registers at once, only bytes that nobody uses were written; after it the process needs us no
 * more.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_INJECT_H
#define FATHOM_COLLECT_COL_INJECT_H

#include <stdint.h>

#include "base/err.h"
#include "channel/agent_memory.h"

/* Make process PID join the recording with memory M, whose links are in FOLDER.  Returns -1 if it
 * has not joined, and *E says why. */
int col_inject(int64_t pid, const char *folder, struct agent_memory *m, struct err *e);

#endif
