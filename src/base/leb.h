/* leb.h - write LEB128 numbers to memory of the caller.  Does not allocate or fail: also used
 * inside profiled programs.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_LEB_H
#define FATHOM_BASE_LEB_H

#include <stddef.h>
#include <stdint.h>

enum { LEB_MAX = 10 }; /* largest number of bytes */

/* Returns the number of bytes written. */
static inline size_t leb_put(unsigned char *to, uint64_t x)
{
    size_t n = 0;

    for (; x >= 0x80; x >>= 7)
        to[n++] = (unsigned char)(x | 0x80);
    to[n++] = (unsigned char)x;
    return n;
}

/* Zigzag: 0, -1, 1, -2 ... become 0, 1, 2, 3 ... */
static inline uint64_t leb_zigzag(int64_t x)
{
    return ((uint64_t)x << 1) ^ (uint64_t)(x >> 63);
}

#endif
