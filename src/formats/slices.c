/* slices.c - see slices.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/slices.h"

#include <stdlib.h>
#include <string.h>

#include "profile/limits.h"

void slices_init(struct slices *s)
{
    *s = (struct slices){ .most = LIMIT_SLICES, .most_sorted = LIMIT_SORTED_FRAMES };
}

static int too_many(uint64_t most, const char *what, struct err *e)
{
    err_set(e, ERR_LIMIT, "the timeline of a thread has more than %llu %s",
            (unsigned long long)most, what);
    err_hint(e, LIMIT_HINT);
    return -1;
}

static int check_number(const struct slices *s, const struct an_labels *l, struct err *e)
{
    if (s->v.n > s->most)
        return too_many(s->most, "calls", e);
    return an_labels_are_too_many(l, e) ? -1 : 0;
}

static void close_to(struct slices *s, size_t depth, uint64_t now)
{
    while (s->open_.n > depth) {
        struct slice *x = &s->v.v[s->open_.v[--s->open_.n]];

        x->duration_ns = now > x->start_ns ? now - x->start_ns : 0;
    }
}

/* Tags belong to the innermost call of a sample: its callers last through samples with others. */
static uint32_t tags_at(const struct an_labels *l, size_t depth, uint32_t tags)
{
    return depth + 1 == l->chain.n ? tags : 0;
}

/* Switch to the labels in l->chain: calls that they share with the open calls stay open. */
static void change_to(struct slices *s, const struct an_labels *l, uint32_t tags, uint64_t now)
{
    size_t same = 0;

    while (same < s->open_.n && same < l->chain.n &&
           s->v.v[s->open_.v[same]].label == l->chain.v[same] &&
           s->v.v[s->open_.v[same]].tags == tags_at(l, same, tags))
        same++;
    close_to(s, same, now);
    for (size_t i = same; i < l->chain.n; i++) {
        vec_push(&s->open_, s->v.n);
        vec_push(&s->v, ((struct slice){ now, 0, l->chain.v[i], (uint32_t)i,
                                         tags_at(l, i, tags) }));
    }
}

/* The duration of a sample is exactly its weight, so that the sums are those of the samples; its
 * start may move.  A gap between samples of up to half a sample is clock jitter and is closed.  A
 * gap before or after a wait, whose times were measured, is running time that was not sampled; it
 * is closed up to one sample. */
static int add_times(struct slices *s, struct an_labels *l, const struct timeline_item *v,
                     size_t n, struct err *e)
{
    uint64_t end = 0, sampled = 0;
    int rc = 0;

    for (size_t i = 0; i < n && (rc = check_number(s, l, e)) == 0; i++) {
        uint64_t w = v[i].weight > 0 ? (uint64_t)v[i].weight : 0;
        uint64_t start = v[i].end_ns > w ? v[i].end_ns - w : 0;
        bool by_wait = v[i].waiting || (i && v[i - 1].waiting);

        if (!v[i].waiting)
            sampled = w;
        if (i && (start < end || start - end <= (by_wait ? sampled : w / 2)))
            start = end;
        else
            close_to(s, 0, end);
        an_labels_stack(l, v[i].stack);
        change_to(s, l, v[i].tags, start);
        end = start + w;
    }
    close_to(s, 0, end);
    return rc;
}

static int add_events(struct slices *s, struct an_labels *l, const struct timeline_item *v,
                      size_t n, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; i < n && (rc = check_number(s, l, e)) == 0; i++) {
        an_labels_stack(l, v[i].stack);
        change_to(s, l, v[i].tags, v[i].end_ns);
    }
    if (n)
        close_to(s, 0, v[n - 1].end_ns + 1);
    return rc;
}

struct path { /* labels of one item in the pool */
    const uint32_t *label;
    size_t n, item;
    uint32_t tags;
};

static int by_labels(const void *a, const void *b)
{
    const struct path *x = a, *y = b;

    for (size_t i = 0; i < x->n && i < y->n; i++)
        if (x->label[i] != y->label[i])
            return x->label[i] < y->label[i] ? -1 : 1;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    if (x->tags != y->tags)
        return x->tags < y->tags ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static int sort_paths(const struct slices *s, struct an_labels *l, const struct timeline_item *v,
                      size_t n, struct path *path, struct arena *pool, struct err *e)
{
    uint64_t before = l->listed;

    for (size_t i = 0; i < n; i++) {
        uint32_t *copy;

        if (check_number(s, l, e) < 0)
            return -1;
        if (l->listed - before > s->most_sorted)
            return too_many(s->most_sorted, "functions without times", e);
        an_labels_stack(l, v[i].stack);
        copy = arena_alloc(pool, l->chain.n * sizeof *copy);
        if (l->chain.n)
            memcpy(copy, l->chain.v, l->chain.n * sizeof *copy);
        path[i] = (struct path){ copy, l->chain.n, i, v[i].tags };
    }
    qsort(path, n, sizeof *path, by_labels);
    return 0;
}

static int add_side_by_side(struct slices *s, struct an_labels *l, const struct timeline_item *v,
                            size_t n, struct err *e)
{
    struct path *path = mem_alloc((n + 1) * sizeof *path);
    struct arena pool = { 0 };
    uint64_t now = n ? v[0].end_ns : 0;
    int rc = sort_paths(s, l, v, n, path, &pool, e);

    for (size_t i = 0; rc == 0 && i < n && (rc = check_number(s, l, e)) == 0; i++) {
        const struct timeline_item *it = &v[path[i].item];

        an_labels_stack(l, it->stack);
        change_to(s, l, it->tags, now);
        now += it->weight > 0 ? (uint64_t)it->weight : 0;
    }
    close_to(s, 0, now);
    arena_release(&pool);
    free(path);
    return rc;
}

int slices_add(struct slices *s, struct an_labels *l, const struct timeline *t,
               const struct timeline_run *r, bool is_time, struct err *e)
{
    const struct timeline_item *v = t->item.v + r->first;

    if (!r->timed)
        return add_side_by_side(s, l, v, r->n, e);
    return is_time ? add_times(s, l, v, r->n, e) : add_events(s, l, v, r->n, e);
}

void slices_release(struct slices *s)
{
    vec_release(&s->v);
    vec_release(&s->open_);
}
