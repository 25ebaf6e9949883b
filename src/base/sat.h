/* sat.h - saturating arithmetic for untrusted numbers.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_SAT_H
#define FATHOM_BASE_SAT_H

#include <stdint.h>

static inline int64_t sat_add(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static inline int64_t sat_of_u64(uint64_t x)
{
    return x > INT64_MAX ? INT64_MAX : (int64_t)x;
}

/* NaN becomes 0. */
static inline int64_t sat_of(double x)
{
    if (x != x)
        return 0;
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

/* NaN and negative numbers become 0. */
static inline uint64_t sat_u64_of(double x)
{
    return x >= 0x1p64 ? UINT64_MAX : x > 0 ? (uint64_t)x : 0;
}

#endif
