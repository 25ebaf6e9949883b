/* perf_deferred.c - see perf_deferred.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_deferred.h"

#include <stdlib.h>

enum { MOST_WAITING = 65536, FEW = 64 };
static const uint32_t none = UINT32_MAX; /* in the map: all samples with this hash are done */

struct perf_deferred_sample {
    struct perf_record r; /* its chain points to CHAIN, which we own */
    unsigned char *chain;
    uint64_t cookie;
    uint32_t next; /* index of the next sample with this hash; of the first one, from the last */
    bool done;
};

/* Position of the marker that precedes the cookie; SIZE_MAX when the chain is complete. */
static size_t marker_of(const struct perf_words *chain)
{
    for (size_t i = 0; i + 1 < chain->n; i++)
        if ((int64_t)perf_word(chain, i) == PERF_CONTEXT_USER_DEFERRED_)
            return perf_word(chain, i + 1) ? i : SIZE_MAX;
    return SIZE_MAX;
}

static uint64_t hash_of(const struct perf_deferred_sample *s)
{
    return hash_pair(s->r.tid, s->cookie);
}

static void enter(struct perf_deferred *d, uint32_t at)
{
    struct perf_deferred_sample *s = &d->v.v[at];
    uint32_t last = umap_find(&d->last, hash_of(s));

    s->next = at;
    if (last && last != none) {
        s->next = d->v.v[last - 1].next;
        d->v.v[last - 1].next = at;
    }
    umap_put(&d->last, hash_of(s), at + 1);
}

/* Remove the samples that are done, once they are the majority. */
static void compact(struct perf_deferred *d)
{
    size_t n = 0;

    if (d->n_done < FEW || d->n_done < d->v.n / 2)
        return;
    umap_clear(&d->last);
    for (size_t i = 0; i < d->v.n; i++) {
        if (d->v.v[i].done)
            continue;
        d->v.v[n] = d->v.v[i];
        enter(d, (uint32_t)n++);
    }
    d->v.n = n;
    d->n_done = 0;
}

bool perf_deferred_add(struct perf_deferred *d, const struct perf_record *r)
{
    size_t marker = marker_of(&r->chain);
    struct perf_deferred_sample *s;

    if (marker == SIZE_MAX || d->v.n - d->n_done >= MOST_WAITING)
        return false;
    compact(d);
    s = vec_add(&d->v);
    *s = (struct perf_deferred_sample){ .r = *r, .cookie = perf_word(&r->chain, marker + 1),
                                        .chain = mem_alloc((marker + 1) * 8) };
    memcpy(s->chain, r->chain.p, marker * 8); /* the kernel part */
    s->r.chain = (struct perf_words){ s->chain, marker };
    s->r.read = s->r.branches = (struct perf_words){ NULL, 0 };
    s->r.has_regs = s->r.has_stack = false;
    enter(d, (uint32_t)d->v.n - 1);
    return true;
}

/* Append the user part USER. */
static void deliver_one(struct perf_deferred *d, uint32_t at, const struct perf_words *user,
                        perf_deferred_fn *deliver, void *with)
{
    struct perf_deferred_sample *s = &d->v.v[at];
    uint64_t mark = (uint64_t)PERF_CONTEXT_USER;
    size_t n = s->r.chain.n;

    s->chain = mem_realloc(s->chain, (n + 1 + user->n) * 8);
    memcpy(s->chain + n * 8, &mark, 8);
    if (user->n)
        memcpy(s->chain + (n + 1) * 8, user->p, user->n * 8);
    s->r.chain = (struct perf_words){ s->chain, n + 1 + user->n };
    deliver(with, &s->r);
    free(s->chain);
    s->chain = NULL;
    s->done = true;
    d->n_done++;
}

void perf_deferred_complete(struct perf_deferred *d, const struct perf_record *r,
                            perf_deferred_fn *deliver, void *with)
{
    uint64_t hash = hash_pair(r->tid, r->cookie);
    uint32_t last = umap_find(&d->last, hash), at, next;

    if (!last || last == none)
        return;
    umap_put(&d->last, hash, none);
    next = d->v.v[last - 1].next;
    do {
        at = next;
        next = d->v.v[at].next;
        if (d->v.v[at].cookie == r->cookie && d->v.v[at].r.tid == r->tid)
            deliver_one(d, at, &r->chain, deliver, with);
    } while (at != last - 1);
}

void perf_deferred_finish(struct perf_deferred *d, perf_deferred_fn *deliver, void *with)
{
    for (uint32_t i = 0; i < d->v.n; i++)
        if (!d->v.v[i].done)
            deliver_one(d, i, &(struct perf_words){ NULL, 0 }, deliver, with);
    d->v.n = d->n_done = 0;
    umap_clear(&d->last);
}

void perf_deferred_release(struct perf_deferred *d)
{
    for (size_t i = 0; i < d->v.n; i++)
        free(d->v.v[i].chain);
    vec_release(&d->v);
    umap_release(&d->last);
}
