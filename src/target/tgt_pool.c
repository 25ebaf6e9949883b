/* tgt_pool.c - see tgt_pool.h.  SPDX-License-Identifier: Apache-2.0 */
#include "target/tgt_pool.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/tgt_guard.h"

enum { GROW = 1 << 20 };

static uint64_t *first_word(uint64_t page)
{
    return (uint64_t *)(uintptr_t)page;
}

/* ---- The mapping ---- */

int tgt_pool_size(int fd, uint64_t bytes, uint64_t used)
{
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || ftruncate(fd, (off_t)bytes) < 0)
        return -1;
    used = used < GROW ? GROW : used;
    return fallocate(fd, 0, 0, (off_t)used) < 0 && errno != EOPNOTSUPP ? -1 : 0;
}

int tgt_pool_map(struct tgt_pool *p, uint64_t bytes, int fd)
{
    int flags = MAP_NORESERVE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

    if (base == MAP_FAILED)
        return -1;
    *p = (struct tgt_pool){ .base = (uint64_t)(uintptr_t)base, .fd = fd,
                            .n_pages = (uint32_t)(bytes / TGT_PAGE) };
    return 0;
}

bool tgt_pool_reserve(struct tgt_pool *p, uint64_t end)
{
    uint64_t done = __atomic_load_n(&p->allocated, __ATOMIC_RELAXED);
    uint64_t want = (end + GROW - 1) / GROW * GROW;
    TGT_KEEP_ERRNO();

    if (p->fd < 0 || end <= done)
        return true;
    if (want > (uint64_t)p->n_pages * TGT_PAGE)
        want = (uint64_t)p->n_pages * TGT_PAGE;
    /* Some file systems cannot preallocate: continue without. */
    if (fallocate(p->fd, 0, (off_t)done, (off_t)(want - done)) < 0 && errno != EOPNOTSUPP)
        return false;
    __atomic_store_n(&p->allocated, want, __ATOMIC_RELAXED);
    return true;
}

/* ---- Pages ---- */

static uint64_t take_free(struct tgt_pool *p)
{
    uint64_t page = p->free_page;

    if (page) {
        __atomic_store_n(&p->free_page, *first_word(page), __ATOMIC_RELAXED);
        __atomic_store_n(&p->free_count, p->free_count - 1, __ATOMIC_RELAXED);
        *first_word(page) = 0;
    }
    return page;
}

static uint64_t take_new(struct tgt_pool *p)
{
    uint32_t at = __atomic_load_n(p->next, __ATOMIC_RELAXED);

    do {
        if (at >= p->n_pages || !tgt_pool_reserve(p, (uint64_t)(at + 1) * TGT_PAGE))
            return 0;
    } while (!__atomic_compare_exchange_n(p->next, &at, at + 1, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return p->base + (uint64_t)at * TGT_PAGE;
}

uint64_t tgt_pool_take_locked(struct tgt_pool *p)
{
    uint64_t page = take_free(p);

    return page ? page : take_new(p);
}

uint64_t tgt_pool_take(struct tgt_pool *p)
{
    uint64_t page = 0;

    if (__atomic_load_n(&p->free_page, __ATOMIC_RELAXED) && tgt_lock_try(p->lock)) {
        page = take_free(p);
        tgt_unlock(p->lock);
    }
    return page ? page : take_new(p);
}

static void put_on_list(struct tgt_pool *p, uint64_t page)
{
    *first_word(page) = p->free_page;
    __atomic_store_n(&p->free_page, page, __ATOMIC_RELAXED);
    __atomic_store_n(&p->free_count, p->free_count + 1, __ATOMIC_RELAXED);
}

void tgt_pool_free(struct tgt_pool *p, uint64_t page)
{
    memset((void *)(uintptr_t)page, 0, TGT_PAGE);
    put_on_list(p, page);
}

uint32_t tgt_pool_used(const struct tgt_pool *p)
{
    uint32_t next = __atomic_load_n(p->next, __ATOMIC_RELAXED);

    return next < p->n_pages ? next : p->n_pages;
}

/* ---- After a fork ---- */

struct kept { /* saved pages of a pool, packed */
    uint8_t *is_kept; /* indexed by page */
    uint8_t *copy;
    uint32_t used, n;
};

static void *map_private(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static void *page_at(const struct tgt_pool *p, uint32_t i)
{
    return (void *)(uintptr_t)(p->base + (uint64_t)i * TGT_PAGE);
}

static int copy_kept(const struct tgt_pool *p, struct kept *k,
                     bool (*keep)(uint64_t page, void *arg), void *arg)
{
    uint32_t at = 0;

    k->used = tgt_pool_used(p);
    k->is_kept = map_private((size_t)k->used + 1);
    if (!k->is_kept)
        return -1;
    for (uint32_t i = 0; i < k->used; i++)
        k->n += k->is_kept[i] = keep(p->base + (uint64_t)i * TGT_PAGE, arg);
    k->copy = map_private(((size_t)k->n + 1) * TGT_PAGE);
    for (uint32_t i = 0; k->copy && i < k->used; i++)
        if (k->is_kept[i])
            memcpy(k->copy + (size_t)at++ * TGT_PAGE, page_at(p, i), TGT_PAGE);
    return k->copy ? 0 : -1;
}

static void restore_pages(struct tgt_pool *p, const struct kept *k)
{
    uint32_t at = 0, last = 0;

    for (uint32_t i = 0; i < k->used; i++)
        if (k->is_kept[i]) {
            memcpy(page_at(p, i), k->copy + (size_t)at++ * TGT_PAGE, TGT_PAGE);
            last = i + 1;
        }
    p->free_page = p->free_count = 0;
    for (uint32_t i = 0; i < last; i++)
        if (!k->is_kept[i])
            put_on_list(p, p->base + (uint64_t)i * TGT_PAGE);
    *p->next = last;
}

int tgt_pool_renew(struct tgt_pool *p, int fd, bool (*keep)(uint64_t page, void *arg), void *arg)
{
    int flags = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | MAP_FIXED | MAP_NORESERVE;
    size_t bytes = (size_t)p->n_pages * TGT_PAGE;
    struct kept k = { 0 };
    int rc = copy_kept(p, &k, keep, arg);

    if (rc == 0 && mmap((void *)(uintptr_t)p->base, bytes, PROT_READ | PROT_WRITE, flags, fd, 0) ==
                       MAP_FAILED)
        rc = -1;
    if (rc == 0) {
        p->fd = fd;
        p->allocated = 0;
        restore_pages(p, &k);
    }
    if (k.copy)
        munmap(k.copy, ((size_t)k.n + 1) * TGT_PAGE);
    if (k.is_kept)
        munmap(k.is_kept, (size_t)k.used + 1);
    return rc;
}
