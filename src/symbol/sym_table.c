/* sym_table.c - see sym_table.h.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BACK_MAX = 256 }; /* how far to look for a range that reaches over its successors */

static bool is_sorted(const struct sym_table *t, uint64_t *differing)
{
    uint64_t all = ~(uint64_t)0, any = 0, last = 0;
    bool sorted = true;

    for (size_t i = 0; i < t->entry.n; i++) {
        uint64_t s = t->entry.v[i].start;

        sorted &= s >= last;
        last = s;
        all &= s;
        any |= s;
    }
    *differing = any & ~all;
    return sorted;
}

/* Radix sort by start, a byte at a time, skipping bytes that are the same everywhere: four
 * times as fast as qsort on the symbol table of a big library.  Stable. */
static void sort(struct sym_table *t)
{
    struct sym_entry *from = t->entry.v, *to;
    uint64_t differing;
    size_t n = t->entry.n;

    if (is_sorted(t, &differing))
        return;
    to = mem_alloc(n * sizeof *to);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t at[257] = { 0 };
        struct sym_entry *swap = from;

        if (!(differing >> shift & 0xff))
            continue;
        for (size_t i = 0; i < n; i++)
            at[(from[i].start >> shift & 0xff) + 1]++;
        for (unsigned k = 1; k < 256; k++)
            at[k] += at[k - 1];
        for (size_t i = 0; i < n; i++)
            to[at[from[i].start >> shift & 0xff]++] = from[i];
        from = to;
        to = swap;
    }
    if (from != t->entry.v)
        memcpy(t->entry.v, from, n * sizeof *from);
    free(from == t->entry.v ? to : from);
}

static void fill_reach(struct sym_table *t)
{
    uint64_t reach = 0;

    for (size_t i = 0; i < t->entry.n; i++) {
        if (t->entry.v[i].end > t->entry.v[i].start && t->entry.v[i].end > reach)
            reach = t->entry.v[i].end;
        t->reach[i] = reach;
    }
}

void sym_table_finish(struct sym_table *t, uint64_t (*limit)(void *arg, uint64_t start), void *arg)
{
    uint64_t next = ~(uint64_t)0, here = next;

    sort(t);
    t->reach = mem_alloc((t->entry.n + 1) * sizeof *t->reach);
    fill_reach(t);
    for (size_t i = t->entry.n; i-- > 0;) {
        struct sym_entry *e = &t->entry.v[i];

        if (e->start != here) {
            next = here;
            here = e->start;
        }
        if (e->end <= e->start) {
            /* A label inside a sized function names nothing of its own. */
            uint64_t end = limit && t->reach[i] <= e->start ? limit(arg, e->start) : e->start;

            e->end = next < end ? next : end;
        }
    }
    fill_reach(t);
}

/* Entries at or before ADDRESS. */
static size_t count_until(const struct sym_table *t, uint64_t address)
{
    size_t lo = 0, hi = t->entry.n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (t->entry.v[mid].start <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

long sym_table_find(const struct sym_table *t, uint64_t address)
{
    long best = -1;
    size_t i = count_until(t, address);

    for (unsigned steps = 0; i-- > 0 && steps < BACK_MAX; steps++) {
        const struct sym_entry *e = &t->entry.v[i];

        if (t->reach[i] <= address)
            break;
        if (best >= 0 && e->start != t->entry.v[best].start)
            break;
        if (e->end > address && (best < 0 || e->rank > t->entry.v[best].rank))
            best = (long)i;
    }
    return best;
}

void sym_table_release(struct sym_table *t)
{
    vec_release(&t->entry);
    free(t->reach);
    t->reach = NULL;
}
