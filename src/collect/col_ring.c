/* col_ring.c - see col_ring.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

enum { SCRATCH = 1 << 16 }; /* record sizes are 16 bits */

int col_ring_open(struct col_ring *r, int fd, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    memset(r, 0, sizeof *r);
    if (at == MAP_FAILED)
        return -1;
    r->page = at;
    r->data = (unsigned char *)at + page;
    r->size = bytes;
    r->fd = fd;
    r->scratch = mem_alloc(SCRATCH);
    return 0;
}

void col_ring_close(struct col_ring *r)
{
    if (r->page)
        munmap(r->page, (size_t)(r->data - (unsigned char *)r->page) + r->size);
    free(r->scratch);
    memset(r, 0, sizeof *r);
}

bool col_ring_look(struct col_ring *r)
{
    r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
    return r->head != r->tail;
}

const void *col_ring_record(struct col_ring *r, size_t *n)
{
    size_t at = (size_t)(r->tail & (r->size - 1)), first = r->size - at;
    const struct perf_event_header *h = (const void *)(r->data + at);

    if (r->head - r->tail < sizeof *h)
        return NULL;
    *n = h->size; /* records are multiples of 8: a header never wraps */
    if (*n < sizeof *h || *n > r->head - r->tail) {
        r->tail = r->head; /* invalid record: skip the rest */
        return NULL;
    }
    if (*n <= first)
        return h;
    memcpy(r->scratch, r->data + at, first);
    memcpy(r->scratch + first, r->data, *n - first);
    return r->scratch;
}

void col_ring_release(struct col_ring *r)
{
    __atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
    r->released = r->tail;
}

void col_ring_next(struct col_ring *r, size_t n)
{
    r->tail += n;
    /* Updating the tail for every record would bounce its cache line between two CPUs. */
    if (r->tail - r->released >= r->size / 8)
        col_ring_release(r);
}
