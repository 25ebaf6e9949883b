/* tgt_pool.h - a pool of 4 KiB pages in one mapping, anonymous or of a file.  It is the only
 * memory of code inside a profiled program.
 *
 * Pages are zeroed.  An atomic counter allocates unused pages; it may lie in the mapping, so that
 * readers of the file see it.  Freed pages form a list under the caller's lock.  tgt_pool_take
 * never waits and may run in a signal handler.  errno is preserved.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TARGET_TGT_POOL_H
#define FATHOM_TARGET_TGT_POOL_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "target/tgt_lock.h"

enum { TGT_PAGE = 4096 };

struct tgt_pool {
    uint64_t base;    /* address of page 0 */
    uint32_t n_pages;
    uint32_t *next;   /* the first unused page; may exceed n_pages */
    struct tgt_lock *lock; /* protects the list */
    uint64_t free_page, free_count; /* list linked through the first word of each page */
    int fd;             /* of the file; -1: anonymous */
    uint64_t allocated; /* bytes of the file with allocated blocks */
};

/* Map BYTES of FD as shared pages, or private pages if FD is -1.  No page is taken; the caller
 * sets `next` and `lock`.  Returns 0, or -1 with errno. */
int tgt_pool_map(struct tgt_pool *p, uint64_t bytes, int fd);
/* Give the file FD, which must be a regular one, BYTES, and blocks for the first USED.  Returns 0,
 * or -1. */
int tgt_pool_size(int fd, uint64_t bytes, uint64_t used);

uint64_t tgt_pool_take(struct tgt_pool *p);        /* returns an address, 0 when full */
uint64_t tgt_pool_take_locked(struct tgt_pool *p); /* lock held */
void tgt_pool_free(struct tgt_pool *p, uint64_t page); /* lock held */
/* Allocate the blocks of the file up to END; true if it has them.  A hole on a full disk would
 * raise SIGBUS in the program. */
bool tgt_pool_reserve(struct tgt_pool *p, uint64_t end);

uint32_t tgt_pool_used(const struct tgt_pool *p); /* pages taken so far */

/* In the child of a fork, replace the pool's mapping by one of FD (or a private one) at the same
 * addresses.  Pages for which KEEP is true keep their contents; all others are zero.  Pages after
 * the last kept one become unused, those between kept ones free.  Returns 0 or -1. */
int tgt_pool_renew(struct tgt_pool *p, int fd, bool (*keep)(uint64_t page, void *arg), void *arg);

#endif
