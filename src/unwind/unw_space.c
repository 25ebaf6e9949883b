/* unw_space.c - the executable ranges of a process.  SPDX-License-Identifier: Apache-2.0 */
#include "unwind/unw_space.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/search.h"

/* Spaces share rule caches, so generations are unique in the process. */
static uint32_t next_generation(void)
{
    static _Atomic uint32_t last;

    return atomic_fetch_add(&last, 1) + 1;
}

struct unw_space *unw_space_new(enum unw_arch arch)
{
    struct unw_space *s = mem_zalloc(sizeof *s);

    s->machine = unw_machine_of(arch);
    s->generation = next_generation();
    return s;
}

struct unw_space *unw_space_copy(const struct unw_space *from)
{
    struct unw_space *s = unw_space_new(from->machine->arch);

    vec_reserve(&s->ranges, from->ranges.n);
    if (from->ranges.n)
        memcpy(s->ranges.v, from->ranges.v, from->ranges.n * sizeof *from->ranges.v);
    s->ranges.n = from->ranges.n;
    return s;
}

void unw_space_free(struct unw_space *s)
{
    if (!s)
        return;
    vec_release(&s->ranges);
    free(s);
}

/* Index of the first range that ends above ADDRESS. */
static size_t first_above(const struct unw_space *s, uint64_t address)
{
    return search(0, s->ranges.n, i, s->ranges.v[i].end <= address);
}

static void insert(struct unw_space *s, size_t at, struct unw_range r)
{
    vec_add(&s->ranges);
    memmove(&s->ranges.v[at + 1], &s->ranges.v[at], (s->ranges.n - 1 - at) * sizeof r);
    s->ranges.v[at] = r;
}

void unw_space_unmap(struct unw_space *s, uint64_t start, uint64_t end)
{
    size_t at = first_above(s, start), to;

    if (start >= end || at == s->ranges.n || s->ranges.v[at].start >= end)
        return;
    s->generation = next_generation();
    if (s->ranges.v[at].start < start) { /* its front stays */
        struct unw_range tail = s->ranges.v[at];

        s->ranges.v[at++].end = start;
        if (tail.end > end) { /* and its back */
            tail.start = end;
            insert(s, at, tail);
            return;
        }
    }
    for (to = at; to < s->ranges.n && s->ranges.v[to].end <= end;)
        to++;
    if (to < s->ranges.n && s->ranges.v[to].start < end)
        s->ranges.v[to].start = end;
    memmove(&s->ranges.v[at], &s->ranges.v[to], (s->ranges.n - to) * sizeof s->ranges.v[0]);
    s->ranges.n -= to - at;
}

void unw_space_map(struct unw_space *s, uint64_t start, uint64_t end, uint64_t bias,
                   const struct unw_table *t, uint32_t module)
{
    if (start >= end)
        return;
    unw_space_unmap(s, start, end);
    insert(s, first_above(s, start), (struct unw_range){ start, end, bias, t, module });
}

const struct unw_range *unw_space_find(const struct unw_space *s, uint64_t address)
{
    size_t at = first_above(s, address);

    return at < s->ranges.n && s->ranges.v[at].start <= address ? &s->ranges.v[at] : NULL;
}
