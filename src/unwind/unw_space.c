/* unw_space.c - the executable ranges of a process.  SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "base/search.h"
#include "unwind/unw_machine.h"

/* Spaces share rule caches, so generations are unique within the process. */
static uint32_t next_generation(void)
{
    static _Atomic uint32_t last;

    return atomic_fetch_add(&last, 1) + 1;
}

void unw_space_init(struct unw_space *s, enum unw_arch arch, struct unw_range *ranges, size_t cap)
{
    *s = (struct unw_space){ unw_machine_of(arch), next_generation(), ranges, 0, cap };
}

/* Index of the first range that ends above ADDRESS. */
static size_t first_above(const struct unw_space *s, uint64_t address)
{
    return search(0, s->n, i, s->range[i].end <= address);
}

static void insert(struct unw_space *s, size_t at, struct unw_range r)
{
    memmove(&s->range[at + 1], &s->range[at], (s->n++ - at) * sizeof r);
    s->range[at] = r;
}

static void cut(struct unw_space *s, uint64_t start, uint64_t end)
{
    size_t at = first_above(s, start), to;

    if (start >= end || at == s->n || s->range[at].start >= end)
        return;
    s->generation = next_generation();
    if (s->range[at].start < start) { /* its front stays */
        struct unw_range tail = s->range[at];

        s->range[at++].end = start;
        if (tail.end > end) { /* and its back */
            tail.start = end;
            insert(s, at, tail);
            return;
        }
    }
    for (to = at; to < s->n && s->range[to].end <= end;)
        to++;
    if (to < s->n && s->range[to].start < end)
        s->range[to].start = end;
    memmove(&s->range[at], &s->range[to], (s->n - to) * sizeof s->range[0]);
    s->n -= to - at;
}

bool unw_space_unmap(struct unw_space *s, uint64_t start, uint64_t end)
{
    if (s->cap - s->n < UNW_SPACE_ROOM)
        return false;
    cut(s, start, end);
    return true;
}

bool unw_space_map(struct unw_space *s, struct unw_range r)
{
    if (s->cap - s->n < UNW_SPACE_ROOM)
        return false;
    if (r.start >= r.end)
        return true;
    cut(s, r.start, r.end);
    insert(s, first_above(s, r.start), r);
    return true;
}

const struct unw_range *unw_space_find(const struct unw_space *s, uint64_t address)
{
    size_t at = first_above(s, address);

    return at < s->n && s->range[at].start <= address ? &s->range[at] : NULL;
}
