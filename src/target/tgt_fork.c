/* tgt_fork.c - see tgt_fork.h.  SPDX-License-Identifier: Apache-2.0 */
#include "target/tgt_fork.h"

#include <pthread.h>

#include "target/tgt_guard.h"

enum { MOST = 4 }; /* our libraries in one process */

static const struct tgt_fork *followed[MOST];
static uint32_t n_followed;

static uint32_t count(void)
{
    uint32_t n = __atomic_load_n(&n_followed, __ATOMIC_ACQUIRE);

    return n < MOST ? n : MOST;
}

static void before(void)
{
    for (uint32_t i = 0; i < count(); i++)
        for (int k = 0; k < TGT_FORK_LOCKS && followed[i]->lock[k]; k++)
            tgt_lock(followed[i]->lock[k]);
}

static void in_parent(void)
{
    for (uint32_t i = count(); i-- > 0;)
        for (int k = TGT_FORK_LOCKS; k-- > 0;)
            if (followed[i]->lock[k])
                tgt_unlock(followed[i]->lock[k]);
}

static void in_child(void)
{
    TGT_KEEP_ERRNO();

    for (uint32_t i = 0; i < count(); i++)
        for (int k = 0; k < TGT_FORK_LOCKS && followed[i]->lock[k]; k++)
            tgt_lock_forget(followed[i]->lock[k]);
    for (uint32_t i = 0; i < count(); i++)
        followed[i]->in_child();
}

void tgt_fork_follow(const struct tgt_fork *f)
{
    uint32_t at = n_followed;

    for (uint32_t i = 0; i < at; i++)
        if (followed[i] == f)
            return;
    if (at >= MOST)
        return;
    followed[at] = f;
    __atomic_store_n(&n_followed, at + 1, __ATOMIC_RELEASE);
    if (at == 0)
        pthread_atfork(before, in_parent, in_child);
}
