/* col_zones.h - what libfathom measured inside a program, from its region (channel/live.h):
 * the files a recorded command leaves behind, or one a killed program left.  zones/ computes
 * the figures; here they get the ids of a recording.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_ZONES_H
#define FATHOM_COLLECT_COL_ZONES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "channel/live_read.h"
#include "profile/intern.h"

struct col_zones {
    struct intern *in;
    uint32_t metric; /* made when the first zones come; 0 before */
    /* The id of a thread; NAME as the program calls it. */
    uint32_t (*thread)(struct col_zones *z, const struct live_header *h, uint32_t tid,
                       const char *name);
    uint32_t (*process)(struct col_zones *z, const struct live_header *h);
    void *context;
    uint64_t dropped, overhead_ns, regions; /* added up over regions */
    char folder[256]; /* given to the command; "" = none */
};

/* One region into the sink behind Z->in.  end() is not called. */
int col_zones_import(struct col_zones *z, const void *data, size_t size, struct err *e);

/* For a recording: make a folder and tell programs of it (FATHOM_RECORD_DIR) until
 * col_zones_close; import every region in it; remove it. */
void col_zones_open(struct col_zones *z);
void col_zones_hide(struct col_zones *z); /* the command has started: forget the variable */
void col_zones_take(struct col_zones *z);
void col_zones_close(struct col_zones *z);

#endif
