/* cfi_space.c - spaces that grow and rule caches, on the heap.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cfi/cfi.h"

struct unw_space *cfi_space_new(enum unw_arch arch)
{
    struct unw_space *s = mem_alloc(sizeof *s);

    unw_space_init(s, arch, NULL, 0);
    return s;
}

static void make_room(struct unw_space *s, size_t more)
{
    VEC(struct unw_range) ranges = { s->range, s->n, s->cap };

    vec_reserve(&ranges, s->n + more);
    s->range = ranges.v;
    s->cap = ranges.cap;
}

struct unw_space *cfi_space_copy(const struct unw_space *from)
{
    struct unw_space *s = mem_alloc(sizeof *s);

    unw_space_init(s, UNW_X86_64, NULL, 0);
    s->machine = from->machine;
    make_room(s, from->n);
    if (from->n)
        memcpy(s->range, from->range, from->n * sizeof *from->range);
    s->n = from->n;
    return s;
}

void cfi_space_free(struct unw_space *s)
{
    if (!s)
        return;
    free(s->range);
    free(s);
}

void cfi_space_map(struct unw_space *s, uint64_t start, uint64_t end, uint64_t bias,
                   const struct unw_table *t, uint32_t module)
{
    make_room(s, UNW_SPACE_ROOM);
    unw_space_map(s, (struct unw_range){ start, end, bias, t, module });
}

void cfi_space_unmap(struct unw_space *s, uint64_t start, uint64_t end)
{
    make_room(s, UNW_SPACE_ROOM);
    unw_space_unmap(s, start, end);
}

struct unw_cache *cfi_cache_new(void)
{
    return unw_cache_init(mem_zalloc(unw_cache_bytes())); /* touched only where used */
}

void cfi_cache_free(struct unw_cache *c)
{
    free(c);
}
