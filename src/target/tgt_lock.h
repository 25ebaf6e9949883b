/* tgt_lock.h - a spin lock that yields, for code inside profiled programs.
 *
 * A lock of libc would be a call that the program may interpose, and one that a handler cannot
 * give up waiting for.  Here a handler asks whether its own thread holds any lock, and leaves
 * what it wanted for later when it does.  Every call may run in a signal handler, but only
 * tgt_lock_try and tgt_lock_unless_held where the interrupted code may hold a lock.
 * errno is kept.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TARGET_TGT_LOCK_H
#define FATHOM_TARGET_TGT_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct tgt_lock { /* start from {0} */
    uint32_t taken;
};

void tgt_lock(struct tgt_lock *l);
bool tgt_lock_try(struct tgt_lock *l); /* for what can as well be done another time */
/* False, and nothing taken, when the calling thread holds a lock or is on its way to one: a
 * handler has interrupted it. */
bool tgt_lock_unless_held(struct tgt_lock *l);
void tgt_unlock(struct tgt_lock *l);

/* In the child of a fork: whoever held L is not there. */
void tgt_lock_forget(struct tgt_lock *l);

#endif
