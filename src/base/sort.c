/* sort.c - see sort.h.  A merge sort from the bottom up: runs of 1, 2, 4, ... items are in order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct merge {
    size_t size;
    int (*compare)(const void *, const void *);
};

/* Merge the runs [LEFT, RIGHT) and [RIGHT, END) into OUT. */
static void merge(const struct merge *m, const char *left, const char *right, const char *end,
                  char *out)
{
    const char *middle = right;

    while (left < middle && right < end) {
        const char **first = m->compare(left, right) <= 0 ? &left : &right;

        memcpy(out, *first, m->size);
        *first += m->size;
        out += m->size;
    }
    memcpy(out, left, (size_t)(middle - left));
    memcpy(out + (middle - left), right, (size_t)(end - right));
}

void sort_stable(void *v, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    const struct merge m = { size, compare };
    size_t all = n * size;
    char *other = mem_alloc(all + 1), *from = v, *to = other;

    for (size_t run = size; run < all; run *= 2) {
        char *swap = from;

        for (size_t at = 0; at < all; at += 2 * run) {
            size_t right = all - at < run ? all : at + run;
            size_t end = all - at < 2 * run ? all : at + 2 * run;

            merge(&m, from + at, from + right, from + end, to + at);
        }
        from = to;
        to = swap;
    }
    if (from == other)
        memcpy(v, other, all);
    free(other);
}
