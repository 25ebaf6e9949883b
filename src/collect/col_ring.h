/* col_ring.h - the memory in which the kernel leaves records, read in place.
 * One reader per ring.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_RING_H
#define FATHOM_COLLECT_COL_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct col_ring {
    struct perf_event_mmap_page *page;
    const unsigned char *data;
    size_t size;              /* of data, a power of two */
    uint64_t head, tail, told; /* told: the tail the kernel knows */
    unsigned char *scratch;   /* for the record that wraps around */
    int fd;                   /* of the event that owns the ring; not closed here */
};

/* Map the ring of event FD, BYTES large (a power of two); -1 with errno. */
int col_ring_open(struct col_ring *r, int fd, size_t bytes);
void col_ring_close(struct col_ring *r);

/* Take note of what is there now; returns whether there is anything. */
bool col_ring_look(struct col_ring *r);
/* The first record of what was there, or NULL; *N is its size.  Valid until col_ring_next. */
const void *col_ring_record(struct col_ring *r, size_t *n);
void col_ring_next(struct col_ring *r, size_t n);
void col_ring_release(struct col_ring *r); /* hand all that was read back to the kernel */

#endif
