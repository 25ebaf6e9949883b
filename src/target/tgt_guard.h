/* tgt_guard.h - preserve errno and the signal mask of the program around our code.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TARGET_TGT_GUARD_H
#define FATHOM_TARGET_TGT_GUARD_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static inline void tgt_errno_restore_(const int *saved)
{
    errno = *saved;
}

/* A declaration that restores errno at every exit from the block. */
#define TGT_KEEP_ERRNO() \
    int tgt_errno_ __attribute__((cleanup(tgt_errno_restore_), unused)) = errno

static inline void tgt_mask_restore_(const sigset_t *old)
{
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

static inline sigset_t tgt_mask_all_(void)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    return old;
}

/* A declaration that blocks all signals for the calling thread, and for threads it creates, until
 * the end of the block.  Avoid it in handlers: it is safe there, but costs two system calls. */
#define TGT_BLOCK_SIGNALS() \
    sigset_t tgt_mask_ __attribute__((cleanup(tgt_mask_restore_), unused)) = tgt_mask_all_()

#endif
