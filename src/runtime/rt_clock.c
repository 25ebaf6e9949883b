/* rt_clock.c - choose the clock and convert its ticks to nanoseconds.  The clock is the cycle
 * counter where it is reliable, else CLOCK_MONOTONIC.  Starting does not wait: it reads both
 * clocks once, and each report reads them again.  The longer the time between, the more precise
 * the rate.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/clock.h"
#include "channel/live_read.h"
#include "target/tgt_guard.h"

enum { TRIES = 7, PAIRS = 64, CHUNKS = 20, ENOUGH_NS = 2000000, NOTE_TICKS = 1 << 28 };

uint64_t fathom_now_ns(void)
{
    return clock_mono_ns();
}

uint64_t rt_ticks(void)
{
    return rt.slow_clock ? clock_mono_ns() : fathom_cycles();
}

/* The kernel checks the counter against other clocks and stops using it when it drifts. */
static bool kernel_rejects_counter(void)
{
    char name[32] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    if (read(fd, name, sizeof name - 1) < 0)
        name[0] = 0;
    close(fd);
    return !strncmp(name, "hpet", 4) || !strncmp(name, "acpi_pm", 7) ||
           !strncmp(name, "jiffies", 7) || !strncmp(name, "refined", 7);
}

static bool counter_is_steady(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;

    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8))
        return false;
    return !kernel_rejects_counter();
#elif defined(__aarch64__)
    return true; /* guaranteed by the architecture */
#else
    return false;
#endif
}

/* Read both clocks at one instant.  Keep the tightest of a few tries, so that an interruption
 * between the readings does not matter. */
static void read_both(uint64_t *ticks, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) {
        uint64_t before = rt_ticks(), now = clock_mono_ns(), after = rt_ticks();

        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = now;
        }
    }
}

/* Measure the time that an empty zone reads between its begin and end, and the time that both take.
 * Run the code of a zone on a private node and page.  Take the minimum of many means: a counter
 * that moves in steps of ten nanoseconds makes single readings up to a step too short. */
static struct live_cost cost_of(bool slow, bool fenced)
{
    static uint64_t page[LIVE_PAGE / 8] __attribute__((aligned(4096)));
    uint64_t ring;
    struct live_cost cost = { UINT64_MAX, UINT64_MAX };
    struct fathom_node_ node = { .min = UINT64_MAX, .ring = &ring };

    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        uint64_t from = slow ? clock_mono_ns() : fathom_cycles(), start = 0, now = 0;
        uint64_t before = node.total;

        ring = (uint64_t)(uintptr_t)page + LIVE_HEAD;
        for (int i = 0; i < PAIRS; i++) {
            start = slow ? clock_mono_ns() : fathom_cycles();
            FATHOM_PUT_(node.open, start);
            now = slow ? clock_mono_ns() : fenced ? rt_fenced_cycles() : fathom_cycles();
            fathom_count_(&node, start, now - start);
        }
        cost.pair = now - from < cost.pair ? now - from : cost.pair;
        cost.inner = node.total - before < cost.inner ? node.total - before : cost.inner;
    }
    cost.inner = (cost.inner + PAIRS / 2) / PAIRS;
    cost.pair = (cost.pair + PAIRS / 2) / PAIRS;
    return cost;
}

static void keep_least(struct live_cost *to, struct live_cost c)
{
    if (!to->pair || c.inner < to->inner)
        tgt_put(&to->inner, c.inner);
    if (!to->pair || c.pair < to->pair)
        tgt_put(&to->pair, c.pair);
}

/* Called at the start and at each report: a processor that was slow at first is faster later.  The
 * lock is held because of the static page.  Each variant is compiled separately, so that no test
 * of the clock lies between the readings. */
void rt_clock_cost(struct live_header *h)
{
    keep_least(&h->cost[0], rt.slow_clock ? cost_of(true, false) : cost_of(false, false));
    keep_least(&h->cost[1], rt.slow_clock ? cost_of(true, true) : cost_of(false, true));
}

void rt_clock_init(struct live_header *h)
{
    const char *choice = rt_env("FATHOM_CLOCK");

    rt.slow_clock = !counter_is_steady() || (choice && !strcmp(choice, "monotonic"));
    h->clock = rt.slow_clock ? LIVE_NANOSECONDS : LIVE_TICKS;
    read_both(&h->start_ticks, &h->start_ns);
    h->last_ticks = h->start_ticks;
    h->last_ns = h->start_ns;
    h->start_realtime_ns = clock_ns(CLOCK_REALTIME);
    h->boot = live_boot_id();
    rt_clock_cost(h);
}

/* Called by threads that change pages: a reader of a killed program's file needs a recent clock. */
void rt_clock_note(void)
{
    struct live_header *h = rt.head;
    uint64_t ticks = rt_ticks(), ns = 0, last = __atomic_load_n(&h->last_ticks, __ATOMIC_RELAXED);

    if (ticks - last < NOTE_TICKS || !tgt_lock_try(&rt.lock))
        return;
    read_both(&ticks, &ns);
    tgt_put(&h->last_ticks, ticks);
    tgt_put(&h->last_ns, ns);
    tgt_unlock(&rt.lock);
}

void rt_clock_refine(void)
{
    struct live_header *h = rt.head;
    uint64_t ticks = 0, ns = 0;
    TGT_KEEP_ERRNO();

    read_both(&ticks, &ns);
    if (ns - h->start_ns < ENOUGH_NS) {
        struct timespec t = { 0, ENOUGH_NS };

        nanosleep(&t, NULL);
        read_both(&ticks, &ns);
    }
    tgt_lock(&rt.lock);
    tgt_put(&h->last_ticks, ticks);
    tgt_put(&h->last_ns, ns);
    tgt_unlock(&rt.lock);
}
