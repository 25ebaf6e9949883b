/* hash.h - hashing, and an open-addressing index of dense ids.
 * An index stores only (hash, id); the caller owns the items and compares them:
 *
 *     for (uint32_t at = index_first(&ix, h), id; (id = index_id(&ix, h, &at)); )
 *         if (items[id] equals the key) return id;
 *     index_add(&ix, h, new_id);
 *
 * Ids start at 1; 0 means none.  Start from {0}.
 *
 * hash_u64, hash_pair and hash_bytes depend on a random key of the process, so that nobody can
 * choose the contents of a file whose items collide.  Their values must not be stored, and
 * nothing that is printed may depend on them: for that, and for code inside targets, there are
 * the hash_fixed functions.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_HASH_H
#define FATHOM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --- with the key of the process --- */

extern uint64_t hash_key[4]; /* set before main */

static inline uint64_t hash_fold_(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_u64(uint64_t x)
{
    return hash_fold_(x ^ hash_key[0], hash_key[1]);
}

static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
    return hash_fold_(a ^ hash_key[2], b ^ hash_key[3]);
}

static inline uint64_t hash_load_(const unsigned char *p, size_t n)
{
    uint64_t word = 0;

    memcpy(&word, p, n);
    return word;
}

/* Each step multiplies two words of the data, both hidden by secrets.  A secret start value alone
 * would not help: two changes to successive words that cancel out do so for every start value. */
static inline uint64_t hash_bytes(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint64_t h = n ^ hash_key[0], a = 0, b = 0;

    for (; n > 16; n -= 16, p += 16)
        h = hash_fold_(hash_load_(p, 8) ^ hash_key[1], hash_load_(p + 8, 8) ^ h);
    if (n >= 8) { /* the last words may overlap: no variable-size copy */
        a = hash_load_(p, 8);
        b = hash_load_(p + n - 8, 8);
    } else if (n >= 4) {
        a = hash_load_(p, 4);
        b = hash_load_(p + n - 4, 4);
    } else if (n) {
        a = (uint64_t)p[0] << 16 | (uint64_t)p[n / 2] << 8 | p[n - 1];
    }
    return hash_fold_(a ^ hash_key[1], b ^ h);
}

/* --- the same in every process --- */

static inline uint64_t hash_fixed_u64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    return x;
}

static inline uint64_t hash_fixed_pair(uint64_t a, uint64_t b)
{
    return hash_fixed_u64(a * 0x9e3779b97f4a7c15u + b);
}

static inline uint64_t hash_fixed_bytes(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint64_t h = n * 0x9e3779b97f4a7c15u, word;
    size_t whole = n;

    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = (h ^ word) * 0xd6e8feb86659fd93u;
        h ^= h >> 29;
    }
    word = 0;
    if (n && whole >= 8)
        memcpy(&word, p + n - 8, 8); /* the last word, overlapping: no variable-size copy */
    else if (n)
        memcpy(&word, p, n);
    return hash_fixed_u64(h ^ word);
}

/* --- tables --- */

struct index_slot {
    uint32_t hash, id;
};

struct index {
    struct index_slot *slot;
    uint32_t mask; /* slots - 1, or 0 when empty */
    uint32_t n;
};

void index_release(struct index *ix);

static inline uint32_t index_tag_(uint64_t hash)
{
    return (uint32_t)(hash * 0x9e3779b97f4a7c15u >> 32); /* every bit of the hash counts */
}

static inline uint32_t index_first(const struct index *ix, uint64_t hash)
{
    return index_tag_(hash) & ix->mask;
}

/* The next id with this hash, or 0; advances *AT. */
static inline uint32_t index_id(const struct index *ix, uint64_t hash, uint32_t *at)
{
    uint32_t tag = index_tag_(hash);

    if (!ix->slot)
        return 0;
    while (ix->slot[*at].id) {
        const struct index_slot *s = &ix->slot[*at];

        *at = (*at + 1) & ix->mask;
        if (s->hash == tag)
            return s->id;
    }
    return 0;
}

void index_add(struct index *ix, uint64_t hash, uint32_t id);

/* u64 key -> u32 value (nonzero). */
struct umap {
    struct umap_slot {
        uint64_t key;
        uint32_t value; /* 0 = empty */
    } *slot;
    uint32_t mask, n;
};
uint32_t umap_find(const struct umap *m, uint64_t key); /* 0 when absent */
void umap_put(struct umap *m, uint64_t key, uint32_t value);
/* Remove all keys, in time proportional to their number. */
void umap_clear(struct umap *m);
void umap_release(struct umap *m);

#endif
