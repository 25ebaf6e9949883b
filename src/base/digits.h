/* digits.h - parse decimal digits, eight at a time, without an unpredictable branch on their
 * number.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_DIGITS_H
#define FATHOM_BASE_DIGITS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* The value of the *N leading decimal digits at P, where 8 bytes are readable. */
static inline uint32_t digits_of_8(const char *p, unsigned *n)
{
    const uint64_t each = 0x0101010101010101u, low = 0x000000ff000000ffu;
    uint64_t w, other;

    memcpy(&w, p, sizeof w);
    w = le64toh(w) ^ '0' * each;                           /* digits become their values, */
    other = ((w + (0x80 - 10) * each) | w) & 0x80 * each;  /* bytes above 9 are marked */
    *n = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
    if (*n == 0)
        return 0;
    w <<= (8 - *n) * 8; /* leading zeros */
    w = w * 10 + (w >> 8); /* pairs, in every other byte */
    w = (w & low) * (100 + (1000000ull << 32)) + (w >> 16 & low) * (1 + (10000ull << 32));
    return (uint32_t)(w >> 32);
}

#endif
