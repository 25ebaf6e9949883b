/* tgt_lock.h - a spin lock that yields, for code inside profiled programs.
 *
 * The program may interpose the locks of libc, and a handler cannot stop waiting for one.  Here a
 * handler checks whether its own thread holds any lock, and if so defers its work.  Every call may
 * run in a signal handler; where the interrupted code may hold a lock, only tgt_lock_try and
 * tgt_lock_unless_held may.  errno is preserved.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TARGET_TGT_LOCK_H
#define FATHOM_TARGET_TGT_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct tgt_lock { /* initialize with {0} */
    uint32_t taken;
};

void tgt_lock(struct tgt_lock *l);
bool tgt_lock_try(struct tgt_lock *l); /* for work that can be deferred */
/* Returns false without the lock if the calling thread holds or is taking a lock, that is, if the
 * caller is a handler that interrupted it. */
bool tgt_lock_unless_held(struct tgt_lock *l);
void tgt_unlock(struct tgt_lock *l);

/* In the child of a fork, where the holder of L does not exist. */
void tgt_lock_forget(struct tgt_lock *l);

#endif
