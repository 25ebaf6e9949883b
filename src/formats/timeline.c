/* timeline.c - see timeline.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/sort.h"

static int by_thread_and_time(const void *a, const void *b)
{
    const struct timeline_item *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

bool timeline_is_time(const struct profile *p, uint32_t metric)
{
    return strcmp(profile_string(p, p->metric.v[metric - 1].unit), "ns") == 0;
}

static bool is_waiting(const struct profile *p, uint32_t metric)
{
    return (p->metric.v[metric - 1].flags & METRIC_OFF_CPU) && timeline_is_time(p, metric);
}

/* Sum the items of a run without times by stack and tags, in the order of first appearance. */
static size_t add_up(struct timeline_item *v, size_t n)
{
    struct umap at = { 0 };
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t key = (uint64_t)v[i].tags << 32 | v[i].stack;
        uint32_t seen = umap_find(&at, key);

        if (seen) {
            v[seen - 1].weight += v[i].weight;
            v[seen - 1].count += v[i].count;
            continue;
        }
        v[kept++] = v[i];
        umap_put(&at, key, (uint32_t)kept);
    }
    umap_release(&at);
    return kept;
}

static void add_run(struct timeline *t, const struct timeline_item *v, size_t n)
{
    bool timed = v[0].end_ns && (n == 1 || v[0].end_ns != v[n - 1].end_ns);
    struct timeline_run r = { v[0].thread, timed, t->item.n, n };

    vec_reserve(&t->item, t->item.n + n);
    for (size_t i = 0; i < n; i++)
        vec_push(&t->item, v[i]);
    if (!r.timed) {
        r.n = add_up(t->item.v + r.first, n);
        t->item.n = r.first + r.n;
    }
    vec_push(&t->run, r);
}

static struct timeline_item item_of(const struct profile *p, size_t i, uint32_t stack,
                                    enum timeline_tags tags)
{
    const struct profile_sample *m = &p->sample.v[i];
    struct profile_time t = profile_time(p, i);
    uint64_t end = t.start_ns ? t.start_ns + t.duration_ns : 0;

    return (struct timeline_item){ end, m->thread, stack, tags == TIMELINE_TAGS ? m->tags : 0,
                                   m->weight, m->count, is_waiting(p, m->metric) };
}

void timeline_build(struct timeline *t, const struct an_view *v, enum timeline_tags tags)
{
    const struct profile *p = v->profile;
    VEC(struct timeline_item) all = { 0 };
    uint32_t stack;
    unsigned kind;

    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < p->sample.n; i++) {
        const struct profile_sample *m = &p->sample.v[i];

        if (m->weight && an_view_takes(v, m, &stack, &kind))
            vec_push(&all, item_of(p, i, stack, tags));
    }
    sort_stable(all.v, all.n, sizeof *all.v, by_thread_and_time);
    for (size_t i = 0, n; i < all.n; i += n) {
        for (n = 1; i + n < all.n && all.v[i + n].thread == all.v[i].thread; n++)
            ;
        add_run(t, all.v + i, n);
    }
    vec_release(&all);
}

void timeline_release(struct timeline *t)
{
    vec_release(&t->item);
    vec_release(&t->run);
}

const char *timeline_label(const struct profile *p, uint32_t thread, struct thread_label *l)
{
    const struct thread *t;
    int64_t pid;

    l->text[0] = 0;
    if (!thread)
        return l->text;
    t = &p->thread.v[thread - 1];
    pid = t->process ? p->process.v[t->process - 1].pid : 0;
    if (!pid && !t->tid)
        snprintf(l->text, sizeof l->text, "%.255s", profile_string(p, t->name));
    else
        snprintf(l->text, sizeof l->text, "%.255s (%" PRId64 "/%" PRId64 ")",
                 profile_string(p, t->name), pid, t->tid);
    return l->text;
}

double timeline_unit_ns(const char *unit)
{
    static const struct { const char *name; double ns; } units[] = {
        { "ns", 1 },    { "nanoseconds", 1 },     { "us", 1e3 }, { "microseconds", 1e3 },
        { "ms", 1e6 },  { "milliseconds", 1e6 },  { "s", 1e9 },  { "seconds", 1e9 },
    };

    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].ns;
    return 0;
}
