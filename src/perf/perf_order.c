/* perf_order.c - see perf_order.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_order.h"

#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
    const struct perf_queued *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static void drop_copy(struct perf_queue *q, struct perf_queued *it)
{
    if (!it->raw.passing)
        return;
    q->copied -= cur_left(&it->raw.body);
    free((void *)it->raw.body.p);
}

static void forget_delivered(struct perf_queue *q)
{
    if (!q->done)
        return;
    memmove(q->items.v, q->items.v + q->done, (q->items.n - q->done) * sizeof *q->items.v);
    q->items.n -= q->done;
    q->done = 0;
}

static void sort(struct perf_queue *q)
{
    if (q->unsorted && q->items.n)
        qsort(q->items.v + q->done, q->items.n - q->done, sizeof *q->items.v, by_time);
    q->unsorted = false;
}

void perf_order_add(struct perf_queue *q, const struct perf_raw *raw, uint64_t time_ns)
{
    struct perf_queued it = { time_ns, q->serial++, *raw };

    if (time_ns == 0) { /* no time: deliver at once */
        q->deliver(q->with, raw);
        return;
    }
    if (raw->passing) {
        size_t n = cur_left(&raw->body);
        unsigned char *copy = mem_alloc(n + !n);

        memcpy(copy, raw->body.p, n);
        it.raw.body = cursor_of(copy, n);
        q->copied += n;
    }
    if (time_ns >= q->newest_ns)
        q->newest_ns = time_ns;
    else
        q->unsorted = true;
    forget_delivered(q);
    vec_push(&q->items, it);
    if (q->most_copied && q->copied > q->most_copied) {
        sort(q);
        perf_order_until(q, q->items.v[q->done + (q->items.n - q->done) / 2].time_ns);
    }
}

void perf_order_until(struct perf_queue *q, uint64_t until_ns)
{
    sort(q);
    while (q->done < q->items.n && q->items.v[q->done].time_ns <= until_ns) {
        struct perf_queued it = q->items.v[q->done++];

        q->deliver(q->with, &it.raw);
        drop_copy(q, &it);
    }
}

void perf_order_round(struct perf_queue *q)
{
    perf_order_until(q, q->safe_ns);
    q->safe_ns = q->newest_ns;
}

void perf_order_release(struct perf_queue *q)
{
    for (size_t i = q->done; i < q->items.n; i++)
        drop_copy(q, &q->items.v[i]);
    vec_release(&q->items);
}
