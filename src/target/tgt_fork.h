/* tgt_fork.h - being there in a child: of fork, and of vfork, which has none of its own memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TARGET_TGT_FORK_H
#define FATHOM_TARGET_TGT_FORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/tgt_lock.h"

enum { TGT_FORK_LOCKS = 4 };

struct tgt_fork { /* static; read at every fork */
    /* Held over the fork, taken in this order, so that the child finds nothing half done; NULL
     * ends the list. */
    struct tgt_lock *lock[TGT_FORK_LOCKS];
    void (*in_child)(void); /* with no lock held; errno is kept */
};
/* From now on, for the rest of the process and in its children.  Not from two threads at once;
 * a second call with the same struct does nothing. */
void tgt_fork_follow(const struct tgt_fork *f);

/* Whether the caller shares the memory of the process PID without being it, as the child of a
 * vfork does: whatever it writes is written in its parent.  No cache of libc is asked. */
static inline bool tgt_fork_is_guest(uint32_t pid)
{
    return (uint32_t)syscall(SYS_getpid) != pid;
}

#endif
