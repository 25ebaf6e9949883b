/* sort.h - a sort that keeps equal items in order, which qsort() does not promise.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_SORT_H
#define FATHOM_BASE_SORT_H

#include <stddef.h>

/* Sort N items of SIZE bytes at V, with a COMPARE as for qsort(). */
void sort_stable(void *v, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
