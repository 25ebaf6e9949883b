/* col_leave.h - at the end of a recording, agents that were loaded into running processes remove
 * their signal handlers.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_LEAVE_H
#define FATHOM_COLLECT_COL_LEAVE_H

#include "collect/col_pacer.h"

/* Ask the processes of P to leave, and wait for a short time until they have. */
void col_leave(struct col_pacer *p);

#endif
