/* col_source.c - see col_source.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_source.h"

#include <stdlib.h>

size_t col_sources_poll(const struct col_sources *s, struct pollfd *v, size_t cap)
{
    size_t n = 0;

    for (size_t i = 0; i < s->v.n; i++) {
        const struct col_source *x = &s->v.v[i];

        if (x->poll)
            n += x->poll(x->with, v + (n < cap ? n : cap), n < cap ? cap - n : 0);
    }
    return n;
}

static const struct perf_record *next(const struct col_source *x)
{
    return x->next ? x->next(x->with) : NULL;
}

/* Apply the records of all sources in order of time. */
static void merge(struct col_sources *s)
{
    const struct perf_record **head = mem_alloc((s->v.n + 1) * sizeof *head);

    for (size_t i = 0; i < s->v.n; i++)
        head[i] = next(&s->v.v[i]);
    for (;;) {
        size_t first = SIZE_MAX;

        for (size_t i = 0; i < s->v.n; i++)
            if (head[i] && (first == SIZE_MAX || head[i]->time_ns < head[first]->time_ns))
                first = i;
        if (first == SIZE_MAX)
            break;
        perf_engine_until(s->engine, head[first]->time_ns);
        perf_engine_record(s->engine, head[first]);
        head[first] = next(&s->v.v[first]);
    }
    free(head);
}

static int settle(struct col_sources *s, uint64_t now_ns)
{
    int soonest_ms = COL_POLL_MS;

    for (size_t i = 0; i < s->v.n; i++) {
        const struct col_source *x = &s->v.v[i];
        int ms = x->settle ? x->settle(x->with, now_ns) : COL_POLL_MS;

        soonest_ms = ms < soonest_ms ? ms : soonest_ms;
    }
    return soonest_ms;
}

static void read_all(struct col_sources *s, uint64_t now_ns)
{
    for (size_t i = 0; i < s->v.n; i++)
        if (s->v.v[i].drain)
            s->v.v[i].drain(s->v.v[i].with, now_ns);
    merge(s);
}

int col_sources_drain(struct col_sources *s, uint64_t now_ns)
{
    read_all(s, now_ns);
    return settle(s, now_ns);
}

static void finish(struct col_sources *s, uint64_t stop_ns, bool in_target)
{
    for (size_t i = 0; i < s->v.n; i++) {
        const struct col_source *x = &s->v.v[i];

        if (x->in_target == in_target && x->finish)
            x->finish(x->with, stop_ns);
    }
}

void col_sources_finish(struct col_sources *s, uint64_t stop_ns)
{
    finish(s, stop_ns, false);
    merge(s);
    read_all(s, UINT64_MAX); /* events written during the first pass */
    settle(s, stop_ns);
    perf_engine_finish(s->engine, stop_ns);
}

void col_sources_finish_in_target(struct col_sources *s, uint64_t stop_ns)
{
    finish(s, stop_ns, true);
}

void col_sources_quality(const struct col_sources *s, struct sink *out)
{
    perf_engine_quality(s->engine);
    for (size_t i = 0; i < s->v.n; i++)
        if (s->v.v[i].quality)
            s->v.v[i].quality(s->v.v[i].with, out);
}

void col_sources_release(struct col_sources *s)
{
    for (size_t i = 0; i < s->v.n; i++)
        if (s->v.v[i].release)
            s->v.v[i].release(s->v.v[i].with);
    vec_release(&s->v);
}
