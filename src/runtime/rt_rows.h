/* rt_rows.h - the rows of this process: input of reports, exports, baselines and rules.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RUNTIME_RT_ROWS_H
#define FATHOM_RUNTIME_RT_ROWS_H

#include "zones/zone_rows.h"

/* Read the rows of this process.  PER_THREAD keeps threads separate.  Returns 0 or FATHOM_E_*;
 * release with zone_rows_free. */
int rt_rows_take(struct zone_rows *r, bool per_thread);

/* Print one sentence to standard error with write(2).  Only for what the user must see. */
void rt_complain(const char *what, const char *about);

#endif
