/* tgt_lock.c - see tgt_lock.h.  SPDX-License-Identifier: Apache-2.0 */
#include "target/tgt_lock.h"

#include <sched.h>
#include <time.h>

#include "target/tgt_guard.h"

enum { SPINS = 200, YIELDS = 50, PAUSE_NS = 100000 };

/* Number of locks that the thread holds.  Incremented before a lock is tried and decremented after
 * it is released, so that a handler never sees too small a number. */
static __thread uint32_t held;

static void order(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

bool tgt_lock_try(struct tgt_lock *l)
{
    uint32_t expected = 0;

    held++;
    order();
    for (int i = 0; i < SPINS; i++, expected = 0)
        if (__atomic_compare_exchange_n(&l->taken, &expected, 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return true;
    order();
    held--;
    return false;
}

/* Yielding does not help when the holder has a lower real-time priority. */
void tgt_lock(struct tgt_lock *l)
{
    struct timespec pause = { 0, PAUSE_NS };
    TGT_KEEP_ERRNO();

    for (int tries = 0; !tgt_lock_try(l); tries++)
        if (tries < YIELDS)
            sched_yield();
        else
            nanosleep(&pause, NULL);
}

bool tgt_lock_unless_held(struct tgt_lock *l)
{
    if (held)
        return false;
    tgt_lock(l);
    return true;
}

void tgt_unlock(struct tgt_lock *l)
{
    __atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE);
    order();
    held--;
}

void tgt_lock_forget(struct tgt_lock *l)
{
    l->taken = held = 0;
}
