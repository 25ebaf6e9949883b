/* region.h - read the measurements of libfathom from its regions (channel/live.h): the files of a
 * recorded command, or the live file of a killed program.  zones/ computes the figures; this code
 * assigns the ids of a profile.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_REGION_REGION_H
#define FATHOM_REGION_REGION_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "channel/live_read.h"
#include "profile/intern.h"

struct region_zones {
    struct intern *in;
    uint32_t metric; /* defined with the first zones; 0 before */
    /* Return the id of a thread.  NAME is the program's name for it. */
    uint32_t (*thread)(struct region_zones *z, const struct live_header *h, uint32_t tid,
                       const char *name);
    uint32_t (*process)(struct region_zones *z, const struct live_header *h);
    void *context;
    uint64_t dropped, overhead_ns, regions; /* sums over regions */
};

/* Write one region to the sink behind Z->in.  Does not call end(). */
int region_import(struct region_zones *z, const void *data, size_t size, struct err *e);

#endif
