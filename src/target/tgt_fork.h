/* tgt_fork.h - run in children of fork, and detect children of vfork, which share their parent's
 * memory.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TARGET_TGT_FORK_H
#define FATHOM_TARGET_TGT_FORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/tgt_lock.h"

enum { TGT_FORK_LOCKS = 4 };

struct tgt_fork { /* must be static: it is read at every fork */
    /* Locks to hold during the fork, taken in this order, so that the child sees a consistent
     * state; NULL ends the list. */
    struct tgt_lock *lock[TGT_FORK_LOCKS];
    void (*in_child)(void); /* no lock held; errno is preserved */
};
/* Register F for the rest of the process and for its children.  Two threads must not call this at
 * once; a second call with the same struct does nothing. */
void tgt_fork_follow(const struct tgt_fork *f);

/* Whether the caller shares the memory of process PID but is another process, as the child of a
 * vfork does: its writes change the memory of its parent.  Calls the kernel, because libc may
 * cache the pid. */
static inline bool tgt_fork_is_guest(uint32_t pid)
{
    return (uint32_t)syscall(SYS_getpid) != pid;
}

#endif
