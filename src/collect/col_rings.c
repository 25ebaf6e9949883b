/* col_rings.c - see col_rings.h.
 *
 * Samples are read once, in place.  The side records that they depend on (mappings, forks, names)
 * were written before them.  So first note the heads of the sample rings, then read all side
 * records: these include everything that the noted samples depend on.  Return the samples of all
 * CPUs in order of time; before each one the engine applies the side records up to its time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_rings.h"

#include <stdlib.h>

#include "base/clock.h"

enum {
    LOOK_MS = 10,         /* when waiting threads must be inspected */
    CHECK_STACKS = 20,    /* minimum before judging how many were truncated */
    MANY_SWITCHES = 2000, /* per second: beyond, sample only some */
};
static const uint64_t check_ns = 1000000000u, window_ns = 250000000u, quiet_ns = 1000000000u;
/* Apply a side record without a later sample at this age; earlier when waiting threads are
 * inspected. */
static const uint64_t settled_ns = 20000000u, settled_soon_ns = 2000000u;

void col_rings_init(struct col_rings *r, struct col_perf *perf, struct perf_engine *engine,
                    struct col_look *look, uint64_t start_ns, uint64_t begin_ns)
{
    *r = (struct col_rings){ .perf = perf, .engine = engine, .look = look, .begin_ns = begin_ns,
                             .last_check_ns = start_ns, .window_ns = start_ns,
                             .switched_ns = start_ns };
    r->head = mem_zalloc(perf->n_cpus * sizeof *r->head);
    r->head_size = mem_zalloc(perf->n_cpus * sizeof *r->head_size);
}

static void release(void *with)
{
    struct col_rings *r = with;

    free(r->head);
    free(r->head_size);
}

/* --- side records --- */

static bool read_raw(const void *bytes, size_t n, struct perf_raw *raw)
{
    struct cursor c = cursor_of(bytes, n);

    raw->passing = true;
    return perf_decode_header(&c, raw);
}

static void take_side(struct col_rings *r, struct col_ring *ring)
{
    const void *bytes;
    size_t n;

    col_ring_look(ring);
    while ((bytes = col_ring_record(ring, &n))) {
        struct perf_raw raw;
        struct perf_record lost;

        if (read_raw(bytes, n, &raw)) {
            if (raw.type != PERF_RECORD_LOST)
                perf_engine_add(r->engine, &raw);
            else if (perf_decode(&r->engine->attrs, &raw, &lost))
                r->side_lost += lost.lost;
        }
        col_ring_next(ring, n);
    }
    col_ring_release(ring);
}

/* --- samples --- */

/* Decode the next record of CPU's sample ring. */
static void fill_head(struct col_rings *r, size_t cpu)
{
    struct col_ring *ring = &r->perf->samples[cpu];
    const void *bytes;
    size_t n;

    r->head_size[cpu] = 0;
    while ((bytes = col_ring_record(ring, &n))) {
        struct perf_raw raw;

        if (read_raw(bytes, n, &raw) && perf_decode(&r->engine->attrs, &raw, &r->head[cpu])) {
            r->head_size[cpu] = n;
            return;
        }
        r->engine->counts.broken++;
        col_ring_next(ring, n);
    }
}

static size_t earliest(const struct col_rings *r)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < r->perf->n_cpus; i++)
        if (r->head_size[i] && (best == SIZE_MAX || r->head[i].time_ns < r->head[best].time_ns))
            best = i;
    return best;
}

/* Make all records up to UNTIL_NS available to next(). */
static void take_until(struct col_rings *r, uint64_t until_ns)
{
    struct col_perf *p = r->perf;

    for (size_t i = 0; i < p->n_cpus; i++)
        if (p->samples[i].page)
            col_ring_look(&p->samples[i]);
    for (size_t i = 0; i < p->n_cpus; i++)
        if (p->side[i].page)
            take_side(r, &p->side[i]);
    for (size_t i = 0; i < p->n_cpus; i++)
        if (p->samples[i].page)
            fill_head(r, i);
    r->until_ns = until_ns;
}

/* Step over the record that was returned last, and return the earliest of all CPUs. */
static const struct perf_record *next(void *with)
{
    struct col_rings *r = with;
    const struct perf_record *first;

    if (r->current) {
        size_t cpu = r->current - 1;

        col_ring_next(&r->perf->samples[cpu], r->head_size[cpu]);
        fill_head(r, cpu);
    }
    r->current = earliest(r) + 1;
    if (!r->current)
        return NULL;
    first = &r->head[r->current - 1];
    if (first->time_ns > r->until_ns) {
        r->current = 0;
        return NULL;
    }
    if (first->type == PERF_RECORD_LOST || first->type == PERF_RECORD_LOST_SAMPLES)
        r->lost += first->lost;
    return first;
}

/* --- adapting the events --- */

/* Long stacks need larger, more expensive copies: switch to them when such stacks are common. */
static void check_copies(struct col_rings *r, uint64_t now_ns)
{
    const struct perf_stack_counts *c = &r->engine->stacks.counts, *l = &r->last_counts;
    uint64_t n = c->all - l->all;

    if (r->perf->big || n < CHECK_STACKS)
        return;
    if ((c->short_copies - l->short_copies) * 100 > n)
        col_perf_use_big(r->perf);
    if (now_ns - r->last_check_ns >= check_ns) {
        r->last_counts = *c;
        r->last_check_ns = now_ns;
    }
}

/* Sampling every switch is too expensive when there are thousands per second. */
static void check_switches(struct col_rings *r, uint64_t now_ns)
{
    const struct perf_waits *w = &r->engine->waits;
    /* Samples are applied at once, switch records only when they are old enough. */
    uint64_t seen = w->switches > w->samples ? w->switches : w->samples;
    uint64_t n = seen - r->window_switches, ns = now_ns - r->window_ns;

    if (!r->perf->plan->switch_stacks || (n < MANY_SWITCHES / 50 && ns < window_ns))
        return;
    if (n * 1e9 > (double)ns * MANY_SWITCHES)
        col_perf_use_few(r->perf, true);
    else if (n * 1e9 < (double)ns * MANY_SWITCHES / 2)
        col_perf_use_few(r->perf, false);
    r->window_ns = now_ns;
    r->window_switches = seen;
}

/* Waiting threads must be inspected soon, unless samples show where they are or nothing has
 * happened for long. */
static int next_look_ms(struct col_rings *r, uint64_t now_ns)
{
    bool sampled = r->perf->plan->switch_stacks && !r->perf->few;

    if (r->engine->waits.switches != r->seen_switches) {
        r->seen_switches = r->engine->waits.switches;
        r->switched_ns = now_ns;
    }
    if (!r->look->waits || (sampled && !r->look->unsure) || now_ns - r->switched_ns > quiet_ns)
        return COL_POLL_MS;
    return LOOK_MS;
}

/* --- the source --- */

static size_t poll_rings(void *with, struct pollfd *v, size_t cap)
{
    const struct col_perf *p = ((struct col_rings *)with)->perf;
    size_t n = 0;

    for (size_t i = 0; i < 2 * p->n_cpus; i++) {
        const struct col_ring *ring = i % 2 ? &p->side[i / 2] : &p->samples[i / 2];

        if (!ring->page)
            continue;
        if (n < cap)
            v[n] = (struct pollfd){ .fd = ring->fd, .events = POLLIN };
        n++;
    }
    return n;
}

static void drain(void *with, uint64_t now_ns)
{
    struct col_rings *r = with;

    if (r->begin_ns && now_ns >= r->begin_ns) {
        col_perf_start(r->perf);
        r->begin_ns = 0;
    }
    take_until(r, now_ns);
}

/* The kernel writes a LOST record only when there is room again, which may never happen. */
static void add_unreported_losses(struct col_rings *r)
{
    uint64_t lost;

    if (col_perf_lost(r->perf, &lost) && lost > r->lost)
        r->engine->counts.lost += lost - r->lost;
}

static int settle(void *with, uint64_t now_ns)
{
    struct col_rings *r = with;

    for (size_t i = 0; i < r->perf->n_cpus; i++)
        if (r->perf->samples[i].page)
            col_ring_release(&r->perf->samples[i]);
    if (r->finished) {
        add_unreported_losses(r);
        return COL_POLL_MS;
    }
    perf_engine_until(r->engine, now_ns - (r->look->waits ? settled_soon_ns : settled_ns));
    col_look(r->look);
    check_copies(r, now_ns);
    check_switches(r, now_ns);
    return next_look_ms(r, now_ns);
}

static void finish(void *with, uint64_t stop_ns)
{
    struct col_rings *r = with;

    col_perf_stop(r->perf);
    r->begin_ns = 0;
    r->finished = true;
    take_until(r, UINT64_MAX);
}

static void quality(void *with, struct sink *out)
{
    struct col_rings *r = with;

    sink_meta_u64(out, "quality.records_lost", r->side_lost);
    sink_meta_u64(out, "quality.reopened", r->perf->big);
    sink_meta_u64(out, "quality.ring_bytes", r->perf->samples[0].size);
}

struct col_source col_rings_source(struct col_rings *r)
{
    return (struct col_source){ .with = r, .poll = poll_rings, .drain = drain, .next = next,
                                .settle = settle, .finish = finish, .quality = quality,
                                .release = release };
}
