/* tgt_pool.h - pages of 4 KiB out of one mapping, anonymous or of a file: all the memory that
 * code inside a profiled program has.
 *
 * Pages come zeroed.  Those never used are taken by an atomic counter, which may lie in the
 * mapping itself so that a reader of the file sees it; those given back form a list under the
 * caller's lock.  tgt_pool_take waits for nothing and may run in a signal handler.  errno is
 * kept.  SPDX-License-Identifier: Apache-2.0 */
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
    uint32_t *next;   /* the first page never used; may run past n_pages */
    struct tgt_lock *lock; /* of the list */
    uint64_t free_page, free_count; /* list through the first word of each */
    int fd;             /* of the file, -1 when anonymous */
    uint64_t allocated; /* bytes of the file that are sure to have blocks */
};

/* BYTES of shared pages of FD, or private ones when it is -1, with nothing taken: the caller
 * sets `next` and `lock`.  0 or -1 with errno. */
int tgt_pool_map(struct tgt_pool *p, uint64_t bytes, int fd);
/* A new file of BYTES with blocks for the first USED; its descriptor, or -1 and no file. */
int tgt_pool_file(const char *path, uint64_t bytes, uint64_t used);

uint64_t tgt_pool_take(struct tgt_pool *p);        /* an address; 0 when there is none */
uint64_t tgt_pool_take_locked(struct tgt_pool *p); /* the same with the lock held */
void tgt_pool_give(struct tgt_pool *p, uint64_t page); /* with the lock held */
/* Whether the file has its blocks up to END, now or after asking for them: a hole on a full
 * disk would be a SIGBUS in the program. */
bool tgt_pool_reserve(struct tgt_pool *p, uint64_t end);

uint32_t tgt_pool_used(const struct tgt_pool *p); /* pages ever taken */

/* In the child of a fork: a mapping of FD (or a private one) takes the place of the pool's at
 * the same addresses.  Pages for which KEEP is true keep their contents, all others are zero:
 * those behind the last kept one were never used, those between are free.  0 or -1. */
int tgt_pool_renew(struct tgt_pool *p, int fd, bool (*keep)(uint64_t page, void *arg), void *arg);

#endif
