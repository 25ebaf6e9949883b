/* hash.h - hashing, and an open-addressing index of dense ids.
 * An index stores only (hash, id); the caller owns the items and compares them:
 *
 *     for (uint32_t at = index_first(&ix, h), id; (id = index_id(&ix, h, &at)); )
 *         if (items[id] equals the key) return id;
 *     index_add(&ix, h, new_id);
 *
 * Ids start at 1; 0 means none.  Start from {0}.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_HASH_H
#define FATHOM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_u64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    return x;
}

static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
    return hash_u64(a * 0x9e3779b97f4a7c15u + b);
}

static inline uint64_t hash_bytes(const void *data, size_t n)
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
    return hash_u64(h ^ word);
}

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
    return (uint32_t)(hash ^ (hash >> 32));
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
void umap_clear(struct umap *m);
void umap_release(struct umap *m);

#endif
