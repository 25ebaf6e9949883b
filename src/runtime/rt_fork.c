/* rt_fork.c - a child after fork measures into a region of its own.
 * The mapping is shared with the parent when it is a file, so the child puts another one over
 * the same addresses at once: every pointer stays good.  Sites, names and the calling
 * thread's tree are kept, with nothing counted; other threads do not exist in the child.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void before(void)
{
    rt_lock_threads();
    rt_lock();
}

static void in_parent(void)
{
    rt_unlock();
    rt_unlock_threads();
}

/* The pages the child goes on with, copied aside: those that name things, and the tree of
 * the thread that forked. */
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

static uint32_t pages_used(void)
{
    return rt.head->next_page < rt.n_pages ? rt.head->next_page : rt.n_pages;
}

/* Copy the kept pages to a packed place and back around the change of mapping. */
static int replace_mapping(struct live_thread *own)
{
    uint32_t used = pages_used(), n = 0, at = 0;
    size_t bytes = (size_t)rt.n_pages * LIVE_PAGE;
    uint8_t *copy, *table;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *fresh;

    table = mmap(NULL, used, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (table == MAP_FAILED)
        return -1;
    for (uint32_t i = 0; i < used; i++) {
        table[i] = is_kept(rt.base + (uint64_t)i * LIVE_PAGE, kinds(rt.base)[i], own);
        n += table[i];
    }
    copy = mmap(NULL, (size_t)n * LIVE_PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (copy == MAP_FAILED)
        return -1;
    for (uint32_t i = 0; i < used; i++)
        if (table[i])
            memcpy(copy + (size_t)at++ * LIVE_PAGE,
                   (void *)(uintptr_t)(rt.base + (uint64_t)i * LIVE_PAGE), LIVE_PAGE);
    flags = (rt.fd >= 0 ? MAP_SHARED : flags) | MAP_FIXED | MAP_NORESERVE;
    fresh = mmap((void *)(uintptr_t)rt.base, bytes, PROT_READ | PROT_WRITE, flags, rt.fd, 0);
    if (fresh == MAP_FAILED)
        return -1;
    at = 0;
    for (uint32_t i = 0; i < used; i++)
        if (table[i])
            memcpy((void *)(uintptr_t)(rt.base + (uint64_t)i * LIVE_PAGE),
                   copy + (size_t)at++ * LIVE_PAGE, LIVE_PAGE);
    munmap(copy, (size_t)n * LIVE_PAGE);
    munmap(table, used);
    return 0;
}

/* The rest of the fresh mapping is zeroes: what lies behind the last kept page was never
 * used, what lies between goes to the free list. */
static void forget_lost_pages(const struct live_thread *own)
{
    uint32_t used = pages_used(), last = 0;
    uint8_t *kind = kinds(rt.base);

    rt.free_page = rt.free_count = rt.trace_pages = 0;
    for (uint32_t i = 0; i < used; i++)
        if (is_kept(rt.base + (uint64_t)i * LIVE_PAGE, kind[i], own))
            last = i;
    for (uint32_t i = 0; i < used; i++) {
        uint64_t page = rt.base + (uint64_t)i * LIVE_PAGE;

        if (is_kept(page, kind[i], own))
            continue;
        kind[i] = LIVE_FREE;
        if (i < last) {
            *(uint64_t *)(uintptr_t)page = rt.free_page;
            rt.free_page = page;
            rt.free_count++;
        }
    }
    rt.head->next_page = last + 1;
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

/* PATH.1234 for the child with pid 1234; the parent's own number is replaced. */
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

static void open_child_file(void)
{
    char path[RT_PATH + 16];

    if (rt.fd < 0)
        return;
    close(rt.fd);
    rt.allocated = 0;
    child_path(path, sizeof path);
    if (strlen(path) >= RT_PATH)
        path[0] = 0;
    rt.fd = rt_region_file(path, (uint64_t)rt.n_pages * LIVE_PAGE,
                           (uint64_t)pages_used() * LIVE_PAGE);
    snprintf(rt.live_path, sizeof rt.live_path, "%.511s", rt.fd < 0 ? "" : path);
}

static void in_child(void)
{
    struct live_thread *own = rt_of(fathom_thread_now_);
    struct live_header *h = rt.head;

    rt_locks_forget();
    rt_helper_forget();
    if (!h)
        return;
    open_child_file();
    if (replace_mapping(own) < 0) {
        rt_stop_measuring(); /* nothing rather than into the parent's file */
        return;
    }
    h->parent_pid = h->pid;
    h->pid = (uint32_t)getpid();
    h->finished = 0;
    h->cleared_ticks = rt_ticks();
    h->epoch++;
    memset(h->lost, 0, sizeof h->lost);
    forget_lost_pages(own);
    keep_tree(own);
}

void rt_fork_init(void)
{
    pthread_atfork(before, in_parent, in_child);
}
