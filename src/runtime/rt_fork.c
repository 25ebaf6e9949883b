/* rt_fork.c - after fork, the child measures into a region of its own.  If the mapping is a file,
 * the parent shares it.  The child immediately maps another region at the same addresses, so every
 * pointer stays valid.  Sites, names and the calling thread's tree are kept with zero counts;
 * other threads do not exist in the child.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/tgt_fork.h"

/* Copy the pages that the child keeps: those with names, and the tree of the forking thread. */
static bool is_kept(uint64_t page, uint8_t kind, const struct live_thread *own)
{
    switch (kind) {
    case LIVE_HEADER: case LIVE_STRINGS: case LIVE_NAMES: case LIVE_CONTEXTS:
    case LIVE_SITES: case LIVE_OTHER:
        return true;
    case LIVE_THREAD:
        return page == (uint64_t)(uintptr_t)own;
    case LIVE_NODES:
        return own && ((struct live_slot0 *)(uintptr_t)page)->thread ==
                          (uint64_t)(uintptr_t)own;
    default:
        return false;
    }
}

static uint8_t *kinds(uint64_t base)
{
    return (uint8_t *)(uintptr_t)(base + LIVE_PAGE);
}

static bool keeps(uint64_t page, void *own)
{
    uint32_t i = (uint32_t)((page - rt.pool.base) / LIVE_PAGE);

    return is_kept(page, kinds(rt.pool.base)[i], own);
}

/* Pages that were not kept are now zero.  Mark them free for readers. */
static void forget_lost_pages(uint32_t used, struct live_thread *own)
{
    uint8_t *kind = kinds(rt.pool.base);

    for (uint32_t i = 0; i < used; i++)
        if (!keeps(rt.pool.base + (uint64_t)i * LIVE_PAGE, own))
            kind[i] = LIVE_FREE;
    rt.trace_pages = 0;
}

static void keep_tree(struct live_thread *own)
{
    rt.threads = (uint64_t)(uintptr_t)own;
    if (!own)
        return;
    own->next = 0;
    own->tid = (uint32_t)syscall(SYS_gettid);
    own->oldest = own->ext_page = own->ext_next = own->hot.ring[0] = own->hot.ring[1] = 0;
    own->busy = own->trace_full = 0;
    memset(own->spare, 0, sizeof own->spare);
    memset(own->waiting, 0, sizeof own->waiting);
    for (uint64_t page = own->node_page; page;
         page = ((struct live_slot0 *)(uintptr_t)page)->next)
        for (int i = 1; i < LIVE_NODES_PER_PAGE; i++) {
            struct fathom_node_ *n = (struct fathom_node_ *)(uintptr_t)page + i;

            n->hist = n->hist == rt.no_histogram ? n->hist : 0;
            n->ext = 0;
        }
    rt_thread_reset(own, true);
}

/* PATH.1234 for the child with pid 1234; it replaces the parent's pid. */
static void child_path(char *path, size_t cap)
{
    char stem[RT_PATH];
    size_t n = strlen(rt.live_path), digits = 0;

    memcpy(stem, rt.live_path, n + 1);
    while (digits < n && stem[n - 1 - digits] >= '0' && stem[n - 1 - digits] <= '9')
        digits++;
    if (digits && digits < n && stem[n - 1 - digits] == '.')
        stem[n - 1 - digits] = 0;
    snprintf(path, cap, "%s.%d", stem, (int)getpid());
}

/* Open the child's own live file.  Returns its descriptor, or -1 when it has none. */
static int open_child_file(uint32_t used)
{
    char path[RT_PATH + 16];
    int fd;

    if (rt.pool.fd < 0)
        return -1;
    close(rt.pool.fd);
    child_path(path, sizeof path);
    fd = rt_region_file(path, (uint64_t)rt.pool.n_pages * LIVE_PAGE, (uint64_t)used * LIVE_PAGE);
    if (fd < 0)
        rt.live_path[0] = 0;
    return fd;
}

static void in_child(void)
{
    struct live_thread *own = rt_of(fathom_thread_now_);
    struct live_header *h = rt.head;
    uint32_t used;

    rt_helper_forget();
    if (!h)
        return;
    used = tgt_pool_used(&rt.pool);
    if (tgt_pool_renew(&rt.pool, open_child_file(used), keeps, own) < 0) {
        rt_stop_measuring(); /* never write to the parent's file */
        return;
    }
    h->parent_pid = h->pid;
    h->pid = (uint32_t)getpid();
    h->finished = 0;
    h->cleared_ticks = rt_ticks();
    h->epoch++;
    memset(h->lost, 0, sizeof h->lost);
    forget_lost_pages(used, own);
    keep_tree(own);
}

void rt_fork_init(void)
{
    static const struct tgt_fork follow = { { &rt.threads_lock, &rt.lock }, in_child };

    tgt_fork_follow(&follow);
}
