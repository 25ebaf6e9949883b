/* col_ring.h - a ring buffer that the kernel writes records to, read in place.  One reader per
 * ring.  SPDX-License-Identifier: Apache-2.0 */
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
    uint64_t head, tail, released; /* released: the tail last stored for the kernel */
    unsigned char *scratch;   /* for the record that wraps around */
    int fd;                   /* of the event that owns the ring; not closed here */
};

/* Map the ring of event FD with BYTES of data (a power of two).  Returns -1 with errno. */
int col_ring_open(struct col_ring *r, int fd, size_t bytes);
void col_ring_close(struct col_ring *r);

/* Note how far the ring is filled now.  Returns whether it contains records. */
bool col_ring_look(struct col_ring *r);
/* The next noted record, or NULL; *N is its size.  Valid until col_ring_next. */
const void *col_ring_record(struct col_ring *r, size_t *n);
void col_ring_next(struct col_ring *r, size_t n);
void col_ring_release(struct col_ring *r); /* return the space of all records read to the kernel */

#endif
