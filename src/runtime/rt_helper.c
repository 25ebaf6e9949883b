/* rt_helper.c - the background thread, which runs only while something is traced.  It touches
 * pages before the program's threads need them (a page fault costs as much as forty records),
 * evicts full pages to the disk when the trace exceeds its memory limit, and updates the clock's
 * rate in the live file.  It blocks all signals and holds no lock.  It does not exist in a forked
 * child, whose threads fault their own pages.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "target/tgt_guard.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { AHEAD = 2048, STEP = 256, BUSY_NS = 1000000, IDLE_NS = 64000000 };

static uint32_t running;

/* Add zero.  The write faults the page in and is harmless if another thread already uses the
 * page. */
static void touch(uint64_t page, uint32_t n)
{
    if (madvise((void *)(uintptr_t)page, (size_t)n * LIVE_PAGE, MADV_POPULATE_WRITE) == 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        __atomic_fetch_add((uint64_t *)(uintptr_t)(page + (uint64_t)i * LIVE_PAGE), 0,
                           __ATOMIC_RELAXED);
}

static uint32_t touch_ahead(uint32_t done, uint32_t next)
{
    if (done < next)
        done = next;
    while (done < next + AHEAD && done + STEP <= rt.trace_pages_max &&
           tgt_pool_reserve(&rt.pool, (uint64_t)(done + STEP) * LIVE_PAGE)) {
        touch(rt.pool.base + (uint64_t)done * LIVE_PAGE, STEP);
        done += STEP;
    }
    return done;
}

/* The file has these pages: unmap them from this process and start writing them to the disk.  A
 * later access reads them back unchanged. */
static void evict(uint32_t first, uint32_t n)
{
    uint64_t at = (uint64_t)first * LIVE_PAGE, bytes = (uint64_t)n * LIVE_PAGE;

    if (n == 0 || madvise((void *)(uintptr_t)(rt.pool.base + at), bytes, MADV_DONTNEED) < 0)
        return;
    sync_file_range(rt.pool.fd, (off_t)at, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
    __atomic_add_fetch(&rt.retired, n, __ATOMIC_RELAXED);
}

static uint32_t retire_behind(uint32_t at, uint32_t next)
{
    while (rt.pool.fd >= 0 && at + STEP + rt.memory_pages / 2 <= next) {
        uint32_t end = at + STEP, from = at;

        for (; at < end; at++)
            if (!rt_page_is_done(rt.pool.base + (uint64_t)at * LIVE_PAGE)) {
                evict(from, at - from);
                from = at + 1;
            }
        evict(from, at - from);
    }
    return at;
}

static void *help(void *unused)
{
    uint32_t done = 0, retired = 0, before;
    struct timespec pause = { 0, BUSY_NS };

    prctl(PR_SET_NAME, "fathom");
    while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
        uint32_t next = __atomic_load_n(&rt.head->next_page, __ATOMIC_RELAXED);

        before = done + retired;
        done = touch_ahead(done, next);
        retired = retire_behind(retired, next);
        if (next + STEP > rt.trace_pages_max)
            break;
        pause.tv_nsec = done + retired > before  ? BUSY_NS
                        : pause.tv_nsec * 2 < IDLE_NS ? pause.tv_nsec * 2 : IDLE_NS;
        rt_clock_refine();
        nanosleep(&pause, NULL);
    }
    __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
    return unused;
}

void rt_helper_start(void)
{
    pthread_attr_t attr;
    pthread_t id;
    uint32_t no = 0;
    TGT_KEEP_ERRNO();

    if (!__atomic_compare_exchange_n(&running, &no, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    TGT_BLOCK_SIGNALS();
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&id, &attr, help, NULL) != 0)
        __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
    pthread_attr_destroy(&attr);
}

void rt_helper_forget(void)
{
    running = 0;
}
