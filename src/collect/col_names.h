/* col_names.h - new names of the threads of a paced process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_NAMES_H
#define FATHOM_COLLECT_COL_NAMES_H

#include "collect/col_pacer.h"

struct col_paced_process;

/* If the agent of X reports that a thread took another name, tell the main thread.  The name of a
 * thread without samples does not matter: it is read with the first one. */
void col_names_look(struct col_pacer *p, struct col_paced_process *x, uint64_t now);

#endif
