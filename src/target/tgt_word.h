/* tgt_word.h - words that a thread and its signal handlers write, and that any thread may read at
 * any time.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TARGET_TGT_WORD_H
#define FATHOM_TARGET_TGT_WORD_H

#include <stdbool.h>
#include <stdint.h>

static inline void tgt_put(uint64_t *at, uint64_t x)
{
    __atomic_store_n(at, x, __ATOMIC_RELAXED);
}

/* For words that no handler writes. */
static inline void tgt_add(uint64_t *at, uint64_t x)
{
    tgt_put(at, __atomic_load_n(at, __ATOMIC_RELAXED) + x);
}

/* The next two are one instruction each, for words that only the calling thread writes: a handler
 * runs before or after it, never in the middle. */
static inline void tgt_bump(uint64_t *at, uint64_t x)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("addq %1, %0" : "+m"(*at) : "er"(x) : "cc");
#else
    __atomic_fetch_add(at, x, __ATOMIC_RELAXED);
#endif
}

static inline bool tgt_swap_if(uint64_t *at, uint64_t from, uint64_t to)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    uint64_t was = from;

    __asm__ volatile("cmpxchgq %2, %1" : "+a"(was), "+m"(*at) : "r"(to) : "cc", "memory");
    return was == from;
#else
    return __atomic_compare_exchange_n(at, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
#endif
}

#endif
