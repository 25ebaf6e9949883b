/* hash.c - see hash.h.  Both tables stay at most half full, so a probe ends soon.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/random.h>

#include "base/mem.h"

enum { FIRST_SLOTS = 64 };

uint64_t hash_key[4];

/* Early in the boot getrandom has no random bytes yet.  The kernel gives each process 16, which
 * the C library also uses for other secrets: use them only mixed, and only then. */
__attribute__((constructor)) static void make_key(void)
{
    const unsigned char *from_kernel = (const unsigned char *)getauxval(AT_RANDOM);

    if (getrandom(hash_key, sizeof hash_key, GRND_NONBLOCK) != (ssize_t)sizeof hash_key)
        for (size_t i = 0; i < ARRAY_LEN(hash_key); i++)
            hash_key[i] = hash_fixed_pair(from_kernel ? hash_fixed_bytes(from_kernel, 16) : 0, i);
    hash_key[1] |= 1; /* a multiplier */
}

static void place(struct index *ix, struct index_slot s)
{
    uint32_t at = s.hash & ix->mask;

    while (ix->slot[at].id)
        at = (at + 1) & ix->mask;
    ix->slot[at] = s;
}

static void index_grow(struct index *ix)
{
    struct index_slot *old = ix->slot;
    uint32_t n_old = old ? ix->mask + 1 : 0, n = n_old ? n_old * 2 : FIRST_SLOTS;

    ix->slot = mem_zalloc((size_t)n * sizeof *ix->slot);
    ix->mask = n - 1;
    for (uint32_t i = 0; i < n_old; i++)
        if (old[i].id)
            place(ix, old[i]);
    free(old);
}

void index_add(struct index *ix, uint64_t hash, uint32_t id)
{
    if (!ix->slot || ix->n >= (ix->mask + 1) / 2)
        index_grow(ix);
    ix->n++;
    place(ix, (struct index_slot){ index_tag_(hash), id });
}

void index_release(struct index *ix)
{
    free(ix->slot);
    *ix = (struct index){ 0 };
}

static uint32_t umap_at(const struct umap *m, uint64_t key)
{
    uint32_t at = index_tag_(hash_u64(key)) & m->mask;

    while (m->slot[at].value && m->slot[at].key != key)
        at = (at + 1) & m->mask;
    return at;
}

uint32_t umap_find(const struct umap *m, uint64_t key)
{
    return m->slot ? m->slot[umap_at(m, key)].value : 0;
}

static void umap_grow(struct umap *m)
{
    struct umap_slot *old = m->slot;
    uint32_t n_old = old ? m->mask + 1 : 0, n = n_old ? n_old * 2 : FIRST_SLOTS;

    m->slot = mem_zalloc((size_t)n * sizeof *m->slot);
    m->mask = n - 1;
    for (uint32_t i = 0; i < n_old; i++)
        if (old[i].value)
            m->slot[umap_at(m, old[i].key)] = old[i];
    free(old);
}

void umap_put(struct umap *m, uint64_t key, uint32_t value)
{
    struct umap_slot *s;

    if (!m->slot || m->n >= (m->mask + 1) / 2)
        umap_grow(m);
    s = &m->slot[umap_at(m, key)];
    if (!s->value)
        m->n++;
    *s = (struct umap_slot){ key, value };
}

void umap_clear(struct umap *m)
{
    if (!m->n)
        return;
    /* A table that is mostly empty was cleared before: clearing it each time costs more than the
     * keys that were added. */
    if (m->mask + 1 > FIRST_SLOTS && m->n < (m->mask + 1) / 16)
        umap_release(m);
    else
        memset(m->slot, 0, ((size_t)m->mask + 1) * sizeof *m->slot);
    m->n = 0;
}

void umap_release(struct umap *m)
{
    free(m->slot);
    *m = (struct umap){ 0 };
}
