/* col_zones.h - the regions of libfathom in the programs of a recorded command, as an event
 * source.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_ZONES_H
#define FATHOM_COLLECT_COL_ZONES_H

#include "collect/col_guard.h"
#include "collect/col_source.h"
#include "region/region.h"

struct col_zones {
    struct region_zones into; /* set by the caller */
    struct col_guard guard;   /* its folder is passed to the command */
};

/* Create a directory and pass it to programs as FATHOM_RECORD_DIR until col_zones_hide.  The
 * source reads every region in it and removes it. */
void col_zones_open(struct col_zones *z);
/* After starting the command: unset the variable and start the guard. */
void col_zones_hide(struct col_zones *z);
struct col_source col_zones_source(struct col_zones *z);

#endif
