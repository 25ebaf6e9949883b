/* joint.c - see joint.h.  SPDX-License-Identifier: Apache-2.0 */
#include "profile/joint.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

enum { SLOTS = 1 << 15 };

/* Which frames replace which must be the same in every run. */
static uint64_t key_of(struct joint at)
{
    return hash_fixed_pair(hash_fixed_pair(at.thread, at.pc), at.sp) | 1;
}

static struct joint_slot *slot_of(const struct joints *j, uint64_t key)
{
    return &j->slot[(key >> 8) % SLOTS];
}

void joint_release(struct joints *j)
{
    free(j->slot);
    j->slot = NULL;
}

void joint_put(struct joints *j, struct joint at, uint32_t stack)
{
    uint64_t key = key_of(at);

    if (!j->slot)
        j->slot = mem_zalloc(SLOTS * sizeof *j->slot);
    *slot_of(j, key) = (struct joint_slot){ key, stack };
}

uint32_t joint_find(const struct joints *j, struct joint at)
{
    uint64_t key = key_of(at);
    const struct joint_slot *s = j->slot ? slot_of(j, key) : NULL;

    return s && s->key == key ? s->stack : 0;
}
