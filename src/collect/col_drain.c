/* col_drain.c - from the rings to the sink, in order of time.
 *
 * Samples are read in place and once.  What they need to be understood (mappings, forks, names)
 * lies in the side rings, and was written before them: so first the heads of the sample rings
 * are noted, then all side records taken; whatever the noted samples depend on is then there.
 * The samples of all CPUs are merged by time, and before each the side records up to its time
 * are applied.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/clock.h"
#include "collect/col_session.h"

/* A side record without a later sample is applied when it is this old; sooner where threads are
 * looked at while they wait. */
static const uint64_t settled_ns = 20000000u, settled_soon_ns = 2000000u;

static int by_time(const void *a, const void *b)
{
    const struct col_side_record *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static void forget_applied(struct col_session *s)
{
    struct buf kept = { 0 };
    size_t n = 0;

    for (size_t i = s->side_done; i < s->side.n; i++) {
        struct col_side_record r = s->side.v[i];
        size_t at = kept.n;

        buf_add(&kept, s->side_bytes.data + r.at, r.n);
        r.at = at;
        s->side.v[n++] = r;
    }
    s->side.n = n;
    s->side_done = 0;
    buf_release(&s->side_bytes);
    s->side_bytes = kept;
}

static void take_side(struct col_session *s, struct col_ring *ring)
{
    const void *bytes;
    size_t n;

    col_ring_look(ring);
    while ((bytes = col_ring_record(ring, &n))) {
        struct perf_record r;

        if (perf_decode(bytes, n, COL_TRAILER, &r)) {
            if (r.type == PERF_RECORD_LOST)
                s->side_lost += r.lost;
            else if (r.type != PERF_RECORD_SAMPLE) {
                vec_push(&s->side, ((struct col_side_record){ r.time_ns, s->side_bytes.n, n }));
                buf_add(&s->side_bytes, bytes, n);
            }
        }
        col_ring_next(ring, n);
    }
    col_ring_release(ring);
}

static void apply_side(struct col_session *s, uint64_t until_ns)
{
    while (s->side_done < s->side.n && s->side.v[s->side_done].time_ns <= until_ns) {
        const struct col_side_record *q = &s->side.v[s->side_done++];
        struct perf_record r;

        if (!perf_decode(s->side_bytes.data + q->at, q->n, COL_TRAILER, &r))
            continue;
        if (r.type == PERF_RECORD_SWITCH || r.type == PERF_RECORD_SWITCH_CPU_WIDE)
            perf_wait_switch(&s->waits, &r);
        else
            perf_process_record(&s->processes, &r);
    }
}

static void add_self(struct col_session *s, uint32_t stack, uint64_t weight)
{
    uint32_t frame = s->in.stack.v[stack - 1].frame;

    if (frame > s->self.n) {
        size_t n = s->self.n;

        vec_reserve(&s->self, frame);
        memset(s->self.v + n, 0, (frame - n) * sizeof *s->self.v);
        s->self.n = frame;
    }
    s->self.v[frame - 1] += weight;
}

static void on_sample(struct col_session *s, const struct perf_record *r)
{
    uint32_t event = umap_find(&s->perf.event_by_id, r->id);
    struct perf_thread *t;
    struct sample out;

    if (!event)
        return;
    event--;
    /* A thread that has all but ended has the number -1. */
    t = perf_process_thread(&s->processes, (int32_t)r->pid, (int32_t)r->tid);
    out = (struct sample){ .thread = t->id, .cpu = (int32_t)r->cpu,
                           .weight = (int64_t)r->period, .count = 1 };
    if (event == COL_EVENT_SWITCH) {
        perf_wait_sample(&s->waits, t, r);
        return;
    }
    out.stack = perf_stack_of(&s->stacks, t, r);
    perf_wait_running(t, r->time_ns);
    out.metric = s->metric[event];
    sample_ends_at(&out, r->time_ns, s->events.v[event].is_clock ? r->period : 0);
    if (event == 0) {
        s->first_samples++;
        s->sampled_ns += s->events.v[0].is_clock ? r->period : 0;
        if (out.stack)
            add_self(s, out.stack, r->period);
    }
    s->sum.samples++;
    sink_sample(s->in.out, &out);
}

static void on_record(struct col_session *s, const struct perf_record *r)
{
    switch (r->type) {
    case PERF_RECORD_SAMPLE:
        on_sample(s, r);
        break;
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
        s->sum.lost += r->lost;
        break;
    case PERF_RECORD_THROTTLE:
        s->sum.throttled++;
        break;
    default:
        break;
    }
}

/* Parse the next record of CPU's sample ring. */
static void fill_head(struct col_session *s, size_t cpu)
{
    struct col_ring *ring = &s->perf.samples[cpu];
    const void *bytes;
    size_t n;

    s->head_size[cpu] = 0;
    while ((bytes = col_ring_record(ring, &n))) {
        if (perf_decode(bytes, n, s->perf.sample_type, &s->head[cpu])) {
            s->head_size[cpu] = n;
            return;
        }
        s->broken_records++;
        col_ring_next(ring, n);
    }
}

static size_t earliest(const struct col_session *s)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < s->perf.n_cpus; i++)
        if (s->head_size[i] && (best == SIZE_MAX || s->head[i].time_ns < s->head[best].time_ns))
            best = i;
    return best;
}

static void merge_samples(struct col_session *s)
{
    size_t cpu;

    for (size_t i = 0; i < s->perf.n_cpus; i++)
        if (s->perf.samples[i].page)
            fill_head(s, i);
    while ((cpu = earliest(s)) != SIZE_MAX) {
        apply_side(s, s->head[cpu].time_ns);
        on_record(s, &s->head[cpu]);
        col_ring_next(&s->perf.samples[cpu], s->head_size[cpu]);
        fill_head(s, cpu);
    }
}

void col_drain(struct col_session *s, bool final)
{
    struct col_perf *p = &s->perf;
    uint64_t now = clock_mono_ns();
    size_t before;

    if (!s->head) {
        s->head = mem_zalloc(p->n_cpus * sizeof *s->head);
        s->head_size = mem_zalloc(p->n_cpus * sizeof *s->head_size);
    }
    for (size_t i = 0; i < p->n_cpus; i++)
        if (p->samples[i].page)
            col_ring_look(&p->samples[i]);
    forget_applied(s);
    before = s->side.n;
    for (size_t i = 0; i < p->n_cpus; i++)
        if (p->side[i].page)
            take_side(s, &p->side[i]);
    if (s->side.n > before)
        qsort(s->side.v, s->side.n, sizeof *s->side.v, by_time);
    merge_samples(s);
    for (size_t i = 0; i < p->n_cpus; i++)
        if (p->samples[i].page)
            col_ring_release(&p->samples[i]);
    apply_side(s, final ? UINT64_MAX : now - (s->look.memory ? settled_soon_ns : settled_ns));
    col_look(&s->look);
}

void col_drain_release(struct col_session *s)
{
    vec_release(&s->side);
    buf_release(&s->side_bytes);
    free(s->head);
    free(s->head_size);
}
