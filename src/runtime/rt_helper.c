/* rt_helper.c - the one background thread, there only while something is traced: it touches
 * pages before the program's threads need them (a page fault costs as much as forty records)
 * and keeps the clock's rate in the live file fresh.  It takes no signals, holds no lock, and
 * is gone in a forked child, where threads fault their own pages.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { AHEAD = 2048, STEP = 256, BUSY_NS = 1000000, IDLE_NS = 64000000 };

static uint32_t running;

/* Adding nothing, but as a write: the page is there afterwards, whoever has taken it. */
static void touch(uint64_t page, uint32_t n)
{
    if (madvise((void *)(uintptr_t)page, (size_t)n * LIVE_PAGE, MADV_POPULATE_WRITE) == 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        __atomic_fetch_add((uint64_t *)(uintptr_t)(page + (uint64_t)i * LIVE_PAGE), 0,
                           __ATOMIC_RELAXED);
}

static void *help(void *unused)
{
    uint32_t done = 0, from = 0;
    struct timespec pause = { 0, BUSY_NS };

    prctl(PR_SET_NAME, "fathom");
    while (done < rt.trace_pages_max && __atomic_load_n(&running, __ATOMIC_RELAXED)) {
        uint32_t next = __atomic_load_n(&rt.head->next_page, __ATOMIC_RELAXED);

        if (done < next)
            done = next;
        from = done;
        while (done < next + AHEAD && done + STEP <= rt.trace_pages_max &&
               rt_have_blocks((uint64_t)(done + STEP) * LIVE_PAGE)) {
            touch(rt.base + (uint64_t)done * LIVE_PAGE, STEP);
            done += STEP;
        }
        if (done + STEP > rt.trace_pages_max)
            break;
        pause.tv_nsec = done > from ? BUSY_NS
                        : pause.tv_nsec * 2 < IDLE_NS ? pause.tv_nsec * 2 : IDLE_NS;
        rt_clock_refine();
        nanosleep(&pause, NULL);
    }
    __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
    return unused;
}

void rt_helper_start(void)
{
    sigset_t all, old;
    pthread_attr_t attr;
    pthread_t id;
    uint32_t no = 0;
    int saved = errno;

    if (!__atomic_compare_exchange_n(&running, &no, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&id, &attr, help, NULL) != 0)
        __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = saved;
}

void rt_helper_forget(void)
{
    running = 0;
}
