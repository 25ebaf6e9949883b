/* guard.c - see guard.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/guard.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARDS_MAX = 1024 };

/* Read by the handler, which may interrupt a change: START is written last and cleared first. */
static struct guard {
    uintptr_t start, end; /* START 0: unused */
    bool hit;
} guard[GUARDS_MAX];
static uintptr_t page;

static struct guard *find(uintptr_t start)
{
    for (size_t i = 0; start && i < GUARDS_MAX; i++)
        if (__atomic_load_n(&guard[i].start, __ATOMIC_ACQUIRE) == start)
            return &guard[i];
    return NULL;
}

static struct guard *find_around(uintptr_t address)
{
    for (size_t i = 0; i < GUARDS_MAX; i++) {
        uintptr_t start = __atomic_load_n(&guard[i].start, __ATOMIC_ACQUIRE);

        if (start && address >= start && address < guard[i].end)
            return &guard[i];
    }
    return NULL;
}

/* Put a page of zeros where the file has none.  Any other SIGBUS ends the process: it returns with
 * the default action and happens again. */
static void on_missing_page(int number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr & ~(page - 1);
    struct guard *g = info->si_code == BUS_ADRERR ? find_around(address) : NULL;

    (void)context;
    if (g && mmap((void *)address, page, PROT_READ | PROT_WRITE, /* NOLINT */
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
        __atomic_store_n(&g->hit, true, __ATOMIC_RELAXED);
        return;
    }
    signal(number, SIG_DFL);
    if (info->si_code <= 0) /* from kill */
        raise(number);
}

static void install(void)
{
    struct sigaction a = { .sa_sigaction = on_missing_page, .sa_flags = SA_SIGINFO };

    page = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigemptyset(&a.sa_mask);
    sigaction(SIGBUS, &a, NULL);
}

bool guard_add(const void *start, size_t size)
{
    if (!page)
        install();
    for (size_t i = 0; i < GUARDS_MAX; i++)
        if (!guard[i].start) {
            guard[i].end = (uintptr_t)start + size;
            guard[i].hit = false;
            __atomic_store_n(&guard[i].start, (uintptr_t)start, __ATOMIC_RELEASE);
            return true;
        }
    return false;
}

bool guard_was_hit(const void *start)
{
    const struct guard *g = find((uintptr_t)start);

    return g && __atomic_load_n(&g->hit, __ATOMIC_RELAXED);
}

void guard_remove(const void *start)
{
    struct guard *g = find((uintptr_t)start);

    if (g)
        __atomic_store_n(&g->start, 0, __ATOMIC_RELEASE);
}
