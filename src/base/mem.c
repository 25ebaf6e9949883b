/* mem.c - see mem.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ARENA_BLOCK = 1 << 16, ALIGN = 16, LARGE_PAGE = 2 << 20, OWN_MAPPING = 1 << 20 };

struct arena_block {
    struct arena_block *before;
    size_t size;
};

static void *checked(void *p, size_t n)
{
    if (p || n == 0)
        return p;
    mem_failed(n);
}

void *mem_alloc(size_t n)
{
    return checked(malloc(n ? n : 1), n);
}

void *mem_try_alloc(size_t n)
{
    return malloc(n ? n : 1);
}

void *mem_zalloc(size_t n)
{
    return checked(calloc(1, n ? n : 1), n);
}

void *mem_realloc(void *p, size_t n)
{
    return checked(realloc(p, n ? n : 1), n);
}

char *mem_strndup(const char *s, size_t n)
{
    char *copy = mem_alloc(n + 1);

    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap;
    char *s;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&s, fmt, ap);
    va_end(ap);
    return checked(n < 0 ? NULL : s, 1);
}

void *arena_try_alloc(struct arena *a, size_t n)
{
    void *p;

    if (n > SIZE_MAX / 2)
        return NULL;
    n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!a->at || (size_t)(a->end - a->at) < n) {
        /* Blocks grow with the arena, so that a large profile does not need many blocks. */
        size_t want = a->used / 4 > ARENA_BLOCK ? a->used / 4 : ARENA_BLOCK;
        size_t size = sizeof(struct arena_block) + (n > want ? n : want);
        struct arena_block *b = malloc(size);

        if (!b)
            return NULL;
        b->before = a->last;
        b->size = size;
        a->last = b;
        a->at = (char *)(b + 1);
        a->end = (char *)b + size;
    }
    p = a->at;
    a->at += n;
    a->used += n;
    return p;
}

void *arena_alloc(struct arena *a, size_t n)
{
    void *p = arena_try_alloc(a, n);

    if (!p)
        mem_failed(n);
    return p;
}

void *arena_zalloc(struct arena *a, size_t n)
{
    return memset(arena_alloc(a, n), 0, n);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *copy = arena_alloc(a, n + 1);

    if (n)
        memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

void arena_release(struct arena *a)
{
    for (struct arena_block *b = a->last, *before; b; b = before) {
        before = b->before;
        free(b);
    }
    memset(a, 0, sizeof *a);
}

/* Use large pages for a large array: page faults are most of the cost of filling it. */
static void use_large_pages(void *p, size_t n)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)p & ~(page - 1);

    madvise((void *)from, (uintptr_t)p + n - from, MADV_HUGEPAGE); /* failure costs only time */
}

void *vec_grow_(void *v, size_t *cap, size_t need, size_t item)
{
    size_t n = *cap ? *cap * 2 : 16;

    if (need > SIZE_MAX / 2 / item)
        mem_failed(SIZE_MAX);
    while (n < need)
        n *= 2;
    *cap = n;
    if (n * item >= OWN_MAPPING)
        mallopt(M_MMAP_THRESHOLD, OWN_MAPPING); /* by default it grows, and realloc copies */
    v = mem_realloc(v, n * item);
    if (n * item >= 2 * LARGE_PAGE)
        use_large_pages(v, n * item);
    return v;
}
