/* live_region.h - a hand-made region of libfathom (channel/live.h): a running thread and the sum
 * of ended threads, with every kind of site.  Times are nanoseconds.  An empty zone measures 10 ns
 * and costs 24 ns (precise: 12 and 40).  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_LIVE_REGION_H
#define FATHOM_TESTS_LIVE_REGION_H

#include "channel/live.h"

enum {
    REGION_PAGES = 32,
    REGION_BYTES = REGION_PAGES * LIVE_PAGE,
    REGION_START = 1000, /* ticks and nanoseconds of its start */
    REGION_END = 1000000,
};

/* A complete region in static memory; each call builds it again. */
unsigned char *live_region(void);
struct live_header *live_region_header(void);
/* The node NAME of thread 0 (running) or 1 (the sum of ended threads). */
struct fathom_node_ *live_region_node(int thread, const char *name);
struct live_thread *live_region_thread(int thread);

#endif
