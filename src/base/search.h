/* search.h - the one binary search.
 *
 *     size_t at = search(0, n, i, row[i].start <= address);   // rows at or before ADDRESS
 *
 * returns the first I from LOW up to HIGH for which BEFORE is false, or HIGH.  BEFORE must be true
 * for a prefix of the range and false for the rest.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_SEARCH_H
#define FATHOM_BASE_SEARCH_H

#include <stddef.h>

#define search(low, high, i, before)                          \
    __extension__({                                           \
        size_t low_ = (low), high_ = (high);                  \
                                                              \
        while (low_ < high_) {                                \
            size_t i = low_ + (high_ - low_) / 2;             \
                                                              \
            if (before)                                       \
                low_ = i + 1;                                 \
            else                                              \
                high_ = i;                                    \
        }                                                     \
        low_;                                                 \
    })

#endif
