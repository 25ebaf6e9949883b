/* col_code.h - the mappings with code of a paced process, read again when they may have changed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_CODE_H
#define FATHOM_COLLECT_COL_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/col_batch.h"
#include "collect/col_paced.h"

/* Append the lines of PID's maps with code.  Returns whether the memory of the agents, with INODE,
 * is among all lines. */
bool col_code_read(int64_t pid, uint64_t inode, struct buf *code);
/* A library may have taken the place of one that was unloaded: read X's maps now, a sample of NOW
 * needs them, and several times later. */
void col_code_changed(struct col_paced_process *x, struct col_batch *b, uint64_t now);
/* X was sampled at TIME_NS and has no agent to tell of changes: read its maps, unless that would
 * cost more than a few percent of the time since the last reading. */
void col_code_refresh(struct col_paced_process *x, struct col_batch *b, uint64_t time_ns);
/* Tell the main thread that X runs the program that it runs now. */
void col_code_exec(struct col_paced_process *x, struct col_batch *b, uint64_t time_ns);
/* A sample of TIME_NS was taken at PC: read X's maps again if they do not contain it.  The process
 * may end before the main thread gets the sample. */
void col_code_need(struct col_paced_process *x, uint64_t pc, struct col_batch *b, uint64_t time_ns);
/* Read them again if it is time. */
void col_code_look(struct col_paced_process *x, struct col_batch *b, uint64_t now);

#endif
