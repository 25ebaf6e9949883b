/* col_adopt.h - processes with an agent: from a record in the shared memory to a paced process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_ADOPT_H
#define FATHOM_COLLECT_COL_ADOPT_H

#include "collect/col_pacer.h"

/* Add the processes that have announced themselves to P, and tell the main thread of them. */
void col_adopt_new(struct col_pacer *p, uint64_t now);
/* Process I of P has ended. */
void col_adopt_end(struct col_pacer *p, size_t i, uint64_t now);
/* X is in place of what P knows of the same pid: the process has executed another program, at
 * START_NS or before. */
void col_adopt_replace(struct col_pacer *p, struct col_paced_process *x, uint64_t start_ns);
/* Forget a process and what it was asked for. */
void col_adopt_free(struct col_pacer *p, struct col_paced_process *x);

#endif
