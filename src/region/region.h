/* region.h - what libfathom measured inside a program, from its region (channel/live.h): the files
 * that a recorded command leaves behind, or one that a killed program left.  zones/ computes the
 * figures; here they get the ids of a profile.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_REGION_REGION_H
#define FATHOM_REGION_REGION_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "channel/live_read.h"
#include "profile/intern.h"

struct region_zones {
    struct intern *in;
    uint32_t metric; /* made when the first zones come; 0 before */
    /* The id of a thread; NAME as the program calls it. */
    uint32_t (*thread)(struct region_zones *z, const struct live_header *h, uint32_t tid,
                       const char *name);
    uint32_t (*process)(struct region_zones *z, const struct live_header *h);
    void *context;
    uint64_t dropped, overhead_ns, regions; /* added up over regions */
};

/* One region into the sink behind Z->in.  end() is not called. */
int region_import(struct region_zones *z, const void *data, size_t size, struct err *e);

#endif
