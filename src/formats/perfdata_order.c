/* perfdata_order.c - records of several CPUs in the order of time.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "formats/perfdata.h"

static int by_time(const void *a, const void *b)
{
    const struct perf_queued *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static void drop_copy(struct perf_queued *it)
{
    if (it->r.passing)
        free((void *)it->r.body.p);
}

static void deliver_until(struct perf_queue *q, uint64_t time)
{
    size_t done = 0, ready = 0;

    if (q->items.n)
        qsort(q->items.v, q->items.n, sizeof *q->items.v, by_time);
    while (ready < q->items.n && q->items.v[ready].time <= time)
        ready++;
    for (; done < ready; done++) {
        q->deliver(q->with, &q->items.v[done].r);
        drop_copy(&q->items.v[done]);
    }
    memmove(q->items.v, q->items.v + done, (q->items.n - done) * sizeof *q->items.v);
    q->items.n -= done;
}

void perfdata_order_add(struct perf_queue *q, const struct perf_record *r, uint64_t time)
{
    struct perf_queued it = { time, q->serial++, *r };

    if (time == 0) { /* no clock: as it stands in the file */
        q->deliver(q->with, r);
        return;
    }
    if (r->passing) {
        size_t n = cur_left(&r->body);
        unsigned char *copy = mem_alloc(n);

        memcpy(copy, r->body.p, n);
        it.r.body = cursor_of(copy, n);
    }
    q->newest = time > q->newest ? time : q->newest;
    vec_push(&q->items, it);
}

void perfdata_order_round(struct perf_queue *q)
{
    if (q->items.n)
        deliver_until(q, q->safe);
    q->safe = q->newest;
}

void perfdata_order_end(struct perf_queue *q)
{
    if (q->items.n)
        deliver_until(q, UINT64_MAX);
    vec_release(&q->items);
}
