/* rt_rows.h - the rows of this process: what reports, exports, baselines and rules start from.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RUNTIME_RT_ROWS_H
#define FATHOM_RUNTIME_RT_ROWS_H

#include "zones/zone_rows.h"

/* Of this process now.  PER_THREAD keeps threads apart.  0 or FATHOM_E_*; zone_rows_free
 * releases. */
int rt_rows_take(struct zone_rows *r, bool per_thread);

/* One sentence on standard error, by write(2): only for what the user must know. */
void rt_complain(const char *what, const char *about);

#endif
